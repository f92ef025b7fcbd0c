//! Certificate that the chosen deliveries commute with all later steps of their receivers.
//!
//! The reduced search takes a chosen delivery *d* before any other input *i* of its receiver. A
//! plain search also takes *i* before *d*, and so reaches further local states. The certificate
//! examines each pair of *d* and an input *i* that the receiver takes after *d*:
//!
//! 1. It takes *i* first, and then *d*.
//! 2. It examines whether both orders lead to the same state. If not, *d* was a wrong choice.
//! 3. It records the two steps of this order. They can form new pairs with other steps.
//!
//! The certificate is complete when there are no new pairs. It omits a pair if *i* delivers a
//! message that cannot be delivered while the message of *d* is in flight: see
//! [coexistence](super::coexistence).

use tenure_core::ChannelOrder;

use crate::explore::successors::SuccessorWorker;
use crate::reduce::coexistence::LocalSteps;
use crate::reduce::deliveries::LocalDelivery;
use crate::reduce::id_hash::{IdMap, IdSet};
use crate::world::action::ProcessInput;

/// Maximum number of deliveries that a certificate compares, including the deliveries that the
/// search has chosen.
const MAX_DELIVERIES: usize = 20_000_000;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CertificationResult {
    /// Every chosen delivery commutes with every later step of its receiver.
    Sound,
    /// Chosen deliveries that fail to commute with some later step of their receiver.
    Wrong(Vec<LocalDelivery>),
    /// The certificate would have to compare too many deliveries.
    TooLarge,
}

struct Certificate<'w> {
    worker: &'w mut SuccessorWorker,
    chosen: IdSet<LocalDelivery>,
    /// For each local state: the inputs that a process takes in this state, in the search or in an
    /// order that the certificate has derived.
    taken: IdMap<u32, Vec<ProcessInput>>,
    /// All pairs of a local state and an input that `taken` contains.
    known: IdSet<(u32, ProcessInput)>,
    /// For each local state: the deliveries after which the process is in this state.
    leading_to: IdMap<u32, Vec<LocalDelivery>>,
    /// For each delivery: the deliveries from which the certificate has derived it. The list may be
    /// empty for a delivery that the search has chosen.
    derived_from: IdMap<LocalDelivery, Vec<LocalDelivery>>,
    /// Deliveries that are not invisible, or do not commute with a later input.
    wrong: IdSet<LocalDelivery>,
    /// Pairs that the certificate must still compare. Each pair consists of a delivery and an
    /// input.
    open: Vec<(LocalDelivery, ProcessInput)>,
    /// Pairs of a delivery and an input that need no comparison so far. The input delivers another
    /// message of the same sender. With the steps known so far, this message cannot be delivered
    /// while the message of the delivery is in flight. A step that is found later may change this.
    apart: Vec<(LocalDelivery, ProcessInput)>,
    /// Steps that are known so far.
    steps: LocalSteps,
}

/// Examines whether the deliveries that a search has chosen commute with all later steps. `workers`
/// are the workers of this search. `initial` contains, for each process, its initial local states.
pub(crate) fn certify_deliveries(
    workers: &mut [SuccessorWorker],
    initial: Vec<Vec<u32>>,
) -> CertificationResult {
    let mut chosen = IdSet::default();
    let mut taken = Vec::new();
    for worker in &mut *workers {
        chosen.extend(worker.deliveries.chosen.iter().copied());
        taken.extend(worker.deliveries.taken_inputs.iter().copied());
    }
    let Some(worker) = workers.first_mut() else { return CertificationResult::Sound };
    // The order only decides which wrong choice is found first.
    taken.sort_unstable_by_key(|(_, local, cause)| (*local, cause.code()));
    let mut roots: Vec<LocalDelivery> = chosen.iter().copied().collect();
    roots.sort_unstable();
    let mut certificate = Certificate {
        worker,
        chosen,
        taken: IdMap::default(),
        known: IdSet::default(),
        leading_to: IdMap::default(),
        derived_from: IdMap::default(),
        wrong: IdSet::default(),
        open: Vec::new(),
        apart: Vec::new(),
        steps: LocalSteps::starting_at(initial),
    };
    for (process, local, cause) in taken {
        certificate.add_input(process, local, cause);
    }
    for delivery in roots {
        certificate.add_delivery(delivery, None);
    }
    certificate.close()
}

