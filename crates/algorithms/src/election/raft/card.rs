//! What Raft's election assumes, survives, costs and promises.

use alloc::vec;

use tenure_core::{Algorithm, Card, Cost, Crashes, Faults, Property, Strategy, Timeout, Timing};

use super::config::{ELECTION, HEARTBEAT, LEASE, SAYS_ELECTION, SAYS_HEARTBEAT};
use super::{Config, Raft, Switch};
use crate::Variants;
use crate::drift;

impl Algorithm for Raft {
    fn card(config: &Config, size: u32) -> Card {
        let Config { election, heartbeat, lease, .. } = *config;
        let n = u64::from(size);
        Card {
            strategy: Strategy::Quorum,
            timing: Timing::Partial,
            faults: Faults {
                loss: true,
                crashes: Crashes::Recovery,
                ..Faults::duplication(
                    "elects while a majority is up and connected; never two leaders in one term",
                )
                .of_majority()
            },
            messages: Cost::per_election("4(N−1) … no bound", 4 * (n - 1), None).none_alone(size),
            promises: [Property::Agreement, Property::Progress].into(),
            clocked: [Property::OneLeaderAtATime].into(),
            drift_ppm: drift::tolerated(lease.max + heartbeat.max, election.min),
            timeouts: vec![
                Timeout::new(ELECTION, SAYS_ELECTION, election),
                Timeout::new(HEARTBEAT, SAYS_HEARTBEAT, heartbeat),
                Timeout::new(LEASE, "a leader leads for so long after a majority answered", lease),
            ],
            variants: Variants::<Switch>::declared(),
            ..Card::election(
                "raft",
                "a majority votes, each process once in a term, and a leader whom it no longer \
                 answers steps down",
                "Ongaro & Ousterhout, USENIX ATC, 2014",
            )
        }
    }

    /// The latest term that this process has heard of.
    fn highest_term(&self) -> u64 {
        self.term
    }
}
