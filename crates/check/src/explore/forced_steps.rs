//! Steps that the configuration prescribes at the beginning of a run.

use crate::explore::successor::{StepResult, Successor, SuccessorVisitor};
use crate::explore::successors::SuccessorWorker;
use crate::model::fingerprint::{HashDomain, fingerprint};

impl SuccessorWorker {
    /// If the configuration prescribes a step in this global state, visits only the state to which
    /// this step leads, and returns true. Otherwise visits nothing and returns false.
    pub(super) fn visit_forced_step(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        visit: &mut impl SuccessorVisitor,
    ) -> bool {
        let Some(step) = self.rules.forced_step(world) else { return false };
        if let Some(result) = self.perform(world, fingerprint, step.action) {
            // Every run must take this step, so the step has a fairness label.
            let label = self.rules.forced_label();
            visit(Successor { action: step.action, label, world, result });
        }
        self.undo_changes(world);
        true
    }

    /// After a prescribed step, proceeds to the next one.
    #[inline]
    pub(super) fn proceed_in_forced_steps(&mut self, world: &mut [u32], result: &mut StepResult) {
        let Some(step) = self.rules.forced_step(world) else { return };
        let slot = self.rules.layout.forced_step_slot();
        let change =
            forced_step_fingerprint(step.next).wrapping_sub(forced_step_fingerprint(world[slot]));
        self.set_slot(world, slot, step.next);
        result.fingerprint = result.fingerprint.wrapping_add(change);
        result.key = self.canonical_key(world, result.fingerprint);
    }
}

/// Returns the part of a global state's fingerprint that depends on the next prescribed step.
/// `next` is the content of
/// [`StateLayout::forced_step_slot`](crate::world::StateLayout::forced_step_slot).
pub(crate) fn forced_step_fingerprint(next: u32) -> u64 {
    if next == 0 { 0 } else { fingerprint(HashDomain::ForcedStep, &next) }
}
