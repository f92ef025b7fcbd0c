//! Partial-order reduction by single deliveries that commute with every other step.
//!
//! Steps of different processes commute: each step changes its own process, takes a message from a
//! link to this process, and appends messages to links. So a delivery commutes with every later
//! step if it commutes with the later steps of its receiver. In a state with such a delivery, the
//! search takes no other step.
//!
//! The search chooses a delivery that commutes with all steps that its receiver can take now. The
//! receiver may take further steps later. After the search, a [certificate](super::certificate)
//! examines whether the chosen deliveries also commute with these steps. If some chosen deliveries
//! do not commute, the search is repeated and no longer chooses them.

use tenure_core::ChannelOrder;

use crate::explore::successor::{ScratchWorld, SuccessorVisitor};
use crate::explore::successors::SuccessorWorker;
use crate::model::cache::CachedOutcome;
use crate::reduce::id_hash::{IdMap, IdSet};
use crate::world::FaultCounts;
use crate::world::action::{Action, ActionKind, ProcessInput};
use crate::world::rules::SearchRules;

/// Delivery in a local state: the id of the state, and the id of the message in flight.
pub(crate) type LocalDelivery = (u32, u32);

/// Record of a search: its chosen deliveries, the inputs that processes took, and the results of
/// earlier comparisons.
#[derive(Default)]
pub(crate) struct DeliveryRecord {
    /// Deliveries that the search chose. In a state in which the search chose a delivery, it
    /// explored no other step.
    pub(crate) chosen: IdSet<LocalDelivery>,
    /// Inputs that processes have taken. Each element contains the process, its local state, and
    /// the input.
    pub(crate) taken_inputs: IdSet<(usize, u32, ProcessInput)>,
    /// For each examined delivery, the result of [`SuccessorWorker::is_invisible`].
    invisible: IdMap<LocalDelivery, bool>,
    /// For each examined pair of a delivery and an input, the result of
    /// [`SuccessorWorker::commutes`]. The key contains the [`code`](ProcessInput::code) of the
    /// input.
    commuting: IdMap<(LocalDelivery, u32), bool>,
}

impl SearchRules {
    /// Returns true if faults, time and failure detectors permit the reduction by commuting
    /// deliveries, the search merges no symmetric states, and processes do not detect restarts.
    pub(crate) fn permits_commuting_deliveries(&self) -> bool {
        let hostile = self.budget != FaultCounts::default() || self.can_processes_be_down;
        let is_merging = self.renaming_count > 1 || self.layout.detects_restarts;
        !self.is_timed && !self.has_detectors && !hostile && !is_merging
    }
}

impl SuccessorWorker {
    /// Looks for a delivery that allows the search to skip all other steps of the global state. If
    /// there is such a delivery, visits only this delivery and returns true. Otherwise returns
    /// false.
    pub(crate) fn visit_commuting_delivery(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        visit: &mut impl SuccessorVisitor,
    ) -> bool {
        let layout = self.rules.layout;
        for process in 0..layout.size {
            let deliveries = self.deliveries_at(scratch.world, process);
            for (slot, item, packet) in &deliveries {
                let local = scratch.world[process];
                if self.commutes_with_possible_steps(local, (*slot, *packet), &deliveries) {
                    self.deliveries.chosen.insert((local, *packet));
                    let queue = self.cache.cached_queue(scratch.world[*slot]);
                    let label = self.cache.item_of(queue, *item).label;
                    let at = Action::new(ActionKind::Deliver, *slot, *item, 0);
                    self.visit_input(scratch, at, label, visit);
                    return true;
                }
            }
        }
        false
    }

    /// Returns the deliveries that are possible at a process. Each delivery has three fields: the
    /// slot of the link, the index of the message in the queue of the link, and the id of the
    /// message.
    fn deliveries_at(&mut self, world: &[u32], process: usize) -> Vec<(usize, usize, u32)> {
        let layout = self.rules.layout;
        let mut found = Vec::new();
        for slot in layout.link_slots() {
            if world[slot] == 0 || layout.receiver(slot) != process {
                continue;
            }
            let queue = self.cache.cached_queue(world[slot]);
            for (item, entry) in self.cache.item_indices(queue).enumerate() {
                let entry = self.cache.item_at(entry);
                if entry.is_ready {
                    found.push((slot, item, entry.packet));
                } else if self.rules.order == ChannelOrder::Fifo {
                    break;
                }
            }
        }
        found
    }