impl Certificate<'_> {
    fn close(mut self) -> CertificationResult {
        let mut before = 0;
        while before < self.known.len() {
            before = self.known.len();
            self.steps.forget_results();
            self.open.append(&mut self.apart);
            while let Some((delivery, cause)) = self.open.pop() {
                if self.derived_from.len() > MAX_DELIVERIES {
                    return CertificationResult::TooLarge;
                }
                self.compare(delivery, cause);
            }
        }
        if self.wrong.is_empty() {
            return CertificationResult::Sound;
        }
        let wrong = self.chosen_before(self.wrong.iter().copied().collect());
        CertificationResult::Wrong(wrong)
    }

    /// Adds an input that a process takes in a local state. Opens a pair for each delivery that
    /// leads to this state.
    fn add_input(&mut self, process: usize, local: u32, cause: ProcessInput) {
        if !self.known.insert((local, cause)) {
            return;
        }
        self.steps.add(self.worker, process, local, cause);
        self.taken.entry(local).or_default().push(cause);
        let deliveries = self.leading_to.get(&local).into_iter().flatten();
        self.open.extend(deliveries.map(|delivery| (*delivery, cause)));
    }

    /// Adds a delivery that was chosen, or that was derived from the delivery `parent`. Opens a
    /// pair for each input that the process takes after the delivery.
    fn add_delivery(&mut self, delivery: LocalDelivery, parent: Option<LocalDelivery>) {
        if let Some(parents) = self.derived_from.get_mut(&delivery) {
            parents.extend(parent);
            return;
        }
        self.derived_from.insert(delivery, parent.into_iter().collect());
        if !self.worker.is_invisible(delivery) {
            self.wrong.insert(delivery);
            return;
        }
        let (local, packet) = delivery;
        let after = self.worker.cache.first_outcome(local, ProcessInput::Deliver(packet)).local;
        self.leading_to.entry(after).or_default().push(delivery);
        let inputs = self.taken.get(&after).into_iter().flatten();
        self.open.extend(inputs.map(|cause| (delivery, *cause)));
    }

    /// Examines whether a delivery commutes with the input `cause`. In the search, the process took
    /// this input after the delivery. Adds the opposite order to the certificate: the process takes
    /// the input first, and the message is delivered in each resulting state. Does nothing if the
    /// process cannot take the input first.
    fn compare(&mut self, delivery: LocalDelivery, cause: ProcessInput) {
        let (local, packet) = delivery;
        if !self.can_precede(local, packet, cause) {
            return;
        }
        let receiver = self.worker.rules.network.packet_by_id(packet).to;
        self.add_input(receiver as usize, local, cause);
        if !self.worker.commutes(delivery, cause) {
            self.wrong.insert(delivery);
            return;
        }
        let mut outcome = Some(self.worker.cache.first_outcome(local, cause));
        while let Some(row) = outcome {
            self.add_delivery((row.local, packet), Some(delivery));
            outcome = self.worker.cache.next_outcome(row);
        }
    }

    /// Returns true if a process in the local state `local` could take the input `cause` before it
    /// receives `packet`. In the explored run, the process receives `packet` first.
    fn can_precede(&mut self, local: u32, packet: u32, cause: ProcessInput) -> bool {
        let network = &self.worker.rules.network;
        match cause {
            ProcessInput::Deliver(other) => {
                let (mine, theirs) = (network.packet_by_id(packet), network.packet_by_id(other));
                if other == packet {
                    return false;
                }
                if mine.from != theirs.from {
                    return true;
                }
                let link = (mine.from as usize, mine.to as usize);
                let is_together = self.worker.rules.order == ChannelOrder::Reordered
                    && self.steps.can_coexist(packet, other, link);
                if !is_together {
                    self.apart.push(((local, packet), cause));
                }
                is_together
            }
            _ => {
                let cache = &mut self.worker.cache;
                cache.enabled_inputs(local).any(|entry| cache.enabled_input(entry).0 == cause)
            }
        }
    }

    /// Returns all chosen deliveries in `open`, and all chosen deliveries from which a delivery in
    /// `open` was derived, directly or through others. The result is sorted.
    fn chosen_before(&self, mut open: Vec<LocalDelivery>) -> Vec<LocalDelivery> {
        let mut seen: IdSet<LocalDelivery> = open.iter().copied().collect();
        let mut found = Vec::new();
        while let Some(delivery) = open.pop() {
            if self.chosen.contains(&delivery) {
                found.push(delivery);
            }
            let parents = self.derived_from.get(&delivery).into_iter().flatten();
            for parent in parents {
                if seen.insert(*parent) {
                    open.push(*parent);
                }
            }
        }
        found.sort_unstable();
        found
    }
}
