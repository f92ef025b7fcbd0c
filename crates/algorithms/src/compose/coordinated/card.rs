//! What the lock at a leader assumes, survives, costs and promises.

use alloc::format;

use tenure_core::{
    Algorithm, Card, Cost, Crashes, Election, Faults, Knowledge, Order, Property, Service,
    Strategy, Topology,
};

use super::Coordinated;

impl<E: Election + Algorithm> Algorithm for Coordinated<E> {
    fn card(config: &E::Config, size: u32) -> Card {
        let election = E::card(config, size);
        let (loses, lasts) = (election.faults.loss, election.faults.crashes == Crashes::Recovery);
        let formula = "3 (0 at the leader), and 2(N−1) at a change of leader";
        let mut promises = election.promises.clone();
        promises.extend([Property::MutualExclusion, Property::Fencing]);
        promises.sort_unstable_by_key(|it| Property::ALL.iter().position(|known| known == it));
        Card {
            name: format!("coordinated:{}", election.name),
            title: format!("ask the leader, whom {} elects", election.name),
            service: Service::Office,
            strategy: Strategy::Composition,
            order: Order::Fifo,
            topology: Topology::Complete,
            // Whoever leads asks everybody. What the lock loses comes again with the next leader,
            // if there is one without being asked for.
            faults: Faults { loss: loses && lasts, absence: false, ..election.faults },
            knows: Knowledge::NON_UNIFORM,
            messages: Cost::per_entry(formula, 0, Some(3)).none_alone(size).in_part(),
            theory: None,
            promises,
            ..election
        }
    }

    fn highest_term(&self) -> u64 {
        self.election.highest_term()
    }
}
