//! Faults that the environment may cause within its budgets.

use std::sync::Arc;

use crate::explore::successors::{FAULT, ScratchWorld, StepSetup, Successor, Worker};
use crate::model::processes::NOT_FAIR;
use crate::world::Fault;
use crate::world::action::{Action, ActionKind, Cause};

impl Worker {
    pub(super) fn fault_steps(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        visit: &mut impl FnMut(Successor<'_>),
    ) {
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
            if row.mute {
                // The crash was decided, and its budget spent, when the process became mute.
                let at = Action::new(ActionKind::Crash, process, 0, 0);
                let fair = self.mute_crash_labels[process];
                self.visit_outcomes(scratch, at, StepSetup::default(), (fair, Cause::Crash), visit);
            }
            if row.can_crash && left(scratch.world, Fault::Crash) {
                let setup = StepSetup::of_fault(Fault::Crash);
                let at = Action::new(ActionKind::Crash, process, 0, 0);
                self.visit_outcomes(scratch, at, setup, (FAULT, Cause::Crash), visit);
                if rules.has_mute_crashes {
                    let at = Action::new(ActionKind::Mute, process, 0, 0);
                    self.visit_outcomes(scratch, at, setup, (FAULT, Cause::Mute), visit);
                }
            }
            if row.down && left(scratch.world, Fault::Recovery) {
                let at = Action::new(ActionKind::Recover, process, 0, 0);
                let setup = StepSetup::of_fault(Fault::Recovery);
                self.visit_outcomes(scratch, at, setup, (NOT_FAIR, Cause::Recover), visit);
            }
            let busy = row.down || rules.has_pending_trust(scratch.world, process);
            if busy || !left(scratch.world, Fault::ApplicationMessage) {
                continue;
            }
            for peer in (0..rules.layout.size).filter(|peer| *peer != process) {
                let at = Action::new(ActionKind::Send, process, peer, 0);
                let setup = StepSetup::of_fault(Fault::ApplicationMessage);
                let cause = Cause::Send(peer as u32);
                self.visit_outcomes(scratch, at, setup, (NOT_FAIR, cause), visit);
            }
        }
    }

    fn link_faults(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        kind: ActionKind,
        visit: &mut impl FnMut(Successor<'_>),
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
                    // Only a duplication is impossible: the link is full.
                    None => self.has_blocked_duplicate = true,
                }
                self.undo(scratch.world);
            }
        }
    }
}
