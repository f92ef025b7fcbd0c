//! When a leader sends, stores and tells: ahead (10.2.1), together, and at once.

use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Message, Place, Switch, Timer};
use tenure_core::Protocol;
use tenure_core::service::log::Event;
use tenure_trace::{Dice, Stage};

use super::{append, commits, led, stage, terms, told};
use crate::support::p;

#[test]
fn who_announces_what_is_committed_has_nobody_wait_for_the_next_message() {
    let mut stage = led(3, &[Switch::Announcing]);
    append(&mut stage, 1, 1);
    stage.drain(&mut Dice(0));
    assert_eq!(commits(&told(&mut stage)), [(1, 2), (2, 2), (3, 2)]);
}

/// An announcement goes to everybody once, and is not answered.
#[test]
fn an_announcement_is_not_answered() {
    let sent = |switches: &[Switch]| {
        let mut stage = led(3, switches);
        let before = stage.total_sent();
        append(&mut stage, 1, 1);
        stage.drain(&mut Dice(0));
        stage.total_sent() - before
    };
    assert_eq!((sent(&[]), sent(&[Switch::Announcing])), (4, 4 + 2));
}

#[test]
fn an_announcement_commits_what_the_log_has_as_the_leader_does_and_nothing_else() {
    let mut stage = led(3, &[Switch::Announcing]);
    let committed = |stage: &Stage<RaftLog>| stage.process(p(2)).expect("it is up").committed();
    let announce = |stage: &mut Stage<RaftLog>, term, index, of| {
        let last = Place { index, term: of };
        stage.inject(p(1), p(2), Message::Committed { term, last });
        committed(stage)
    };
    assert_eq!(announce(&mut stage, 1, 2, 1), 1, "it lacks that entry");
    append(&mut stage, 1, 1);
    stage.pass((p(1), p(2)), 0);
    assert_eq!(committed(&stage), 1, "it has the entry, and nobody said more");
    assert_eq!(announce(&mut stage, 2, 2, 2), 1, "its entry there is of another term");
    assert_eq!(announce(&mut stage, 2, 2, 1), 2);
    assert_eq!(announce(&mut stage, 2, 1, 1), 2, "nothing is taken back");
}

/// 10.2.1: disks work at the same time, and nobody counts a copy that is not there.
#[test]
fn what_is_sent_ahead_counts_for_its_leader_when_it_is_stored() {
    for (switches, at_once) in
        [(&[Switch::Ahead][..], false), (&[Switch::Ahead, Switch::CountedAhead], true)]
    {
        let mut stage = led(3, switches);
        append(&mut stage, 1, 1);
        assert_eq!(stage.queue((p(1), p(2))).len(), 1, "it is sent in the same step");
        stage.drain(&mut Dice(0));
        let counted: &[(u32, u64)] = if at_once { &[(1, 2)] } else { &[] };
        assert_eq!(commits(&told(&mut stage)), counted, "{switches:?}");
        stage.fire(p(1), Timer::Store);
        assert_eq!(commits(&told(&mut stage)).is_empty(), at_once, "{switches:?}");
    }
}

#[test]
fn a_crash_loses_what_was_sent_ahead_by_its_leader_alone() {
    let mut stage = led(3, &[Switch::Ahead]);
    append(&mut stage, 1, 1);
    stage.drain(&mut Dice(0));
    append(&mut stage, 1, 2);
    stage.fire(p(1), Timer::Store);
    append(&mut stage, 1, 3);
    stage.crash(p(1));
    stage.recover(p(1));
    assert_eq!(terms(&stage, 1), [1; 3], "the third was not stored");
    // Who steps down instead keeps it.
    let mut stage = led(3, &[Switch::Ahead]);
    append(&mut stage, 1, 1);
    stage.inject(p(2), p(1), Message::Overtaken { term: 2 });
    stage.crash(p(1));
    stage.recover(p(1));
    assert_eq!(terms(&stage, 1), [1; 2]);
}

/// As many messages as for one entry, whether the leader stores what it sends before or after.
#[test]
fn what_is_proposed_at_once_is_sent_in_one_message_and_answered_by_one() {
    for (switches, ahead) in
        [(&[Switch::Together][..], false), (&[Switch::Together, Switch::Ahead], true)]
    {
        let mut stage = led(3, switches);
        let committed = |stage: &Stage<RaftLog>| stage.process(p(1)).expect("it is up").committed();
        assert_eq!(committed(&stage), 1, "its first entry");
        let before = stage.total_sent();
        (1..=5).for_each(|ticket| append(&mut stage, 1, ticket));
        assert_eq!(stage.total_sent(), before, "nothing is sent yet");
        stage.fire(p(1), Timer::Send);
        stage.drain(&mut Dice(0));
        if ahead {
            stage.fire(p(1), Timer::Store);
        }
        assert_eq!((stage.total_sent() - before, committed(&stage)), (4, 6));
    }
}

