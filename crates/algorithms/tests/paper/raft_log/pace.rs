//! Tests of the timing of a leader. The leader sends entries before it has written them (Ongaro's
//! thesis, section 10.2.1). It also sends several entries together, and announces commits
//! immediately.

use tenure_algorithms::agreement::RaftReplica;
use tenure_algorithms::agreement::raft_log::{EntryId, Message, Timer, VariantId};
use tenure_core::Protocol;
use tenure_core::service::log::Event;
use tenure_trace::{SplitMix64, TestCluster};

use super::{append, append_and_drain, cluster, commit_index, commits, events, led_by_p1, terms};
use crate::support::{fire_and_drain, p, restart};

#[test]
fn announcement_spares_waiting_for_next_message() {
    let mut cluster = led_by_p1(3, &[VariantId::Announcing]);
    append_and_drain(&mut cluster, 1, 1);
    assert_eq!(commits(&events(&mut cluster)), [(1, 2), (2, 2), (3, 2)]);
}

/// A process that is alone in its group always has a majority, so its leadership needs no check.
#[test]
fn lone_leader_stops_its_election_timer() {
    for (size, is_armed) in [(1, false), (2, true)] {
        let mut cluster = led_by_p1(size, &[]);
        fire_and_drain(&mut cluster, 1, Timer::Election);
        assert_eq!(cluster.armed_timers().contains(&(p(1), Timer::Election)), is_armed, "{size}");
        append_and_drain(&mut cluster, 1, 1);
        assert_eq!(commit_index(&cluster, 1), 2, "{size}");
    }
}

#[test]
fn an_announcement_is_not_answered() {
    let sent = |switches: &[VariantId]| {
        let mut cluster = led_by_p1(3, switches);
        let before = cluster.total_sent();
        append_and_drain(&mut cluster, 1, 1);
        cluster.total_sent() - before
    };
    assert_eq!((sent(&[]), sent(&[VariantId::Announcing])), (4, 4 + 2));
}

#[test]
fn announcement_commits_only_matching_entries() {
    let mut cluster = led_by_p1(3, &[VariantId::Announcing]);
    let announce = |cluster: &mut TestCluster<RaftReplica>, term, index, of| {
        let last = EntryId { index, term: of };
        cluster.inject_and_deliver(p(1), p(2), Message::Committed { term, last });
        commit_index(cluster, 2)
    };
    assert_eq!(announce(&mut cluster, 1, 2, 1), 1, "it lacks that entry");
    append(&mut cluster, 1, 1);
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(commit_index(&cluster, 2), 1, "the announcement covers one entry");
    assert_eq!(announce(&mut cluster, 2, 2, 2), 1, "its entry there is of another term");
    assert_eq!(announce(&mut cluster, 2, 2, 1), 2);
    assert_eq!(announce(&mut cluster, 2, 1, 1), 2, "the commit index does not decrease");
}

/// Ongaro's thesis, section 10.2.1: the leader sends an entry to its followers before it has
/// persisted the entry. It must not count its own copy before the copy is persisted. The variant
/// `counted-ahead` counts the copy at once.
#[test]
fn own_copy_counts_once_persisted() {
    for (switches, at_once) in
        [(&[VariantId::Ahead][..], false), (&[VariantId::Ahead, VariantId::CountedAhead], true)]
    {
        let mut cluster = led_by_p1(3, switches);
        append(&mut cluster, 1, 1);
        assert_eq!(cluster.messages_on_link((p(1), p(2))).len(), 1, "it is sent in the same step");
        cluster.deliver_all(&mut SplitMix64(0));
        let counted: &[(u32, u64)] = if at_once { &[(1, 2)] } else { &[] };
        assert_eq!(commits(&events(&mut cluster)), counted, "{switches:?}");
        cluster.fire_timer(p(1), Timer::Store);
        assert_eq!(commits(&events(&mut cluster)).is_empty(), at_once, "{switches:?}");
    }
}

#[test]
fn crash_loses_only_unpersisted_entries() {
    let mut cluster = led_by_p1(3, &[VariantId::Ahead]);
    append_and_drain(&mut cluster, 1, 1);
    append(&mut cluster, 1, 2);
    cluster.fire_timer(p(1), Timer::Store);
    append(&mut cluster, 1, 3);
    restart(&mut cluster, 1);
    assert_eq!(terms(&cluster, 1), [1; 3], "the third was not stored");
    // If the leader steps down before the crash, it saves the entry.
    let mut cluster = led_by_p1(3, &[VariantId::Ahead]);
    append(&mut cluster, 1, 1);
    cluster.inject_and_deliver(p(2), p(1), Message::Overtaken { term: 2 });
    restart(&mut cluster, 1);
    assert_eq!(terms(&cluster, 1), [1; 2]);
}

