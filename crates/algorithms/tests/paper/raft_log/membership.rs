//! Chapter 4: how those who keep a log change.

use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Config, Message, Place, Switch, Timer};
use tenure_core::service::log::{Command, Event, Members, Reason};
use tenure_core::{Order, ProcessSet};
use tenure_trace::{Dice, Stage};

use super::{append, beat, compact, config, lose_all, of_terms, terms, told};
use crate::support::p;

/// A group of `size` in which P1 leads those before `size`; the last one is no member.
pub(super) fn newcomer(size: u32, switches: &[Switch]) -> Stage<RaftLog> {
    let members = Some(Members::of(ProcessSet::first(size - 1)));
    let config = Config { members, trailing: 0, ..config(size, switches) };
    let mut stage = Stage::<RaftLog>::alike(size, Order::Reordered, config);
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    beat(&mut stage, 1);
    stage.take_seen();
    stage
}

pub(super) fn change(stage: &mut Stage<RaftLog>, at: u32, members: &str) {
    let Members { voters, learners, .. } = Members::of_text(members).expect("members");
    stage.command(p(at), Command::ChangeMembers { ticket: 50, voters, learners });
}

fn members(stage: &Stage<RaftLog>, at: u32) -> String {
    stage.process(p(at)).expect("it is up").members().to_string()
}

/// 4.2.1 and 4.3.
#[test]
fn a_newcomer_catches_up_and_then_both_majorities_agree() {
    let mut stage = newcomer(4, &[]);
    assert_eq!(stage.sent_of("append"), 4, "nothing to the newcomer");
    change(&mut stage, 1, "1,2,4");
    assert_eq!(members(&stage, 1), "P1,P2,P3", "it lacks the log");
    beat(&mut stage, 1);
    assert!(told(&mut stage).contains(&(1, Event::MembersChanged { ticket: 50, index: 3 })));
    beat(&mut stage, 1);
    assert_eq!([1, 2, 4].map(|at| members(&stage, at)), ["P1,P2,P4"; 3]);
    assert_eq!(terms(&stage, 4), [1, 1, 1]);
    append(&mut stage, 1, 1);
    assert_eq!(stage.queue((p(1), p(3))), Vec::<&Message>::new(), "P3 is a member no more");
}

#[test]
fn while_members_change_a_majority_of_each_is_needed() {
    let mut stage = newcomer(5, &[Switch::NoCatchUp]);
    // P1 to P4 before, P1, P2 and P5 after it.
    change(&mut stage, 1, "1,2,5");
    assert_eq!(members(&stage, 1), "P1,P2,P5 instead of P1,P2,P3,P4");
    let pass = |stage: &mut Stage<RaftLog>, voter| {
        stage.pass((p(1), p(voter)), 0);
        stage.pass((p(voter), p(1)), 0);
        stage.process(p(1)).expect("it is up").committed() >= 2
    };
    assert!(!pass(&mut stage, 2), "two of four, two of three");
    assert!(pass(&mut stage, 3), "three of four");
    assert_eq!(members(&stage, 1), "P1,P2,P5", "and the next step follows at once");
    change(&mut stage, 1, "1,2");
    let (reason, leader) = (Reason::Changing, Some(p(1)));
    assert!(told(&mut stage).contains(&(1, Event::Declined { ticket: 50, reason, leader })));
}

#[test]
fn whoever_is_cut_off_from_an_entry_goes_by_the_members_before_it() {
    let mut stage = newcomer(4, &[Switch::NoPreVote, Switch::NoCatchUp]);
    change(&mut stage, 1, "1,2,4");
    stage.pass((p(1), p(2)), 0);
    assert_eq!(members(&stage, 2), "P1,P2,P4 instead of P1,P2,P3");
    let entries = of_terms(&[2]);
    let behind = Place { index: 1, term: 1 };
    stage.inject(
        p(3),
        p(2),
        Message::Append { term: 2, behind, entries, commit: 0, round: 0, known: 0 },
    );
    assert_eq!(members(&stage, 2), "P1,P2,P3");
}

/// 4.2.1.
#[test]
fn a_learner_has_the_log_and_does_not_count() {
    for (switches, counted) in [(&[][..], false), (&[Switch::CountedLearner], true)] {
        let mut stage = newcomer(4, switches);
        change(&mut stage, 1, "1,2,3/4");
        for _ in 0..2 {
            beat(&mut stage, 1);
        }
        assert_eq!(members(&stage, 4), "P1,P2,P3 and learning P4");
        told(&mut stage);
        append(&mut stage, 1, 1);
        stage.pass((p(1), p(4)), 0);
        stage.pass((p(4), p(1)), 0);
        let told = told(&mut stage);
        let acknowledged = told.iter().any(|(_, it)| matches!(it, Event::Acknowledged { .. }));
        assert_eq!(acknowledged, counted, "{switches:?}");
        stage.fire(p(4), Timer::Election);
        assert_eq!(stage.sent_of("request-pre-vote"), 2, "it does not stand");
    }
}

/// 4.2.2.
#[test]
fn a_leader_that_is_left_out_leads_until_that_is_committed_and_has_another_stand() {
    let mut stage = newcomer(4, &[]);
    change(&mut stage, 1, "2,3");
    stage.drain(&mut Dice(0));
    let told = told(&mut stage);
    assert!(told.contains(&(1, Event::MembersChanged { ticket: 50, index: 3 })));
    assert!(told.contains(&(1, Event::Following { term: 1, leader: None })));
    let leads = |(_, event): &(u32, Event)| matches!(event, Event::Leading { term: 2 });
    assert!(told.iter().any(leads), "at once");
    stage.fire(p(1), Timer::Election);
    assert_eq!(stage.queue((p(1), p(2))), Vec::<&Message>::new(), "it does not stand");
}

