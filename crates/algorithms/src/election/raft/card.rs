//! Card of Raft's election: assumptions, faults, costs and promises.

use alloc::vec;

use tenure_core::{
    Algorithm, AlgorithmClass, Card, ConfigurableTimeout, CrashModel, MessageCost, Property,
    Timing, ToleratedFaults,
};

use super::config::{
    ELECTION_DESCRIPTION, ELECTION_TIMEOUT_NAME, HEARTBEAT_DESCRIPTION, HEARTBEAT_TIMEOUT_NAME,
    LEASE_TIMEOUT_NAME,
};
use super::{Config, RaftElection, VariantId};
use crate::Variants;
use crate::drift;

impl Algorithm for RaftElection {
    fn card(config: &Config, size: u32) -> Card {
        let Config {
            election_timeout: election,
            heartbeat_interval: heartbeat,
            lease_duration: lease,
            ..
        } = *config;
        let n = u64::from(size);
        Card {
            strategy: AlgorithmClass::Quorum,
            timing: Timing::Partial,
            faults: ToleratedFaults {
                loss: true,
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::duplication_only(
                    "elects while a majority is up and connected; never two leaders in one term",
                )
                .requiring_majority()
            },
            messages: MessageCost::per_election("4(N−1) … no bound", 4 * (n - 1), None)
                .zero_if_alone(size),
            promises: [Property::Agreement, Property::Progress].into(),
            timed_promises: [Property::OneLeaderAtATime].into(),
            drift_ppm: drift::tolerated_drift_ppm(lease.max + heartbeat.max, election.min),
            timeouts: vec![
                ConfigurableTimeout::new(ELECTION_TIMEOUT_NAME, ELECTION_DESCRIPTION, election),
                ConfigurableTimeout::new(HEARTBEAT_TIMEOUT_NAME, HEARTBEAT_DESCRIPTION, heartbeat),
                ConfigurableTimeout::new(
                    LEASE_TIMEOUT_NAME,
                    "time for which a leader leads after a majority responded",
                    lease,
                ),
            ],
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "raft",
                "a majority elects, one vote per term; a leader without a majority steps down",
                "Ongaro & Ousterhout, USENIX ATC, 2014",
            )
        }
    }

    fn highest_term(&self) -> u64 {
        self.term
    }
}
