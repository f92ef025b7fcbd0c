//! What happens before a search begins: one step, and no other.

use crate::explore::successors::{Successor, Worker};

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
            // It is taken: whoever waits before the search is not held up by that.
            let label = self.rules.freight.label(6 << 40, 0);
            visit(Successor { action, label, world, fate });
        }
        self.undo(world);
        true
    }
}
