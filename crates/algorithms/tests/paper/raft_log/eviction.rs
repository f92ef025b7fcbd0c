//! Processes that must take no further part: removed ones, and ones that lost acknowledged entries.

use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Switch, Timer};
use tenure_core::service::log::Event;
use tenure_trace::{Dice, Stage};

use super::membership::{change, leads, newcomer};
use super::{append, beat, led, lose_all, told};
use crate::support::p;

/// Lets P1 and P2 exchange all that they have to say; what P1 sends to another is lost.
fn exchange_without(stage: &mut Stage<RaftLog>, other: u32) {
    loop {
        lose_all(stage, 1, other);
        let links = [(p(1), p(2)), (p(2), p(1))];
        let Some(link) = links.into_iter().find(|link| !stage.queue(*link).is_empty()) else {
            return;
        };
        stage.pass(link, 0);
    }
}

/// Removes P3 of three members; what is sent to it meanwhile is lost.
fn remove_unheard(switches: &[Switch]) -> Stage<RaftLog> {
    let mut stage = newcomer(4, switches);
    change(&mut stage, 1, "1,2");
    exchange_without(&mut stage, 3);
    assert!(told(&mut stage).contains(&(1, Event::MembersChanged { ticket: 50, index: 3 })));
    stage
}

#[test]
fn a_removed_process_is_told_when_its_removal_is_committed() {
    for (switches, is_told) in [(&[][..], false), (&[Switch::Noticing], true)] {
        let mut stage = newcomer(4, switches);
        change(&mut stage, 1, "1,2");
        stage.drain(&mut Dice(0));
        let told = told(&mut stage);
        assert_eq!(told.contains(&(3, Event::Removed { at: 3 })), is_told, "{switches:?}");
    }
}

#[test]
fn a_removed_process_that_missed_its_removal_is_told_when_it_asks_for_a_vote() {
    for switches in [&[Switch::Noticing][..], &[Switch::Noticing, Switch::NoPreVote]] {
        let mut stage = remove_unheard(switches);
        stage.fire(p(3), Timer::Election);
        stage.fire(p(3), Timer::Election);
        stage.drain(&mut Dice(0));
        let told = told(&mut stage);
        assert!(told.contains(&(3, Event::Removed { at: 3 })), "{switches:?}: {told:?}");
        assert!(leads(&stage, 1), "and it deposes no leader");
    }
}

#[test]
fn a_removed_learner_that_missed_its_removal_is_told_when_it_asks() {
    let mut stage = newcomer(4, &[Switch::Noticing]);
    change(&mut stage, 1, "1,2,3/4");
    beat(&mut stage, 1);
    beat(&mut stage, 1);
    change(&mut stage, 1, "1,2,3");
    exchange_without(&mut stage, 4);
    told(&mut stage);
    stage.fire(p(4), Timer::Election);
    stage.drain(&mut Dice(0));
    let told = told(&mut stage);
    assert!(told.iter().any(|it| matches!(it, (4, Event::Removed { .. }))), "{told:?}");
}

#[test]
fn a_process_that_has_never_been_a_member_is_not_told_that_it_was_removed() {
    let mut stage = newcomer(4, &[Switch::Noticing]);
    stage.fire(p(4), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(told(&mut stage), []);
}

#[test]
fn a_process_that_lost_acknowledged_entries_leaves_and_is_not_counted() {
    for (switches, is_noticed) in
        [(&[Switch::ForgottenLog][..], false), (&[Switch::ForgottenLog, Switch::Noticing], true)]
    {
        let mut stage = led(3, switches);
        stage.crash(p(3));
        stage.crash(p(2));
        stage.recover(p(2));
        append(&mut stage, 1, 1);
        for _ in 0..4 {
            if leads(&stage, 1) {
                beat(&mut stage, 1);
                stage.fire(p(1), Timer::Election);
            }
        }
        let told = told(&mut stage);
        let forgotten = (2, Event::Forgotten { last: 0, acknowledged: 1 });
        assert_eq!(told.contains(&forgotten), is_noticed, "{told:?}");
        assert_eq!(leads(&stage, 1), !is_noticed, "a leader without a majority");
        assert!(!told.iter().any(|it| matches!(it, (1, Event::Acknowledged { .. }))));
        let is_armed = stage.armed_timers().contains(&(p(2), Timer::Election));
        assert_eq!(is_armed, !is_noticed, "it does not stand");
    }
}
