//! Card of Raft with a log: assumptions, faults, costs and promises.

use alloc::vec;

use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, AlgorithmClass, Card, ConfigurableTimeout, CrashModel, MessageCost, Property,
    Service, Timing, ToleratedFaults,
};

use super::{Config, RaftReplica, VariantId};
use crate::Variants;
use crate::election::raft;

impl Algorithm for RaftReplica {
    fn card(config: &Config, size: u32) -> Card {
        let n = u64::from(size);
        // Entries that are proposed at the same time may share their messages.
        let shares_messages = config.variants.has(VariantId::Together);
        let least = if shares_messages { 0 } else { 2 * (n - 1) };
        Card {
            strategy: AlgorithmClass::Quorum,
            timing: Timing::Partial,
            faults: ToleratedFaults {
                loss: true,
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::duplication_only(
                    "accepts entries while a majority is up and connected; acknowledged entries \
                     are never lost",
                )
                .requiring_majority()
            },
            messages: MessageCost::per_agreement("2(N−1), and heartbeats", least, None)
                .marked_incomplete()
                .zero_if_alone(size),
            theory: Some(ExpectedCosts::agreement("2 at the leader", 2)),
            timeouts: vec![
                ConfigurableTimeout::new(
                    raft::ELECTION_TIMEOUT_NAME,
                    raft::ELECTION_DESCRIPTION,
                    config.election_timeout,
                ),
                ConfigurableTimeout::new(
                    raft::HEARTBEAT_TIMEOUT_NAME,
                    raft::HEARTBEAT_DESCRIPTION,
                    config.heartbeat_interval,
                ),
            ],
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Log,
                "raft-log",
                "an elected leader has each entry stored by a majority, in one order",
                "Ongaro, Stanford, 2014",
            )
        }
        .with_promises([
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

    fn highest_term(&self) -> u64 {
        self.term
    }
}
