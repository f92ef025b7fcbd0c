//! What the lock at a leader assumes, survives, costs and promises.

use alloc::format;

use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Election, Faults, Knowledge, Order, Property,
    Service, Strategy, Topology,
};

use super::config::is_clocked;
use super::{Config, Coordinated, Switch};
use crate::Variants;
use crate::mutex::Times;

impl<E: Election + Algorithm> Algorithm for Coordinated<E> {
    /// Under a leader that has a lease, whom a detector may accuse in vain, entries end by
    /// themselves and rest on clocks as the leader does; else on what the election assumes.
    fn card(config: &Config<E::Config>, size: u32) -> Card {
        let mut election = E::card(&config.election, size);
        let (loses, lasts) = (election.faults.loss, election.faults.crashes == Crashes::Recovery);
        let says = match loses && !lasts {
            true => {
                "a crash breaks the ring, and what the lock loses comes again only over `fifo:`"
            }
            false => election.faults.says,
        };
        let formula = "3 (0 at the leader), and 2(N−1) at a change of leader";
        let of_lock = [Property::MutualExclusion, Property::Fencing];
        if is_clocked(&election.clocked) {
            election.clocked.extend(of_lock);
            let times = config.times;
            let tolerated = times.map_or(election.drift_ppm, |times| times.drift_ppm());
            election.drift_ppm = election.drift_ppm.min(tolerated);
            election.timeouts.extend(times.iter().flat_map(Times::timeouts));
            election.detection = Detection::EventuallyPerfect;
            election.variants.extend(Variants::<Switch>::declared());
        } else {
            election.promises.extend(of_lock);
        }
        election.promises.push(Property::StarvationFreedom);
        sort(&mut election.promises);
        sort(&mut election.clocked);
        Card {
            name: format!("coordinated:{}", election.name),
            title: format!("ask the leader, whom {} elects", election.name),
            service: Service::Office,
            strategy: Strategy::Composition,
            order: Order::Fifo,
            topology: Topology::Complete,
            // Whoever leads asks everybody. What the lock loses comes again with the next leader,
            // if there is one without being asked for.
            faults: Faults { loss: loses && lasts, absence: false, says, ..election.faults },
            knows: Knowledge::NON_UNIFORM,
            messages: Cost::per_entry(formula, 0, Some(3)).none_alone(size).in_part(),
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
