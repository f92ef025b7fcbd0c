//! Faults that the environment may cause within its budgets.

use std::sync::Arc;

use crate::explore::successor::{FAULT_LABEL, ScratchWorld, Successor, SuccessorVisitor};
use crate::explore::successors::SuccessorWorker;
use crate::model::protocol_model::NOT_FAIR_LABEL;
use crate::world::LimitedFault;
use crate::world::action::{Action, ActionKind};

impl SuccessorWorker {
    /// Visits the states to which losses, duplications, partitions, crashes, recoveries and
    /// application messages lead, as far as the check still allows them. Also visits the crashes of
    /// mute processes.
    pub(super) fn visit_limited_steps(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        visit: &mut impl SuccessorVisitor,
    ) {
        let rules = Arc::clone(&self.rules);
        let left = |world: &[u32], fault| rules.remaining_faults(world, fault) > 0;
        for (kind, fault) in [
            (ActionKind::Lose, LimitedFault::Loss),
            (ActionKind::Duplicate, LimitedFault::Duplication),
        ] {
            if left(scratch.world, fault) {
                self.link_faults(scratch, kind, visit);
            }
        }
        if left(scratch.world, LimitedFault::Partition) {
            let action = Action::new(ActionKind::Partition, 0, 0, 0);
            if let Some(result) = self.perform(scratch.world, scratch.fingerprint, action) {
                visit(Successor { action, label: FAULT_LABEL, world: scratch.world, result });
            }
            self.undo_changes(scratch.world);
        }
        for process in 0..rules.layout.size {
            let row = self.cache.local_facts(scratch.world[process]);
            let at = |kind| Action::new(kind, process, 0, 0);
            if row.is_mute {
                // A mute process is about to crash. The crash was counted as a fault when the
                // process became mute.
                let fair = self.mute_crash_labels[process];
                self.visit_input(scratch, at(ActionKind::Crash), fair, visit);
            }
            if row.can_crash && left(scratch.world, LimitedFault::Crash) {
                self.visit_input(scratch, at(ActionKind::Crash), FAULT_LABEL, visit);
                if rules.has_mute_crashes {
                    self.visit_input(scratch, at(ActionKind::Mute), FAULT_LABEL, visit);
                }
            }
            if row.down && left(scratch.world, LimitedFault::Recovery) {
                self.visit_input(scratch, at(ActionKind::Recover), NOT_FAIR_LABEL, visit);
            }
            let busy = row.down || rules.has_pending_trust(scratch.world, process);
            if busy || !left(scratch.world, LimitedFault::ApplicationMessage) {
                continue;
            }
            for peer in (0..rules.layout.size).filter(|peer| *peer != process) {
                let at = Action::new(ActionKind::Send, process, peer, 0);
                self.visit_input(scratch, at, NOT_FAIR_LABEL, visit);
            }
        }
    }

    fn link_faults(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        kind: ActionKind,
        visit: &mut impl SuccessorVisitor,
    ) {
        for slot in self.rules.layout.link_slots() {
            let row = self.cache.cached_queue(scratch.world[slot]);
            for item in 0..self.cache.item_indices(row).len() {
                if self.cache.item_of(row, item).application {
                    continue;
                }
                let action = Action::new(kind, slot, item, 0);
                match self.perform(scratch.world, scratch.fingerprint, action) {
                    Some(result) => {
                        visit(Successor {
                            action,
                            label: FAULT_LABEL,
                            world: scratch.world,
                            result,
                        });
                    }
                    // `perform` returns `None` only if the link is full and the action duplicates a
                    // message.
                    None => self.has_blocked_duplicate = true,
                }
                self.undo_changes(scratch.world);
            }
        }
    }
}
