//! What the bully election assumes, survives, costs and promises.

use alloc::string::ToString;

use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Faults, Order, Per, Promise, Service, Strategy,
    Timing, Topology,
};

use super::{Bully, Config, Switch};
use crate::Variants;

impl Algorithm for Bully {
    fn card(_: &Config, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            name: "bully".to_string(),
            title: "whoever hears of nobody higher leads".to_string(),
            service: Service::Election,
            paper: "Garcia-Molina, IEEE Transactions on Computers C-31(1), 1982",
            strategy: Strategy::Comparison,
            timing: Timing::Synchronous,
            order: Order::Reordered,
            faults: Faults {
                loss: false,
                duplication: true,
                crashes: Crashes::Recovery,
                says: "survives any number of crashes and recoveries, but no lost message",
            },
            topology: Topology::Complete,
            detection: Detection::Perfect,
            messages: Cost {
                per: Per::Election,
                formula: "N−1 … N²−1",
                least: n - 1,
                most: Some(n * n - 1),
            },
            promises: [Promise::Agreement, Promise::Progress, Promise::Validity].into(),
            variants: Variants::<Switch>::declared(),
        }
    }
}
