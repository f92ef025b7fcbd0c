//! Sections 3.4 and 9.6: who asks whom, and who is elected.

use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Switch, Timer};
use tenure_core::service::log::Event;
use tenure_core::{Algorithm, Protocol};
use tenure_trace::{Dice, Stage};

use super::{append, commits, cut_off, led, lose_all, stage, told};
use crate::support::p;

/// 9.6.
#[test]
fn who_was_cut_off_deposes_nobody() {
    for (switches, deposes) in [(&[][..], false), (&[Switch::NoPreVote], true)] {
        let mut stage = led(3, switches);
        for _ in 0..2 {
            stage.fire(p(3), Timer::Election);
            stage.drain(&mut Dice(0));
        }
        let deposed = told(&mut stage).contains(&(1, Event::Following { term: 1, leader: None }));
        assert_eq!(deposed, deposes, "{switches:?}");
    }
}

/// Whoever is led, in a later term, when the leader is gone and nobody's timer fires any more.
fn leads_next(stage: &mut Stage<RaftLog>, dice: u64) -> Vec<(u32, Event)> {
    stage.drain(&mut Dice(dice));
    let leads = |it: &(u32, Event)| matches!(it.1, Event::Leading { .. });
    told(stage).into_iter().filter(leads).collect()
}

/// 9.6, 4.2.3: who has not heard the leader for the shortest timeout would vote for another.
#[test]
fn the_first_who_asks_is_elected_where_all_have_missed_the_leader() {
    let mut stage = led(3, &[]);
    let asked = stage.sent_of("request-pre-vote");
    stage.crash(p(1));
    [2, 3].into_iter().for_each(|at| stage.fire(p(at), Timer::Election));
    assert_eq!(stage.sent_of("request-pre-vote"), asked, "the rest of the timeout is to come");
    stage.fire(p(3), Timer::Election);
    assert_eq!(leads_next(&mut stage, 0), [(3, Event::Leading { term: 2 })]);
}

#[test]
fn of_two_who_ask_each_other_one_is_elected() {
    for seed in 0..40 {
        let mut stage = led(3, &[]);
        stage.crash(p(1));
        for _ in 0..2 {
            [2, 3].into_iter().for_each(|at| stage.fire(p(at), Timer::Election));
        }
        let leads = leads_next(&mut stage, seed);
        assert_eq!(leads, [(2, Event::Leading { term: 2 })], "seed {seed}");
    }
}

/// It asked too early, and is asked by somebody who lacks what it has.
#[test]
fn who_has_the_better_log_asks_again_when_it_is_asked() {
    let mut stage = led(3, &[]);
    append(&mut stage, 1, 1);
    lose_all(&mut stage, 1, 2);
    stage.drain(&mut Dice(0));
    stage.crash(p(1));
    [3, 3].into_iter().for_each(|at| stage.fire(p(at), Timer::Election));
    assert_eq!(leads_next(&mut stage, 0), [], "P2 still hears P1");
    [2, 2].into_iter().for_each(|at| stage.fire(p(at), Timer::Election));
    assert_eq!(leads_next(&mut stage, 0), [(3, Event::Leading { term: 2 })]);
}

#[test]
fn a_leader_whom_no_majority_answers_steps_down() {
    for (switches, leaves) in [(&[][..], true), (&[Switch::NoCheckQuorum], false)] {
        let mut stage = led(3, switches);
        let gone = Event::Following { term: 1, leader: None };
        stage.fire(p(1), Timer::Election);
        assert_eq!(told(&mut stage), [], "it was answered since");
        stage.fire(p(1), Timer::Heartbeat);
        cut_off(&mut stage, 1);
        stage.fire(p(1), Timer::Election);
        assert_eq!(told(&mut stage).contains(&(1, gone)), leaves, "{switches:?}");
    }
}

/// P3 hears nothing of P4, nor P4 of it, and P1 and P2 are gone: only P5 reaches a majority.
#[test]
fn who_goes_on_and_is_not_elected_stands_in_nobodys_way() {
    let mut stage = led(5, &[]);
    [1, 2].into_iter().for_each(|at| stage.crash(p(at)));
    [3, 4, 5, 3].into_iter().for_each(|at| stage.fire(p(at), Timer::Election));
    lose_all(&mut stage, 3, 4);
    assert_eq!(leads_next(&mut stage, 0), [], "P3 has P5's word and its own");
    stage.fire(p(5), Timer::Election);
    assert_eq!(leads_next(&mut stage, 0), [(5, Event::Leading { term: 2 })]);
}

const AHEAD: &[Switch] = &[Switch::Ahead, Switch::NoPreVote];

/// What P1 would come back with.
fn saved(stage: &Stage<RaftLog>) -> <RaftLog as Protocol>::Stable {
    stage.process(p(1)).expect("it is up").stable()
}

#[test]
fn who_asks_ahead_saves_its_own_vote_while_others_save_theirs() {
    let mut stage = stage(3, AHEAD);
    let before = saved(&stage);
    stage.fire(p(1), Timer::Election);
    assert_eq!(stage.queue((p(1), p(2))).len(), 1, "it asks in the same step");
    assert_eq!(saved(&stage), before, "for which nothing is to be saved");
    stage.fire(p(1), Timer::Store);
    assert_ne!(saved(&stage), before, "now its vote is");
    let voted = saved(&stage);
    assert_eq!(leads_next(&mut stage, 0), [(1, Event::Leading { term: 1 })]);
    assert_eq!(saved(&stage), voted, "the first entry is sent before it is stored, too");
    stage.fire(p(1), Timer::Store);
    assert_eq!(commits(&told(&mut stage)), [(1, 1)]);
}

/// It may be elected before it saves its vote: then that is saved before anybody hears of it.
#[test]
fn whoever_leads_has_saved_its_vote() {
    let mut stage = stage(3, AHEAD);
    stage.fire(p(1), Timer::Election);
    assert_eq!(leads_next(&mut stage, 0), [(1, Event::Leading { term: 1 })]);
    stage.crash(p(1));
    stage.recover(p(1));
    stage.fire(p(1), Timer::Election);
    let stands = stage.process(p(1)).expect("it is up").highest_term();
    assert_eq!(stands, 2, "never again in the term in which it led");
    // The others have its first entry, which it had sent ahead.
    assert_eq!(leads_next(&mut stage, 0), []);
    stage.fire(p(2), Timer::Election);
    assert_eq!(leads_next(&mut stage, 0), [(2, Event::Leading { term: 3 })]);
}

#[test]
fn who_crashes_before_its_vote_is_saved_may_stand_again_or_vote_for_another() {
    let mut stage = stage(3, AHEAD);
    stage.fire(p(1), Timer::Election);
    lose_all(&mut stage, 1, 3);
    stage.crash(p(1));
    stage.recover(p(1));
    stage.fire(p(3), Timer::Election);
    stage.fire(p(3), Timer::Store);
    lose_all(&mut stage, 1, 2);
    assert_eq!(leads_next(&mut stage, 0), [(3, Event::Leading { term: 1 })], "with P1's vote");
}
