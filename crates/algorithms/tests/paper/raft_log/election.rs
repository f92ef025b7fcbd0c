//! Pre-votes and elections: sections 3.4 and 9.6 of Ongaro's thesis.

use tenure_algorithms::agreement::RaftReplica;
use tenure_algorithms::agreement::raft_log::{Timer, VariantId};
use tenure_core::service::log::Event;
use tenure_core::{Algorithm, Protocol};
use tenure_trace::{SplitMix64, TestCluster};

use super::{append, cluster, commits, events, isolate, led_by_p1};
use crate::support::{fire_and_drain, lose_all, p, restart};

/// An isolated process asks for pre-votes when its timer fires. The other processes follow a leader
/// and grant none, so the leader is not deposed (Ongaro's thesis, section 9.6). With the variant
/// `no-pre-vote`, the leader is deposed.
#[test]
fn isolated_process_deposes_no_leader() {
    for (switches, deposes) in [(&[][..], false), (&[VariantId::NoPreVote], true)] {
        let mut cluster = led_by_p1(3, switches);
        for _ in 0..2 {
            fire_and_drain(&mut cluster, 3, Timer::Election);
        }
        let deposed =
            events(&mut cluster).contains(&(1, Event::Following { term: 1, leader: None }));
        assert_eq!(deposed, deposes, "{switches:?}");
    }
}

/// Delivers all messages after the loss of the leader, without firing a timer. Returns the events
/// by which processes became leaders.
fn next_leader_events(cluster: &mut TestCluster<RaftReplica>, rng: u64) -> Vec<(u32, Event)> {
    cluster.deliver_all(&mut SplitMix64(rng));
    let leads = |it: &(u32, Event)| matches!(it.1, Event::Leading { .. });
    events(cluster).into_iter().filter(leads).collect()
}

/// The leader P1 crashes, and P3's election timer fires twice. P2 then grants P3's pre-vote,
/// because the leader has been silent for the minimum timeout. P3 is elected (Ongaro's thesis,
/// sections 9.6 and 4.2.3).
#[test]
fn first_to_ask_is_elected_after_leader_loss() {
    let mut cluster = led_by_p1(3, &[]);
    let sent = cluster.sent_count("request-pre-vote");
    cluster.crash(p(1));
    [2, 3].into_iter().for_each(|at| cluster.fire_timer(p(at), Timer::Election));
    assert_eq!(cluster.sent_count("request-pre-vote"), sent, "the rest of the timeout remains");
    cluster.fire_timer(p(3), Timer::Election);
    assert_eq!(next_leader_events(&mut cluster, 0), [(3, Event::Leading { term: 2 })]);
}

#[test]
fn one_of_two_competing_candidates_wins() {
    for seed in 0..40 {
        let mut cluster = led_by_p1(3, &[]);
        cluster.crash(p(1));
        for _ in 0..2 {
            [2, 3].into_iter().for_each(|at| cluster.fire_timer(p(at), Timer::Election));
        }
        let leads = next_leader_events(&mut cluster, seed);
        assert_eq!(leads, [(2, Event::Leading { term: 2 })], "seed {seed}");
    }
}

/// P3's log is ahead of P2's log, so only P3 can lead after the crash of P1. P2 denies the first
/// pre-vote that P3 requests, because P2 still follows P1. When P2 later requests a pre-vote from
/// P3, P3 denies it, and requests a pre-vote from P2 again.
#[test]
fn better_log_asks_again() {
    let mut cluster = led_by_p1(3, &[]);
    append(&mut cluster, 1, 1);
    lose_all(&mut cluster, 1, 2);
    cluster.deliver_all(&mut SplitMix64(0));
    cluster.crash(p(1));
    [3, 3].into_iter().for_each(|at| cluster.fire_timer(p(at), Timer::Election));
    assert_eq!(next_leader_events(&mut cluster, 0), [], "P2 still follows P1");
    [2, 2].into_iter().for_each(|at| cluster.fire_timer(p(at), Timer::Election));
    assert_eq!(next_leader_events(&mut cluster, 0), [(3, Event::Leading { term: 2 })]);
}

