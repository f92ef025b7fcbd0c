//! Tests of the lock `majority`: a process enters with the votes of a quorum of live processes. The
//! quorums are majorities, or the quorums of D. Agrawal and A. El Abbadi, *An efficient and
//! fault-tolerant solution for distributed mutual exclusion*, TOCS 9(1), 1991.

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_algorithms::mutex::FaultTolerantMaekawa;
use tenure_algorithms::mutex::majority::Config;
use tenure_core::quorum::QuorumKind;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, CrashModel, Fence, PeerVerdict, ToleratedFaults};

use crate::support::mutex::{NONE, Plan, enter_and_exit, entered, fences, run};
use crate::support::{command_and_drain, crash_and_drain, p, suspicion_and_drain};
use tenure_trace::{SplitMix64, TestCluster};

fn cluster(kind: QuorumKind, size: u32) -> TestCluster<FaultTolerantMaekawa> {
    TestCluster::with_same_config(
        size,
        ChannelOrder::Fifo,
        Config::with_quorum_kind(kind, size).unwrap(),
    )
}

#[test]
fn uncontended_entry_costs_three_messages_per_voter() {
    for (kind, size, messages) in [
        (QuorumKind::Majority, 2, 3),
        (QuorumKind::Majority, 3, 3),
        (QuorumKind::Majority, 5, 6),
        (QuorumKind::Majority, 6, 9),
        (QuorumKind::Tree, 7, 6),
    ] {
        let mut cluster = cluster(kind, size);
        for at in 1..=size {
            assert_eq!(enter_and_exit(&mut cluster, at), messages, "{kind:?} {size} P{at}");
        }
        let card = FaultTolerantMaekawa::card(&Config::with_quorum_kind(kind, size).unwrap(), size);
        assert_eq!(card.messages.least, messages);
    }
}

#[test]
fn contended_entry_costs_what_maekawa_costs() {
    for (kind, size) in
        [(QuorumKind::Majority, 5), (QuorumKind::Majority, 6), (QuorumKind::Tree, 7)]
    {
        let config = Config::with_quorum_kind(kind, size).unwrap();
        let cost = FaultTolerantMaekawa::card(&config, size).messages;
        for seed in 0..200 {
            let plan = Plan::of(ChannelOrder::Fifo, &vec![2; size as usize]).seeded(seed);
            let outcome = run::<FaultTolerantMaekawa>(config.clone(), &plan).unwrap();
            let range = cost.least * outcome.entries..=cost.most.unwrap() * outcome.entries;
            assert!(range.contains(&outcome.messages), "{kind:?} {size} seed {seed}");
        }
    }
}

/// `docs/checklist.md`, 3.6 (iii): the lock tolerates ⌊(N − 1)/2⌋ crashes, and no more.
#[test]
fn tolerates_minority_crashes_only() {
    for size in 3..=7 {
        for first in 0..size {
            let mut cluster = cluster(QuorumKind::Majority, size);
            let nth = |step| (first + step) % size + 1;
            let most = (size - 1) / 2;
            (0..most).for_each(|step| crash_and_drain(&mut cluster, nth(step)));
            for live in most..size {
                enter_and_exit(&mut cluster, nth(live));
            }
            crash_and_drain(&mut cluster, nth(most));
            command_and_drain(&mut cluster, nth(size - 1), Command::Enter);
            assert_eq!(entered(&mut cluster), NONE, "{} of {size} are down", most + 1);
        }
    }
}

/// The card claims only crashes that leave a quorum, whichever processes crash. P3 is in every
/// quorum of a grid of 5 processes, because it takes the empty place of the last row.
#[test]
fn card_claims_only_crashes_that_leave_a_quorum() {
    let faults = |kind, size| {
        let config = Config::with_quorum_kind(kind, size).unwrap();
        FaultTolerantMaekawa::card(&config, size).faults
    };
    assert!(faults(QuorumKind::Majority, 5).majority);
    for (kind, size, most) in [
        (QuorumKind::Pairs, 3, 1),
        (QuorumKind::Plane, 7, 2),
        (QuorumKind::Grid, 5, 0),
        (QuorumKind::Grid, 9, 2),
        (QuorumKind::Tree, 4, 1),
        (QuorumKind::Tree, 7, 2),
    ] {
        let ToleratedFaults { crashes, max_crashed, majority, .. } = faults(kind, size);
        assert_eq!((max_crashed, majority), (Some(most), false), "{kind:?} {size}");
        assert_eq!(crashes == CrashModel::None, most == 0, "{kind:?} {size}");
    }
    let mut cluster = cluster(QuorumKind::Grid, 5);
    crash_and_drain(&mut cluster, 3);
    command_and_drain(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), NONE);
}