#[test]
fn whoever_steps_down_before_it_sends_keeps_what_it_has_and_sends_nothing() {
    let mut stage = led(3, &[Switch::Together]);
    append(&mut stage, 1, 1);
    stage.inject(p(2), p(1), Message::Overtaken { term: 2 });
    assert!(!stage.armed_timers().contains(&(p(1), Timer::Send)));
    assert!(stage.queue((p(1), p(2))).is_empty());
    assert_eq!(terms(&stage, 1), [1; 2]);
    assert!(told(&mut stage).contains(&(1, Event::Unknown { ticket: 1 })));
}

/// Where something was proposed meanwhile, that says it.
#[test]
fn what_is_committed_is_announced_together_with_what_is_proposed() {
    let mut stage = led(3, &[Switch::Together, Switch::Announcing]);
    append(&mut stage, 1, 1);
    stage.fire(p(1), Timer::Send);
    stage.drain(&mut Dice(0));
    stage.take_seen();
    let before = stage.total_sent();
    append(&mut stage, 1, 2);
    assert_eq!(stage.total_sent(), before, "neither was said yet");
    stage.fire(p(1), Timer::Send);
    assert_eq!(stage.total_sent() - before, 2, "an entry each, which says what is committed");
    stage.drain(&mut Dice(0));
    assert_eq!(commits(&told(&mut stage)), [(1, 3), (2, 2), (3, 2)]);
    let before = stage.total_sent();
    stage.fire(p(1), Timer::Send);
    assert_eq!(stage.total_sent() - before, 2, "and now nothing else says it");
    stage.drain(&mut Dice(0));
    assert_eq!(commits(&told(&mut stage)), [(2, 3), (3, 3)]);
    assert!(!stage.armed_timers().contains(&(p(1), Timer::Send)), "it is said once");
}

/// Disks are slow at P1 and P2: of what they say of the log nothing arrives.
#[test]
fn heartbeats_keep_a_leader_while_messages_of_the_log_wait_for_disks() {
    let mut stage = led(3, &[Switch::Heartbeats]);
    let (to, back) = ((p(1), p(2)), (p(2), p(1)));
    stage.fire(p(1), Timer::Heartbeat);
    assert_eq!(stage.queue(to).len(), 1, "whoever answers is sent nothing more");
    stage.fire(p(1), Timer::Election);
    stage.fire(p(1), Timer::Heartbeat);
    let beats = stage.queue(to).iter().position(|it| matches!(it, Message::Heartbeat { .. }));
    stage.pass(to, beats.expect("it has not answered"));
    let answers = stage.queue(back);
    let answer = answers.last().expect("it answers at once");
    assert!(matches!(answer, Message::HeartbeatResponse { .. }), "{answer:?}");
    assert!(!RaftLog::rests_on_saves(answer));
    stage.pass(back, 0);
    stage.take_seen();
    stage.fire(p(1), Timer::Election);
    assert_eq!(told(&mut stage), [], "a majority answers");
    stage.fire(p(1), Timer::Election);
    assert_eq!(told(&mut stage), [(1, Event::Following { term: 1, leader: None })]);
}

/// Until an entry of its term is answered, its vote may not be saved.
#[test]
fn leader_sends_no_heartbeat_before_an_answer_of_its_term() {
    let mut stage = stage(3, &[Switch::Heartbeats]);
    stage.fire(p(1), Timer::Election);
    let queued = |stage: &Stage<RaftLog>| {
        let queue = stage.queue((p(1), p(2)));
        queue.iter().filter(|it| matches!(it, Message::Heartbeat { .. })).count()
    };
    while stage.queue((p(1), p(2))).iter().all(|it| !matches!(it, Message::Append { .. })) {
        for link in [(p(1), p(2)), (p(2), p(1))] {
            if !stage.queue(link).is_empty() {
                stage.pass(link, 0);
            }
        }
    }
    (0..3).for_each(|_| stage.fire(p(1), Timer::Heartbeat));
    assert_eq!(queued(&stage), 0);
    stage.drain(&mut Dice(0));
    (0..2).for_each(|_| stage.fire(p(1), Timer::Heartbeat));
    assert_eq!(queued(&stage), 1);
}
