//! Helpers for consensus tests: proposals and decisions.

use tenure_core::Protocol;
use tenure_core::service::consensus::{Command, Event};
use tenure_trace::{ClusterEvent, TestCluster};

use super::p;

/// Lets process `at` propose its own number as its value.
pub(crate) fn propose<P: Protocol<Command = Command>>(cluster: &mut TestCluster<P>, at: u32) {
    cluster.command(p(at), Command::Propose { value: at.into() });
}

/// Returns the decisions since the last call: each process, with its value.
pub(crate) fn decided<P: Protocol<Event = Event>>(cluster: &mut TestCluster<P>) -> Vec<(u32, u64)> {
    let seen = cluster.take_events().into_iter();
    let decisions = seen.filter_map(|(at, seen)| match seen {
        ClusterEvent::Event(Event::Decided { value }) => Some((at.number(), value)),
        _ => None,
    });
    let mut decisions: Vec<(u32, u64)> = decisions.collect();
    decisions.sort_unstable();
    decisions
}
