//! Processes that must no longer take part, because they were removed or because they lost
//! acknowledged entries.

use tenure_algorithms::agreement::RaftReplica;
use tenure_algorithms::agreement::raft_log::{Timer, VariantId};
use tenure_core::service::log::Event;
use tenure_trace::{SplitMix64, TestCluster};

use super::membership::{change, leads, newcomer};
use super::{append, compact, events, heartbeat, led_by_p1};
use crate::support::{fire_and_drain, lose_all, p, pass_all, restart};

/// Delivers all messages between P1 and P2. Messages of P1 to process `other` are lost.
fn exchange_losing(cluster: &mut TestCluster<RaftReplica>, other: u32) {
    loop {
        lose_all(cluster, 1, other);
        let links = [(p(1), p(2)), (p(2), p(1))];
        let Some(link) = links.into_iter().find(|link| !cluster.messages_on_link(*link).is_empty())
        else {
            return;
        };
        cluster.deliver_at(link, 0);
    }
}

/// Removes P3 from a group of three. All messages to P3 are lost, so it does not learn of its
/// removal.
fn remove_unnoticed(switches: &[VariantId]) -> TestCluster<RaftReplica> {
    let mut cluster = newcomer(4, switches);
    change(&mut cluster, 1, "1,2");
    exchange_losing(&mut cluster, 3);
    assert!(events(&mut cluster).contains(&(1, Event::MembersChanged { ticket: 50, index: 3 })));
    cluster
}

#[test]
fn removed_process_is_notified_on_commit() {
    for (switches, is_told) in [(&[][..], false), (&[VariantId::Noticing], true)] {
        let mut cluster = newcomer(4, switches);
        change(&mut cluster, 1, "1,2");
        cluster.deliver_all(&mut SplitMix64(0));
        let events = events(&mut cluster);
        assert_eq!(events.contains(&(3, Event::Removed { at: 3 })), is_told, "{switches:?}");
    }
}

#[test]
fn removed_process_is_notified_on_vote_request() {
    for switches in [&[VariantId::Noticing][..], &[VariantId::Noticing, VariantId::NoPreVote]] {
        let mut cluster = remove_unnoticed(switches);
        cluster.fire_timer(p(3), Timer::Election);
        fire_and_drain(&mut cluster, 3, Timer::Election);
        let events = events(&mut cluster);
        assert!(events.contains(&(3, Event::Removed { at: 3 })), "{switches:?}: {events:?}");
        assert!(leads(&cluster, 1), "it deposes no leader");
    }
}

#[test]
fn removed_learner_is_notified_on_question() {
    let mut cluster = newcomer(4, &[VariantId::Noticing]);
    change(&mut cluster, 1, "1,2,3/4");
    heartbeat(&mut cluster, 1);
    heartbeat(&mut cluster, 1);
    change(&mut cluster, 1, "1,2,3");
    exchange_losing(&mut cluster, 4);
    events(&mut cluster);
    fire_and_drain(&mut cluster, 4, Timer::Election);
    let events = events(&mut cluster);
    assert!(events.iter().any(|it| matches!(it, (4, Event::Removed { .. }))), "{events:?}");
}

/// P1 leads, removes itself, and crashes before it commits the removal. The others commit it, and
/// later change the members again or replace the removal by a snapshot. P1 then asks whether it is
/// still a member. Its log contains its own removal, but P1 does not know that it is committed.
#[test]
fn removed_leader_is_notified_of_removal_that_it_did_not_commit() {
    for compacts in [false, true] {
        let mut cluster = newcomer(4, &[VariantId::Noticing]);
        change(&mut cluster, 1, "2,3");
        pass_all(&mut cluster, &[(1, 2), (2, 1), (1, 3), (3, 1), (1, 2), (1, 3)]);
        cluster.crash(p(1));
        for at in [3, 2, 2] {
            fire_and_drain(&mut cluster, at, Timer::Election);
        }
        assert!(leads(&cluster, 2));
        if compacts {
            heartbeat(&mut cluster, 2);
            [2, 3].into_iter().for_each(|at| compact(&mut cluster, at));
        } else {
            change(&mut cluster, 2, "2,3,4");
            heartbeat(&mut cluster, 2);
        }
        events(&mut cluster);
        cluster.recover(p(1));
        fire_and_drain(&mut cluster, 1, Timer::Election);
        let events = events(&mut cluster);
        let is_notified = events.iter().any(|it| matches!(it, (1, Event::Removed { .. })));
        assert!(is_notified, "{compacts} {events:?}");
    }
}

#[test]
fn non_member_is_not_notified_of_removal() {
    let mut cluster = newcomer(4, &[VariantId::Noticing]);
    fire_and_drain(&mut cluster, 4, Timer::Election);
    assert_eq!(events(&mut cluster), []);
}

#[test]
fn process_that_lost_entries_is_not_counted() {
    for (switches, is_noticed) in [
        (&[VariantId::ForgottenLog][..], false),
        (&[VariantId::ForgottenLog, VariantId::Noticing], true),
    ] {
        let mut cluster = led_by_p1(3, switches);
        cluster.crash(p(3));
        restart(&mut cluster, 2);
        append(&mut cluster, 1, 1);
        for _ in 0..4 {
            if leads(&cluster, 1) {
                heartbeat(&mut cluster, 1);
                cluster.fire_timer(p(1), Timer::Election);
            }
        }
        let events = events(&mut cluster);
        let forgotten = (2, Event::Forgotten { last: 0, acknowledged: 1 });
        assert_eq!(events.contains(&forgotten), is_noticed, "{events:?}");
        assert_eq!(leads(&cluster, 1), !is_noticed, "a leader without a majority");
        assert!(!events.iter().any(|it| matches!(it, (1, Event::Acknowledged { .. }))));
        let is_armed = cluster.armed_timers().contains(&(p(2), Timer::Election));
        assert_eq!(is_armed, !is_noticed, "it does not stand");
    }
}
