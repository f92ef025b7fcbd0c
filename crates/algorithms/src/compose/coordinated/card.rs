//! Card of the lock at a leader: assumptions, faults, costs and promises.

use alloc::format;

use tenure_core::{
    Algorithm, AlgorithmClass, Card, ChannelOrder, CrashModel, DetectorClass, Election,
    MessageCost, ProcessKnowledge, Property, Service, ToleratedFaults, Topology,
};

use super::config::has_leader_lease;
use super::{Config, CoordinatedLock, VariantId};
use crate::Variants;
use crate::mutex::LeaseDurations;

impl<E: Election + Algorithm> Algorithm for CoordinatedLock<E> {
    /// Returns the [`Card`] of the lock: its assumptions, costs and promises.
    ///
    /// If the leader has a lease, entries to the critical section expire, and the lock relies on
    /// clocks. The lock then tolerates wrong suspicions of the failure detector. If the leader has
    /// no lease, entries do not expire, and the leader assumes that a suspected process has
    /// crashed. The lock then needs a failure detector without mistakes, even if the election
    /// itself does not need it.
    ///
    /// The lock tolerates no lost message, because it sends an inquiry, a report or a release only
    /// once. Over the adapter [`fifo`](crate::channel::fifo), the lock tolerates losses.
    fn card(config: &Config<E::Config>, size: u32) -> Card {
        let mut election = E::card(&config.election, size);
        let (tolerates_loss, tolerates_recovery) =
            (election.faults.loss, election.faults.crashes == CrashModel::Recovery);
        let text = match (tolerates_loss, tolerates_recovery) {
            (true, true) => {
                "grants while the election has a leader, but lost messages of the lock are \
                 repeated only over `fifo:`"
            }
            (true, false) => {
                "a crash breaks the ring, and lost messages of the lock are repeated only over \
                 `fifo:`"
            }
            (false, _) => election.faults.description,
        };
        let has_lease = has_leader_lease(&election.timed_promises);
        // Under a leader with a lease, a process repeats its request while it waits or is inside.
        let formula = match has_lease {
            true => "3 (0 at the leader), repeated requests, 2(N−1) per new leader",
            false => "3 (0 at the leader), and 2(N−1) at a change of leader",
        };
        let of_lock = [Property::MutualExclusion, Property::Fencing];
        if has_lease {
            election.timed_promises.extend(of_lock);
            let times = config.entry_durations;
            let tolerated = times.map_or(election.drift_ppm, |times| times.tolerated_drift_ppm());
            election.drift_ppm = election.drift_ppm.min(tolerated);
            election.timeouts.extend(times.iter().flat_map(LeaseDurations::timeouts));
            election.detection = DetectorClass::EventuallyPerfect;
            election.variants.extend(Variants::<VariantId>::declarations());
        } else {
            election.promises.extend(of_lock);
            election.detection = DetectorClass::Perfect;
        }
        election.promises.push(Property::StarvationFreedom);
        sort(&mut election.promises);
        sort(&mut election.timed_promises);
        Card {
            name: format!("coordinated:{}", election.name),
            title: format!("ask the leader elected by {}", election.name),
            service: Service::MutexAndElection,
            strategy: AlgorithmClass::Composition,
            order: ChannelOrder::Fifo,
            topology: Topology::Complete,
            graph: None,
            // No process may be absent, because the leader asks all processes. The lock tolerates
            // no loss, even if the election does: no inquiry, report or release is repeated. If one
            // is lost, the leader of this term may grant nothing more.
            faults: ToleratedFaults {
                loss: false,
                max_lost: 0,
                absence: false,
                description: text,
                ..election.faults
            },
            knows: ProcessKnowledge::NON_UNIFORM,
            // Neither the changes of leader nor the repeated requests have a bound.
            messages: MessageCost::per_entry(formula, 0, None)
                .zero_if_alone(size)
                .marked_incomplete(),
            theory: None,
            ..election
        }
    }

    fn highest_term(&self) -> u64 {
        self.election.highest_term()
    }
}

fn sort(properties: &mut [Property]) {
    properties.sort_unstable_by_key(|it| Property::ALL.iter().position(|known| known == it));
}
