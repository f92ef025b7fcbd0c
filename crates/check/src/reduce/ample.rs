//! Partial-order reduction by ample sets of one delivery.
//!
//! On a unidirectional ring, a process receives messages from its predecessor only. Suppose that a
//! process can do nothing but receive the first message from its predecessor. Then no other step
//! can disable that delivery or change its result. Suppose also that the delivery is invisible: no
//! monitor observes it, and the state of the user does not change. Then the delivery commutes with
//! every other step. So the set that contains only this delivery is an ample set.
//!
//! No step is postponed forever. To see this, suppose that all steps of a cycle are such
//! deliveries. Each message that is delivered in the cycle is also sent in the cycle. Its sender,
//! the predecessor, sends it in such a delivery, and so receives messages, too. Hence every process
//! of the ring receives messages in the cycle. A process that receives such a message can do
//! nothing else, so none of its steps is postponed.

use tenure_core::ChannelOrder;

use crate::explore::successors::SuccessorWorker;
use crate::world::FaultCounts;
use crate::world::action::{Action, ActionKind, ProcessInput};
use crate::world::rules::SearchRules;

impl SearchRules {
    /// Returns true if links, faults, time and failure detectors permit the reduction by ample
    /// sets, and the search does not merge states.
    pub(crate) fn permits_ample_sets(&self) -> bool {
        let hostile = self.budget != FaultCounts::default() || self.can_processes_be_down;
        let merging = self.shifts_timestamps || self.is_symmetric;
        self.order == ChannelOrder::Fifo
            && !self.is_timed
            && !self.has_detectors
            && !hostile
            && !merging
    }
}

impl SuccessorWorker {
    /// Returns the slot of a link whose first message the search may deliver alone. All other steps
    /// of the global state may then be omitted, because this delivery is an ample set. `None` if
    /// there is no such link.
    pub(crate) fn find_ample_delivery(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
    ) -> Option<usize> {
        let layout = self.rules.layout;
        (0..layout.size).find_map(|process| {
            let before = (process + layout.size - 1) % layout.size;
            let slot = layout.link_slot(before as u32, process as u32, false);
            let stands = world[slot] != 0
                && self.is_ample_delivery(world[process], world[slot])
                && self.stays_within_bounds(world, fingerprint, slot);
            stands.then_some(slot)
        })
    }

    /// Returns true if, in the local state `local`, three conditions hold. The process can do
    /// nothing but receive the first message of `queue`. This delivery has only one outcome.
    /// Neither the monitors nor the user observe the delivery.
    fn is_ample_delivery(&mut self, local: u32, queue: u32) -> bool {
        if self.cache.enabled_inputs(local).next().is_some() {
            return false;
        }
        let queue = self.cache.cached_queue(queue);
        let packet = self.cache.item_of(queue, 0).packet;
        let outcome = self.cache.first_outcome(local, ProcessInput::Deliver(packet));
        outcome.observation == 0
            && self.cache.next_outcome(outcome).is_none()
            && self.cache.local_facts(outcome.local).user == self.cache.local_facts(local).user
    }

    /// Returns true if the delivery of the first message on a link leads to a global state within
    /// the declared bounds. Only such a delivery may be explored alone.
    fn stays_within_bounds(&mut self, world: &mut [u32], fingerprint: u64, slot: usize) -> bool {
        let result = self.perform(world, fingerprint, Action::new(ActionKind::Deliver, slot, 0, 0));
        self.undo_changes(world);
        result.is_some_and(|result| result.exceeded_bound.is_none())
    }
}