    /// Returns true if the search may choose the delivery of `packet`, the message on the link at
    /// `slot`. The delivery must not be excluded, must be invisible, and must commute with all
    /// steps that its receiver can take in the local state `local`. `possible` contains the
    /// possible deliveries of [`Self::deliveries_at`].
    fn commutes_with_possible_steps(
        &mut self,
        local: u32,
        (slot, packet): (usize, u32),
        possible: &[(usize, usize, u32)],
    ) -> bool {
        let delivery = (local, packet);
        let excluded = self.rules.excluded_deliveries.as_ref();
        if excluded.is_none_or(|excluded| excluded.contains(&delivery)) {
            return false;
        }
        if !self.is_invisible(delivery) {
            return false;
        }
        for entry in self.cache.enabled_inputs(local) {
            let (cause, _) = self.cache.enabled_input(entry);
            if !self.commutes(delivery, cause) {
                return false;
            }
        }
        possible.iter().all(|(other_slot, _, other)| {
            let is_same = *other == packet && *other_slot == slot;
            is_same || self.commutes(delivery, ProcessInput::Deliver(*other))
        })
    }

    /// Returns true if a delivery is invisible to the user and to the monitors. Such a delivery has
    /// only one outcome, does not change the state of the user, and disables no command or timer.
    /// The monitors observe at most the messages that the process sends.
    pub(crate) fn is_invisible(&mut self, delivery: LocalDelivery) -> bool {
        if let Some(known) = self.deliveries.invisible.get(&delivery) {
            return *known;
        }
        let (local, packet) = delivery;
        let outcome = self.cache.first_outcome(local, ProcessInput::Deliver(packet));
        let (before, after) =
            (self.cache.local_facts(local), self.cache.local_facts(outcome.local));
        let mut items = |local| -> Vec<(ProcessInput, u32)> {
            self.cache.enabled_inputs(local).map(|entry| self.cache.enabled_input(entry)).collect()
        };
        let (inputs, later) = (items(local), items(outcome.local));
        let result = self.cache.next_outcome(outcome).is_none()
            && self.without_sending(outcome.observation) == 0
            && before.user == after.user
            && inputs.iter().all(|item| later.contains(item));
        self.deliveries.invisible.insert(delivery, result);
        result
    }

    /// Returns true if a delivery commutes with another input of the same process. Both orders must
    /// lead to the same state, with the same messages and the same observations.
    pub(crate) fn commutes(&mut self, delivery: LocalDelivery, other: ProcessInput) -> bool {
        let key = (delivery, other.code());
        if let Some(known) = self.deliveries.commuting.get(&key) {
            return *known;
        }
        let result = self.compare_orders(delivery, other);
        self.deliveries.commuting.insert(key, result);
        result
    }

    fn compare_orders(&mut self, (local, packet): LocalDelivery, other: ProcessInput) -> bool {
        let cause = ProcessInput::Deliver(packet);
        let first = self.cache.first_outcome(local, cause);
        let mut alone = self.cache.first_outcome(local, other);
        let mut later = self.cache.first_outcome(first.local, other);
        loop {
            let last = self.cache.first_outcome(alone.local, cause);
            let is_equal = self.cache.next_outcome(last).is_none()
                && last.local == later.local
                && self.without_sending(last.observation) == 0
                && self.without_sending(alone.observation)
                    == self.without_sending(later.observation)
                && self.sends([first, later]) == self.sends([alone, last]);
            if !is_equal {
                return false;
            }
            match (self.cache.next_outcome(alone), self.cache.next_outcome(later)) {
                (Some(one), Some(two)) => (alone, later) = (one, two),
                (None, None) => return true,
                _ => return false,
            }
        }
    }

    /// Returns the messages that two steps send, sorted by link. If links reorder messages, the
    /// messages on each link are also sorted. Each element of the result contains the slot of the
    /// link and the id of the message.
    fn sends(&self, steps: [CachedOutcome; 2]) -> Vec<(u32, u32)> {
        let sent = |row| self.cache.sent_indices(row).map(|index| self.cache.sent_message(index));
        let sent = steps.into_iter().flat_map(sent);
        let mut sent: Vec<(u32, u32)> = sent.map(|sent| (sent.slot, sent.packet)).collect();
        match self.rules.order {
            ChannelOrder::Fifo => sent.sort_by_key(|(slot, _)| *slot),
            ChannelOrder::Reordered => sent.sort_unstable(),
        }
        sent
    }

    /// Removes the sent messages from an observation, and returns the id of the remaining
    /// observation. Returns 0 if the observation contains only sent messages.
    fn without_sending(&self, observation: u32) -> u32 {
        if observation == 0 { 0 } else { self.rules.model.without_sending(observation) }
    }
}
