//! Faults that the environment may cause within its budgets.

use std::sync::Arc;

use crate::explore::successors::{FAULT, ScratchWorld, Successor, Visit, Worker};
use crate::model::processes::NOT_FAIR;
use crate::world::Fault;
use crate::world::action::{Action, ActionKind};

impl Worker {
    pub(super) fn fault_steps(&mut self, scratch: &mut ScratchWorld<'_>, visit: &mut impl Visit) {
        let rules = Arc::clone(&self.rules);
        let left = |world: &[u32], fault| rules.remaining(world, fault) > 0;
        for (kind, fault) in
            [(ActionKind::Lose, Fault::Loss), (ActionKind::Duplicate, Fault::Duplication)]
        {
            if left(scratch.world, fault) {
                self.link_faults(scratch, kind, visit);
            }
        }
        if left(scratch.world, Fault::Partition) {
            let action = Action::new(ActionKind::Partition, 0, 0, 0);
            if let Some(result) = self.perform(scratch.world, scratch.fingerprint, action) {
                visit(Successor { action, label: FAULT, world: scratch.world, result });
            }
            self.undo(scratch.world);
        }
        for process in 0..rules.layout.size {
            let row = self.cache.local(scratch.world[process]);
            let at = |kind| Action::new(kind, process, 0, 0);
            if row.is_mute {
                // The crash was decided, and its budget spent, when the process became mute.
                let fair = self.mute_crash_labels[process];
                self.visit_input(scratch, at(ActionKind::Crash), fair, visit);
            }
            if row.can_crash && left(scratch.world, Fault::Crash) {
                self.visit_input(scratch, at(ActionKind::Crash), FAULT, visit);
                if rules.has_mute_crashes {
                    self.visit_input(scratch, at(ActionKind::Mute), FAULT, visit);
                }
            }
            if row.down && left(scratch.world, Fault::Recovery) {
                self.visit_input(scratch, at(ActionKind::Recover), NOT_FAIR, visit);
            }
            let busy = row.down || rules.has_pending_trust(scratch.world, process);
            if busy || !left(scratch.world, Fault::ApplicationMessage) {
                continue;
            }
            for peer in (0..rules.layout.size).filter(|peer| *peer != process) {
                let at = Action::new(ActionKind::Send, process, peer, 0);
                self.visit_input(scratch, at, NOT_FAIR, visit);
            }
        }
    }

    fn link_faults(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        kind: ActionKind,
        visit: &mut impl Visit,
    ) {
        for slot in self.rules.layout.link_slots() {
            let row = self.cache.queue(scratch.world[slot]);
            for item in 0..self.cache.items(row).len() {
                if self.cache.item_of(row, item).application {
                    continue;
                }
                let action = Action::new(kind, slot, item, 0);
                match self.perform(scratch.world, scratch.fingerprint, action) {
                    Some(result) => {
                        visit(Successor { action, label: FAULT, world: scratch.world, result });
                    }
                    // `perform` fails only if a message is duplicated on a full link.
                    None => self.has_blocked_duplicate = true,
                }
                self.undo(scratch.world);
            }
        }
    }
}
