//! Card of the relayed log: assumptions, faults, costs and promises.

use alloc::string::ToString;

use tenure_core::theory::ExpectedCosts;
use tenure_core::{Algorithm, Card, CrashModel, MessageCost, Property, ToleratedFaults};

use super::{Config, ForwardingLog, RaftReplica, config};

impl Algorithm for ForwardingLog {
    fn card(config: &Config, size: u32) -> Card {
        let log = RaftReplica::card(&config.log, size);
        let least = log.messages.least;
        Card {
            name: "relayed-log".to_string(),
            title: "any process forwards requests to the leader of the log and reports their \
                    outcome"
                .to_string(),
            faults: ToleratedFaults {
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::none(
                    "accepts entries at any process while a majority is up and connected; a \
                     forwarded request that is lost waits until the leader changes, and is then \
                     reported as unknown",
                )
                .requiring_majority()
            },
            messages: MessageCost::per_agreement(
                "2(N−1), 2 more elsewhere, and heartbeats",
                least,
                None,
            )
            .marked_incomplete()
            .zero_if_alone(size),
            theory: Some(ExpectedCosts::agreement(
                "2 at the leader; elsewhere until the commit is known",
                2,
            )),
            variants: config::accepted_variants(),
            ..log
        }
        .with_promises([Property::AtMostOnce])
    }

    fn highest_term(&self) -> u64 {
        self.log.highest_term()
    }
}
