//! Steps taken before the search begins.

use crate::explore::successors::{Successor, SuccessorVisitor, SuccessorWorker};

impl SuccessorWorker {
    /// If the configuration prescribes a step in this global state, visits only the state to which
    /// this step leads, and returns true. Otherwise visits nothing and returns false.
    pub(super) fn visit_forced_step(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        visit: &mut impl SuccessorVisitor,
    ) -> bool {
        let Some(action) = self.rules.forced_steps.get(&fingerprint).copied() else { return false };
        if let Some(result) = self.perform(world, fingerprint, action) {
            // Every run must take this step, so the step has a fairness label.
            let label = self.rules.forced_label();
            visit(Successor { action, label, world, result });
        }
        self.undo_changes(world);
        true
    }
}
