//! What Raft's election assumes, survives, costs and promises.

use alloc::string::ToString;

use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Faults, Order, Per, Promise, Service, Strategy,
    Timing, Topology,
};

use super::{Config, Raft, Switch};
use crate::Variants;

impl Algorithm for Raft {
    fn card(_: &Config, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            name: "raft".to_string(),
            title: "a majority votes, each process once in a term".to_string(),
            service: Service::Election,
            paper: "Ongaro & Ousterhout, USENIX ATC, 2014",
            strategy: Strategy::Quorum,
            timing: Timing::Partial,
            order: Order::Reordered,
            faults: Faults {
                loss: true,
                duplication: true,
                crashes: Crashes::Recovery,
                says: "elects while a majority is up; never two leaders in one term",
            },
            topology: Topology::Complete,
            detection: Detection::None,
            messages: Cost {
                per: Per::Election,
                formula: "3(N−1) … no bound",
                least: 3 * (n - 1),
                most: if size == 1 { Some(0) } else { None },
            },
            promises: [Promise::Agreement, Promise::Progress].into(),
            variants: Variants::<Switch>::declared(),
        }
    }
}
