//! What happens before a search begins: one step, and no other.

use crate::explore::successors::{FAULT, Successor, Worker};

impl Worker {
    /// Shows the only step of a world before the search; tells whether it is one.
    pub(super) fn steer(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        visit: &mut impl FnMut(Successor<'_>),
    ) -> bool {
        let Some(action) = self.rules.steered.get(&fingerprint).copied() else { return false };
        if let Some(fate) = self.perform(world, fingerprint, action) {
            visit(Successor { action, label: FAULT, world, fate });
        }
        self.undo(world);
        true
    }
}
