//! What a log kept by Raft assumes, survives, costs and promises.

use alloc::vec;

use tenure_core::theory::Theory;
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Faults, Property, Service, Strategy, Timeout, Timing,
};

use super::{Config, RaftLog, Switch};
use crate::Variants;
use crate::election::raft;

impl Algorithm for RaftLog {
    fn card(config: &Config, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            strategy: Strategy::Quorum,
            timing: Timing::Partial,
            faults: Faults {
                loss: true,
                crashes: Crashes::Recovery,
                ..Faults::duplication(
                    "takes entries while a majority is up and connected; what is acknowledged is \
                     never lost",
                )
                .of_majority()
            },
            messages: Cost::per_agreement("2(N−1), and heartbeats", 2 * (n - 1), None)
                .in_part()
                .none_alone(size),
            theory: Some(Theory::agreement("2 at the leader", 2)),
            timeouts: vec![
                Timeout::new(raft::ELECTION, raft::SAYS_ELECTION, config.election),
                Timeout::new(raft::HEARTBEAT, raft::SAYS_HEARTBEAT, config.heartbeat),
            ],
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Log,
                "raft-log",
                "a leader elected by a majority has each entry stored by a majority, in one order",
                "Ongaro, Stanford, 2014",
            )
        }
        .promising([
            Property::OneLeaderPerTerm,
            Property::LogMatching,
            Property::LeaderCompleteness,
            Property::StateMachineSafety,
            Property::Durability,
            Property::LinearizableReads,
            Property::Integrity,
            Property::NoCreation,
        ])
    }

    /// The latest term that this process has heard of.
    fn highest_term(&self) -> u64 {
        self.term
    }
}