#[test]
fn leader_without_majority_steps_down() {
    for (switches, leaves) in [(&[][..], true), (&[VariantId::NoCheckQuorum], false)] {
        let mut cluster = led_by_p1(3, switches);
        let gone = Event::Following { term: 1, leader: None };
        cluster.fire_timer(p(1), Timer::Election);
        assert_eq!(events(&mut cluster), [], "a majority has responded since");
        cluster.fire_timer(p(1), Timer::Heartbeat);
        isolate(&mut cluster, 1);
        cluster.fire_timer(p(1), Timer::Election);
        assert_eq!(events(&mut cluster).contains(&(1, gone)), leaves, "{switches:?}");
    }
}

/// P1 and P2 are down, and P3 and P4 cannot reach each other. P3 asks for pre-votes first but gets
/// no majority. P5 reaches both P3 and P4, and is elected.
#[test]
fn unelected_candidate_does_not_block_others() {
    let mut cluster = led_by_p1(5, &[]);
    [1, 2].into_iter().for_each(|at| cluster.crash(p(at)));
    [3, 4, 5, 3].into_iter().for_each(|at| cluster.fire_timer(p(at), Timer::Election));
    lose_all(&mut cluster, 3, 4);
    assert_eq!(next_leader_events(&mut cluster, 0), [], "P3 has the pre-votes of P5 and itself");
    cluster.fire_timer(p(5), Timer::Election);
    assert_eq!(next_leader_events(&mut cluster, 0), [(5, Event::Leading { term: 2 })]);
}

const AHEAD: &[VariantId] = &[VariantId::Ahead, VariantId::NoPreVote];

/// Returns the saved state with which P1 would restart.
fn saved(cluster: &TestCluster<RaftReplica>) -> <RaftReplica as Protocol>::Stable {
    cluster.process(p(1)).expect("it is up").stable()
}

#[test]
fn candidate_saves_its_vote_in_parallel() {
    let mut cluster = cluster(3, AHEAD);
    let before = saved(&cluster);
    cluster.fire_timer(p(1), Timer::Election);
    assert_eq!(
        cluster.messages_on_link((p(1), p(2))).len(),
        1,
        "it requests votes in the same step"
    );
    assert_eq!(saved(&cluster), before, "nothing is saved in that step");
    cluster.fire_timer(p(1), Timer::Store);
    assert_ne!(saved(&cluster), before, "its vote is saved later");
    let voted = saved(&cluster);
    assert_eq!(next_leader_events(&mut cluster, 0), [(1, Event::Leading { term: 1 })]);
    assert_eq!(saved(&cluster), voted, "the first entry is also sent before it is stored");
    cluster.fire_timer(p(1), Timer::Store);
    assert_eq!(commits(&events(&mut cluster)), [(1, 1)]);
}

/// With the variant `ahead`, a leader may be elected before its own vote is saved. The leader saves
/// the vote before any process learns of its election. After a restart, it therefore never leads in
/// the same term again.
#[test]
fn leader_has_saved_its_vote() {
    let mut cluster = cluster(3, AHEAD);
    cluster.fire_timer(p(1), Timer::Election);
    assert_eq!(next_leader_events(&mut cluster, 0), [(1, Event::Leading { term: 1 })]);
    restart(&mut cluster, 1);
    cluster.fire_timer(p(1), Timer::Election);
    let stands = cluster.process(p(1)).expect("it is up").highest_term();
    assert_eq!(stands, 2, "never again in the term in which it led");
    // P2 and P3 have the first entry of P1, which P1 sent before persisting it.
    assert_eq!(next_leader_events(&mut cluster, 0), []);
    cluster.fire_timer(p(2), Timer::Election);
    assert_eq!(next_leader_events(&mut cluster, 0), [(2, Event::Leading { term: 3 })]);
}

#[test]
fn unsaved_vote_may_be_repeated_after_crash() {
    let mut cluster = cluster(3, AHEAD);
    cluster.fire_timer(p(1), Timer::Election);
    lose_all(&mut cluster, 1, 3);
    restart(&mut cluster, 1);
    cluster.fire_timer(p(3), Timer::Election);
    cluster.fire_timer(p(3), Timer::Store);
    lose_all(&mut cluster, 1, 2);
    assert_eq!(
        next_leader_events(&mut cluster, 0),
        [(3, Event::Leading { term: 1 })],
        "with P1's vote"
    );
}