/// `docs/checklist.md`, 3.7: in a tree quorum, paths through both subtrees replace a failed node.
#[test]
fn tree_quorums_replace_crashed_nodes() {
    let mut cluster = cluster(QuorumKind::Tree, 7);
    assert_eq!(enter_and_exit(&mut cluster, 4), 6, "P1, P2 and P4 itself");
    crash_and_drain(&mut cluster, 1);
    assert_eq!(enter_and_exit(&mut cluster, 4), 9, "P2 and P4, P3 and one below it");
    crash_and_drain(&mut cluster, 2);
    crash_and_drain(&mut cluster, 3);
    assert_eq!(enter_and_exit(&mut cluster, 4), 9, "all four leaves");
    crash_and_drain(&mut cluster, 7);
    command_and_drain(&mut cluster, 4, Command::Enter);
    assert_eq!(entered(&mut cluster), NONE);
}

#[test]
fn crashed_voter_is_replaced() {
    let mut cluster = cluster(QuorumKind::Majority, 3);
    cluster.issue_command(p(1), Command::Enter);
    cluster.crash(p(2));
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(&mut cluster), NONE);
    suspicion_and_drain(&mut cluster, 1, 2, PeerVerdict::Suspect);
    assert_eq!(entered(&mut cluster), [1], "with the vote of P3");
}

#[test]
fn votes_of_crashed_holder_yield_higher_fence() {
    let mut cluster = cluster(QuorumKind::Majority, 5);
    command_and_drain(&mut cluster, 1, Command::Enter);
    (2..=5).for_each(|at| cluster.issue_command(p(at), Command::Enter));
    cluster.deliver_all(&mut SplitMix64(0));
    let mut all = fences(&mut cluster);
    crash_and_drain(&mut cluster, 1);
    all.extend(fences(&mut cluster));
    assert_eq!(all, [Fence(0, 1), Fence(1, 1)], "the count of P1 is lost");
}

#[test]
fn late_request_of_crashed_process_gets_no_vote() {
    let mut cluster = cluster(QuorumKind::Majority, 3);
    cluster.issue_command(p(1), Command::Enter);
    cluster.crash(p(1));
    suspicion_and_drain(&mut cluster, 2, 1, PeerVerdict::Suspect);
    assert_eq!(cluster.sent_count("locked"), 0);
    enter_and_exit(&mut cluster, 2);
}

/// After a false suspicion, two processes are inside the critical section at the same time. No lock
/// can prevent this. The later entry has a higher fence, so a resource can reject the process that
/// entered first.
#[test]
fn later_entry_has_higher_fence_after_false_suspicion() {
    let mut cluster = cluster(QuorumKind::Majority, 3);
    command_and_drain(&mut cluster, 1, Command::Enter);
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(fences(&mut cluster), [Fence(0, 1)]);
    suspicion_and_drain(&mut cluster, 2, 1, PeerVerdict::Suspect);
    assert_eq!(fences(&mut cluster), [Fence(1, 1)]);
}

#[test]
fn falsely_suspected_process_requests_again() {
    let mut cluster = cluster(QuorumKind::Majority, 2);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    command_and_drain(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), NONE, "P2 does not vote for P1");
    suspicion_and_drain(&mut cluster, 2, 1, PeerVerdict::Trust);
    assert_eq!(entered(&mut cluster), [1]);
}

#[test]
fn defaults_to_majorities() {
    let least = |quorums, size| {
        let parameters = Parameters { quorum_kind: quorums, ..Parameters::with_defaults(size) };
        catalogue::card("majority", &parameters).unwrap().messages.least
    };
    assert_eq!(least(None, 15), 3 * 7);
    assert_eq!(least(Some(QuorumKind::Majority), 15), 3 * 7);
    assert_eq!(least(Some(QuorumKind::Tree), 15), 3 * 3);
    assert_eq!(least(Some(QuorumKind::Plane), 13), 3 * 3);
    assert_eq!(least(Some(QuorumKind::Grid), 16), 3 * 6, "not the default");
}