/// 4.2.3.
#[test]
fn who_was_left_out_and_does_not_know_disturbs_nobody() {
    let mut stage = newcomer(4, &[]);
    change(&mut stage, 1, "1,2");
    lose_all(&mut stage, 1, 3);
    stage.drain(&mut Dice(0));
    told(&mut stage);
    assert_eq!(members(&stage, 3), "P1,P2,P3");
    stage.fire(p(3), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(told(&mut stage), [(3, Event::Following { term: 1, leader: None })]);
}

#[test]
fn who_does_not_catch_up_is_not_waited_for_for_ever() {
    let mut stage = newcomer(4, &[]);
    stage.crash(p(4));
    change(&mut stage, 1, "1,2,3,4");
    for _ in 0..10 {
        beat(&mut stage, 1);
        stage.fire(p(1), Timer::Election);
    }
    let (reason, leader) = (Reason::NotCaughtUp, Some(p(1)));
    assert!(told(&mut stage).contains(&(1, Event::Declined { ticket: 50, reason, leader })));
    assert_eq!(members(&stage, 1), "P1,P2,P3");
}

#[test]
fn those_who_can_be_no_group_are_declined() {
    let mut stage = newcomer(4, &[]);
    for wrong in ["", "1,9", "1,2/2"] {
        change(&mut stage, 1, wrong);
        let (reason, leader) = (Reason::NoGroup, Some(p(1)));
        assert_eq!(told(&mut stage), [(1, Event::Declined { ticket: 50, reason, leader })]);
    }
}

#[test]
fn a_snapshot_says_who_keeps_the_log() {
    for (switches, said) in [(&[][..], "P1,P2"), (&[Switch::ForgottenMembers], "P1,P2,P3")] {
        let mut stage = newcomer(4, switches);
        change(&mut stage, 1, "1,2");
        stage.drain(&mut Dice(0));
        told(&mut stage);
        compact(&mut stage, 1);
        stage.crash(p(1));
        stage.recover(p(1));
        assert_eq!(members(&stage, 1), said, "{switches:?}");
    }
}

/// Members come and go, processes crash, messages are lost and repeated, logs are compacted: all
/// who are left have one log.
#[test]
fn with_changes_crashes_and_snapshots_all_logs_become_alike() {
    (0..60).for_each(|seed| become_alike(seed, &[]));
}

/// Whatever is lost, repeated or late, no process is taken for one that forgot entries.
#[test]
fn with_reports_of_what_was_acknowledged_all_logs_become_alike() {
    (0..60).for_each(|seed| become_alike(seed, &[Switch::Noticing]));
}

fn become_alike(seed: u64, switches: &[Switch]) {
    let mut dice = Dice(seed);
    let mut stage = newcomer(5, switches);
    for ticket in 1..=60_u64 {
        let at = 1 + u32::try_from(dice.below(5)).expect("a small number");
        match dice.below(8) {
            0 => stage.fire(p(at), Timer::Election),
            1 => {
                stage.crash(p(at));
                stage.recover(p(at));
            }
            2 => compact(&mut stage, at),
            3 => {
                let voters = [p(1), p(2), p(3), p(4), p(5)].into_iter();
                let voters = voters.filter(|_| !dice.one_in(3)).collect();
                let learners = ProcessSet::new();
                stage.command(p(at), Command::ChangeMembers { ticket, voters, learners });
            }
            _ => (1..=5).for_each(|at| append(&mut stage, at, ticket)),
        }
        for link in stage.busy_links() {
            match dice.below(6) {
                0 => stage.lose(link),
                1 => stage.duplicate(link),
                2 => {}
                _ => stage.deliver(link, &mut dice),
            }
        }
    }
    settle(&mut stage, &mut dice);
    let leader = (1..=5).find(|at| leads(&stage, *at));
    let leader = leader.unwrap_or_else(|| panic!("nobody leads, seed {seed}"));
    let log = |at: u32| stage.process(p(at)).expect("it is up").log();
    let voters = stage.process(p(leader)).expect("it is up").members().voters.clone();
    for voter in &voters {
        let log_of_voter = log(voter.number());
        assert_eq!(log_of_voter.last(), log(leader).last(), "{voter}, seed {seed}");
        let base = log_of_voter.base().index.max(log(leader).base().index);
        for index in base..=log(leader).last().index {
            assert_eq!(log_of_voter.place(index), log(leader).place(index), "seed {seed}");
        }
    }
    let told = told(&mut stage);
    assert!(!told.iter().any(|it| matches!(it, (_, Event::Forgotten { .. }))), "seed {seed}");
}

pub(super) fn leads(stage: &Stage<RaftLog>, at: u32) -> bool {
    stage.armed_timers().contains(&(p(at), Timer::Heartbeat))
}

/// Somebody leads in the end: whoever can stands, one after the other.
fn settle(stage: &mut Stage<RaftLog>, dice: &mut Dice) {
    for round in 0..40 {
        stage.drain(dice);
        for at in 1..=5 {
            if leads(stage, at) {
                stage.fire(p(at), Timer::Heartbeat);
            }
        }
        stage.drain(dice);
        if !(1..=5).any(|at| leads(stage, at)) || round < 5 {
            stage.fire(p(1 + round % 5), Timer::Election);
        }
    }
}
