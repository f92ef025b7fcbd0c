//! Helpers shared by the tests of algorithms.
#![allow(dead_code, reason = "each test crate uses a part of it")]

pub(crate) mod consensus;
pub(crate) mod detector;
pub(crate) mod election;
pub(crate) mod graphs;
pub(crate) mod mutex;
pub(crate) mod rounds;
pub(crate) mod sessions;

use std::collections::BTreeSet;

use tenure_core::{PeerVerdict, ProcessId, Protocol};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

/// Returns the process with this number, counted from 1.
pub(crate) fn p(number: u32) -> ProcessId {
    ProcessId(number - 1)
}

/// Gives a command to a process, and delivers all messages without firing timers.
#[track_caller]
pub(crate) fn command_and_drain<P: Protocol>(
    cluster: &mut TestCluster<P>,
    at: u32,
    command: P::Command,
) {
    cluster.issue_command(p(at), command);
    cluster.deliver_all(&mut SplitMix64(0));
}

/// Gives a command to a process, and delivers messages and fires timers until nothing is left to
/// do.
#[track_caller]
pub(crate) fn command_and_settle<P: Protocol>(
    cluster: &mut TestCluster<P>,
    at: u32,
    command: P::Command,
) {
    cluster.issue_command(p(at), command);
    cluster.run_until_quiescent();
}

/// Fires one timer of a process, and delivers all messages. No other timer fires.
#[track_caller]
pub(crate) fn fire_and_drain<P: Protocol>(cluster: &mut TestCluster<P>, at: u32, timer: P::Timer) {
    cluster.fire_timer(p(at), timer);
    cluster.deliver_all(&mut SplitMix64(0));
}

#[track_caller]
pub(crate) fn suspicion_and_drain<P: Protocol>(
    cluster: &mut TestCluster<P>,
    at: u32,
    peer: u32,
    verdict: PeerVerdict,
) {
    cluster.report_suspicion(p(at), p(peer), verdict);
    cluster.deliver_all(&mut SplitMix64(0));
}

/// Delivers the oldest message of each link, in this order. A link is a sender and a receiver.
#[track_caller]
pub(crate) fn pass_all<P: Protocol>(cluster: &mut TestCluster<P>, links: &[(u32, u32)]) {
    for (from, to) in links {
        cluster.deliver_at((p(*from), p(*to)), 0);
    }
}

pub(crate) fn lose_all<P: Protocol>(cluster: &mut TestCluster<P>, from: u32, to: u32) {
    while !cluster.messages_on_link((p(from), p(to))).is_empty() {
        cluster.lose_oldest((p(from), p(to)));
    }
}

/// Informs all live processes of a verdict about another process.
pub(crate) fn report<P: Protocol>(cluster: &mut TestCluster<P>, of: u32, verdict: PeerVerdict) {
    for peer in cluster.live_processes().into_iter().filter(|peer| *peer != p(of)) {
        cluster.report_suspicion(peer, p(of), verdict);
    }
}

#[track_caller]
pub(crate) fn crash_and_suspect<P: Protocol>(cluster: &mut TestCluster<P>, process: u32) {
    cluster.crash(p(process));
    report(cluster, process, PeerVerdict::Suspect);
}

/// Crashes a process, lets all others suspect it, and delivers all messages.
#[track_caller]
pub(crate) fn crash_and_drain<P: Protocol>(cluster: &mut TestCluster<P>, process: u32) {
    crash_and_suspect(cluster, process);
    cluster.deliver_all(&mut SplitMix64(0));
}

/// Crashes a process, and boots it again with its saved state.
#[track_caller]
pub(crate) fn restart<P: Protocol>(cluster: &mut TestCluster<P>, process: u32) {
    cluster.crash(p(process));
    cluster.recover(p(process));
}

#[track_caller]
pub(crate) fn recover_and_trust<P: Protocol>(cluster: &mut TestCluster<P>, process: u32) {
    cluster.recover(p(process));
    report(cluster, process, PeerVerdict::Trust);
}

/// Returns the events since the last call, each with the number of its process.
pub(crate) fn events<P: Protocol>(cluster: &mut TestCluster<P>) -> Vec<(u32, P::Event)> {
    let seen = cluster.take_events().into_iter().filter_map(|(at, seen)| match seen {
        ProcessEvent::Event(event) => Some((at.display_number(), event)),
        _ => None,
    });
    seen.collect()
}

/// Returns the numbers of the processes that have emitted an event since the last call. The numbers
/// are in the order of the events. Considers only events that `is_such` accepts.
pub(crate) fn processes_with<P: Protocol>(
    cluster: &mut TestCluster<P>,
    is_such: impl Fn(&P::Event) -> bool,
) -> Vec<u32> {
    let such = events(cluster).into_iter().filter(|(_, event)| is_such(event));
    such.map(|(at, _)| at).collect()
}

/// Calls `visit` for all permutations of `1..=n`, by Heap's method.
pub(crate) fn permutations(n: u32, mut visit: impl FnMut(&[u32])) {
    fn arrange(items: &mut [u32], last: usize, visit: &mut impl FnMut(&[u32])) {
        if last == 0 {
            return visit(items);
        }
        for place in 0..=last {
            arrange(items, last - 1, visit);
            let swapped = if last % 2 == 1 { place } else { 0 };
            items.swap(swapped, last);
        }
    }
    let mut items: Vec<u32> = (1..=n).collect();
    let last = items.len().saturating_sub(1);
    arrange(&mut items, last, &mut visit);
}

#[test]
fn visits_every_permutation_once() {
    let mut seen = BTreeSet::new();
    permutations(5, |ring| assert!(seen.insert(ring.to_vec())));
    assert_eq!(seen.len(), 120);
}
