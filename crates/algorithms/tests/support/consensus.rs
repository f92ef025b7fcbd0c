//! Helpers for consensus tests: proposals and decisions.

use tenure_core::Protocol;
use tenure_core::service::consensus::{Command, Event};
use tenure_trace::TestCluster;

use super::{events, p};

/// Lets process `at` propose its own number as its value.
pub(crate) fn propose<P: Protocol<Command = Command>>(cluster: &mut TestCluster<P>, at: u32) {
    cluster.issue_command(p(at), Command::Propose { value: at.into() });
}

/// Returns true if two of these processes decided on different values.
pub(crate) fn are_different(decisions: &[(u32, u64)]) -> bool {
    decisions.iter().any(|(_, value)| *value != decisions[0].1)
}

/// Returns the decisions since the last call, sorted by process. Each decision is a pair of a
/// process and the value that the process decided.
pub(crate) fn decided<P: Protocol<Event = Event>>(cluster: &mut TestCluster<P>) -> Vec<(u32, u64)> {
    let decision = |(at, Event::Decided { value })| (at, value);
    let mut decisions: Vec<(u32, u64)> = events(cluster).into_iter().map(decision).collect();
    decisions.sort_unstable();
    decisions
}