/// Several concurrent proposals need no more messages than a single proposal. The leader may
/// persist the entries before or after it sends them.
#[test]
fn concurrent_proposals_share_one_message() {
    for (switches, ahead) in
        [(&[VariantId::Together][..], false), (&[VariantId::Together, VariantId::Ahead], true)]
    {
        let mut cluster = led_by_p1(3, switches);
        assert_eq!(commit_index(&cluster, 1), 1, "its first entry");
        let before = cluster.total_sent();
        (1..=5).for_each(|ticket| append(&mut cluster, 1, ticket));
        assert_eq!(cluster.total_sent(), before, "nothing is sent yet");
        fire_and_drain(&mut cluster, 1, Timer::Send);
        if ahead {
            cluster.fire_timer(p(1), Timer::Store);
        }
        assert_eq!((cluster.total_sent() - before, commit_index(&cluster, 1)), (4, 6));
    }
}

#[test]
fn deposed_leader_keeps_unsent_entries() {
    let mut cluster = led_by_p1(3, &[VariantId::Together]);
    append(&mut cluster, 1, 1);
    cluster.inject_and_deliver(p(2), p(1), Message::Overtaken { term: 2 });
    assert!(!cluster.armed_timers().contains(&(p(1), Timer::Send)));
    assert!(cluster.messages_on_link((p(1), p(2))).is_empty());
    assert_eq!(terms(&cluster, 1), [1; 2]);
    assert!(events(&mut cluster).contains(&(1, Event::Unknown { ticket: 1 })));
}

/// A leader announces a new commit index to its followers. If new entries are proposed before the
/// announcement is sent, the messages with these entries carry the commit index as well.
#[test]
fn announces_commit_together_with_proposals() {
    let mut cluster = led_by_p1(3, &[VariantId::Together, VariantId::Announcing]);
    append(&mut cluster, 1, 1);
    fire_and_drain(&mut cluster, 1, Timer::Send);
    cluster.take_events();
    let before = cluster.total_sent();
    append(&mut cluster, 1, 2);
    assert_eq!(cluster.total_sent(), before, "nothing is sent yet");
    cluster.fire_timer(p(1), Timer::Send);
    assert_eq!(cluster.total_sent() - before, 2, "one entry each, with the commit index");
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(commits(&events(&mut cluster)), [(1, 3), (2, 2), (3, 2)]);
    let before = cluster.total_sent();
    cluster.fire_timer(p(1), Timer::Send);
    assert_eq!(cluster.total_sent() - before, 2, "a separate announcement each");
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(commits(&events(&mut cluster)), [(2, 3), (3, 3)]);
    assert!(!cluster.armed_timers().contains(&(p(1), Timer::Send)), "it is announced once");
}

/// P1 and P2 have slow disks, so P2 acknowledges no entries. P1 leads as long as a majority
/// responds to its heartbeats, because a response requires no save.
#[test]
fn heartbeats_keep_a_leader_with_slow_disks() {
    let mut cluster = led_by_p1(3, &[VariantId::Heartbeats]);
    let (to, back) = ((p(1), p(2)), (p(2), p(1)));
    cluster.fire_timer(p(1), Timer::Heartbeat);
    assert_eq!(cluster.messages_on_link(to).len(), 1, "a responsive follower gets no heartbeat");
    cluster.fire_timer(p(1), Timer::Election);
    cluster.fire_timer(p(1), Timer::Heartbeat);
    let heartbeats =
        cluster.messages_on_link(to).iter().position(|it| matches!(it, Message::Heartbeat { .. }));
    cluster.deliver_at(to, heartbeats.expect("it has not answered"));
    let answers = cluster.messages_on_link(back);
    let answer = answers.last().expect("it responds at once");
    assert!(matches!(answer, Message::HeartbeatResponse { .. }), "{answer:?}");
    assert!(!RaftReplica::must_wait_for_save(answer));
    cluster.deliver_at(back, 0);
    cluster.take_events();
    cluster.fire_timer(p(1), Timer::Election);
    assert_eq!(events(&mut cluster), [], "a majority responds");
    cluster.fire_timer(p(1), Timer::Election);
    assert_eq!(events(&mut cluster), [(1, Event::Following { term: 1, leader: None })]);
}

/// A leader sends no heartbeats until a follower has acknowledged entries in the leader's term.
/// Until then, it is possible that the leader has not saved its own vote.
#[test]
fn no_heartbeat_before_response_in_term() {
    let mut cluster = cluster(3, &[VariantId::Heartbeats]);
    cluster.fire_timer(p(1), Timer::Election);
    let queued = |cluster: &TestCluster<RaftReplica>| {
        let queue = cluster.messages_on_link((p(1), p(2)));
        queue.iter().filter(|it| matches!(it, Message::Heartbeat { .. })).count()
    };
    while cluster
        .messages_on_link((p(1), p(2)))
        .iter()
        .all(|it| !matches!(it, Message::Append { .. }))
    {
        for link in [(p(1), p(2)), (p(2), p(1))] {
            if !cluster.messages_on_link(link).is_empty() {
                cluster.deliver_at(link, 0);
            }
        }
    }
    (0..3).for_each(|_| cluster.fire_timer(p(1), Timer::Heartbeat));
    assert_eq!(queued(&cluster), 0);
    cluster.deliver_all(&mut SplitMix64(0));
    (0..2).for_each(|_| cluster.fire_timer(p(1), Timer::Heartbeat));
    assert_eq!(queued(&cluster), 1);
}
