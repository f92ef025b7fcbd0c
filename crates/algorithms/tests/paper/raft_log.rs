//! D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014: how a log is kept.

mod compaction;
mod election;
mod eviction;
mod membership;
mod pace;

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Config, Message, Place, Stable, Switch, Timer};
use tenure_core::service::log::{Command, Content, Entry, Event, Payload, Reason};
use tenure_core::{Algorithm, Order, ProcessId, Protocol, TICKS_PER_UNIT};
use tenure_trace::{Dice, Seen, Stage};

use crate::support::p;

fn config(size: u32, switches: &[Switch]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    Config { variants, ..Config::plain(size, TICKS_PER_UNIT) }
}

fn stage(size: u32, switches: &[Switch]) -> Stage<RaftLog> {
    Stage::alike(size, Order::Reordered, config(size, switches))
}

/// P1 leads, and its first entry is committed; all have it, and know.
fn led(size: u32, switches: &[Switch]) -> Stage<RaftLog> {
    let mut stage = stage(size, switches);
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    if switches.contains(&Switch::Together) {
        stage.fire(p(1), Timer::Send);
    }
    if switches.contains(&Switch::Ahead) {
        stage.fire(p(1), Timer::Store);
    }
    beat(&mut stage, 1);
    stage.take_seen();
    stage
}

fn beat(stage: &mut Stage<RaftLog>, at: u32) {
    stage.fire(p(at), Timer::Heartbeat);
    stage.drain(&mut Dice(0));
}

fn append(stage: &mut Stage<RaftLog>, at: u32, ticket: u64) {
    stage.command(p(at), Command::Append { ticket, payload: Payload::from(ticket) });
}

/// What users were told since the last look, but for what is stored.
fn told(stage: &mut Stage<RaftLog>) -> Vec<(u32, Event)> {
    let seen = stage.take_seen().into_iter();
    let events = seen.filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Stored { .. }) => None,
        Seen::Event(event) => Some((at.number(), event)),
        _ => None,
    });
    events.collect()
}

/// Who was told of the commitment of what, by index.
fn commits(told: &[(u32, Event)]) -> Vec<(u32, u64)> {
    let mut commits: Vec<(u32, u64)> = told
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Committed { index, .. } => Some((*at, *index)),
            _ => None,
        })
        .collect();
    commits.sort_unstable();
    commits
}

/// The terms of the entries of a process.
fn terms(stage: &Stage<RaftLog>, at: u32) -> Vec<u64> {
    let log = stage.process(p(at)).expect("it is up").log();
    let here = log.base().index + 1..=log.last().index;
    here.map(|index| log.entry(index).expect("up to the last").term).collect()
}

fn of_terms(terms: &[u64]) -> Vec<Entry> {
    terms.iter().map(|term| Entry { term: *term, content: Content::Nothing }).collect()
}

/// Gives a process a log of these terms, as if leaders of those terms had sent it.
fn give_log(stage: &mut Stage<RaftLog>, to: u32, terms: &[u64]) {
    let from = if to == 1 { p(2) } else { p(1) };
    for (place, term) in terms.iter().enumerate() {
        let before = place.checked_sub(1).map_or(0, |before| terms[before]);
        let behind = Place { index: place as u64, term: before };
        let entries = of_terms(&[*term]);
        let append =
            Message::Append { term: *term, behind, entries, commit: 0, round: 0, known: 0 };
        stage.inject(from, p(to), append);
    }
    stage.take_seen();
    stage.busy_links().into_iter().for_each(|link| {
        while !stage.queue(link).is_empty() {
            stage.lose(link);
        }
    });
}

fn lose_all(stage: &mut Stage<RaftLog>, from: u32, to: u32) {
    while !stage.queue((p(from), p(to))).is_empty() {
        stage.lose((p(from), p(to)));
    }
}

fn cut_off(stage: &mut Stage<RaftLog>, one: u32) {
    for other in stage.everybody().into_iter().map(ProcessId::number).filter(|it| *it != one) {
        lose_all(stage, one, other);
        lose_all(stage, other, one);
    }
}

#[test]
fn an_entry_costs_two_messages_a_peer_and_is_committed_after_one_round_trip() {
    for size in 1..=7 {
        let mut stage = led(size, &[]);
        let before = stage.total_sent();
        append(&mut stage, 1, 1);
        stage.drain(&mut Dice(0));
        let cost = RaftLog::card(&config(size, &[]), size).messages;
        assert_eq!(
            (stage.total_sent() - before, cost.least),
            (2 * u64::from(size - 1), cost.least)
        );
        let told = told(&mut stage);
        assert_eq!(commits(&told), [(1, 2)], "the others hear of it with the next message");
        assert!(told.contains(&(1, Event::Acknowledged { ticket: 1, index: 2 })));
    }
}

#[test]
fn the_others_hear_what_is_committed_with_the_next_message() {
    let mut stage = led(3, &[]);
    append(&mut stage, 1, 1);
    stage.drain(&mut Dice(0));
    told(&mut stage);
    beat(&mut stage, 1);
    assert_eq!(commits(&told(&mut stage)), [(2, 2), (3, 2)]);
}

/// 3.5: several messages ahead of the answers, and several entries in one message.
#[test]
fn what_is_new_is_sent_before_what_is_old_is_answered() {
    let mut stage = led(2, &[]);
    (1..=3).for_each(|ticket| append(&mut stage, 1, ticket));
    assert_eq!(stage.queue((p(1), p(2))).len(), 3);
    stage.drain(&mut Dice(0));
    assert_eq!(stage.process(p(1)).expect("it is up").committed(), 4);
    lose_all(&mut stage, 1, 2);
    (4..=6).for_each(|ticket| append(&mut stage, 1, ticket));
    lose_all(&mut stage, 1, 2);
    // The next heartbeat comes behind what was lost, and all of it goes in one message.
    let before = stage.total_sent();
    beat(&mut stage, 1);
    assert_eq!(stage.total_sent() - before, 4);
    assert_eq!(stage.process(p(1)).expect("it is up").committed(), 7);
}

#[test]
fn a_majority_is_needed_to_commit_and_enough() {
    for (size, needed) in [(2, 2), (3, 2), (4, 3), (5, 3)] {
        let mut stage = led(size, &[]);
        append(&mut stage, 1, 1);
        for voter in 2..=size {
            stage.pass((p(1), p(voter)), 0);
            stage.pass((p(voter), p(1)), 0);
            let committed = stage.process(p(1)).expect("it is up").committed() == 2;
            assert_eq!(committed, voter >= needed, "{voter} of {size}");
        }
    }
}

/// Figure 3.6: followers that lack entries, have some too many, or both; in the end all are alike.
#[test]
fn every_log_of_figure_3_6_becomes_as_the_leaders() {
    let leader = [1, 1, 1, 4, 4, 5, 5, 6, 6, 6];
    let followers: [&[u64]; 6] = [
        &[1, 1, 1, 4, 4, 5, 5, 6, 6],
        &[1, 1, 1, 4],
        &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6],
        &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7],
        &[1, 1, 1, 4, 4, 4, 4],
        &[1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3],
    ];
    let rejections = [1, 1, 0, 0, 2, 2];
    let mut stage = stage(7, &[Switch::NoPreVote]);
    give_log(&mut stage, 1, &leader);
    for (place, log) in followers.iter().enumerate() {
        give_log(&mut stage, place as u32 + 2, log);
    }
    stage.inject(p(2), p(1), Message::Overtaken { term: 7 });
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    let wanted: Vec<u64> = leader.into_iter().chain([8]).collect();
    for at in 1..=7 {
        assert_eq!(terms(&stage, at), wanted, "P{at}");
    }
    assert_eq!(stage.sent_of("rejected"), rejections.iter().sum::<u64>(), "a question per term");
}

/// 3.6.1.
#[test]
fn nobody_votes_for_a_log_that_is_behind_its_own() {
    for (candidate, voter, votes) in [
        (&[1, 1][..], &[1, 1][..], true),
        (&[1, 2], &[1, 1, 1], true),
        (&[1, 1], &[1, 1, 1], false),
        (&[1, 1, 1], &[1, 2], false),
    ] {
        let mut stage = stage(2, &[Switch::NoPreVote]);
        give_log(&mut stage, 1, candidate);
        give_log(&mut stage, 2, voter);
        for _ in 0..2 {
            stage.fire(p(1), Timer::Election);
            stage.drain(&mut Dice(0));
        }
        let leads = told(&mut stage).iter().any(|(_, it)| matches!(it, Event::Leading { .. }));
        assert_eq!(leads, votes, "{candidate:?} asks {voter:?}");
    }
}

/// Figure 3.7: an entry of term 2 that a majority has is committed with one of term 4, not before.
#[test]
fn copies_of_an_older_term_are_not_counted() {
    for (switches, alone) in [(&[][..], false), (&[Switch::OldTermCommit], true)] {
        let switches = [&[Switch::NoPreVote], switches].concat();
        let config = Config { batch: 1, ..config(5, &switches) };
        let mut stage = Stage::alike(5, Order::Reordered, config);
        give_log(&mut stage, 1, &[1, 2]);
        give_log(&mut stage, 2, &[1, 2]);
        give_log(&mut stage, 3, &[1]);
        give_log(&mut stage, 4, &[1]);
        give_log(&mut stage, 5, &[1, 3]);
        // P1 knows term 2 and stands in terms 3 and 4: P2, P3 and P4 vote for it.
        stage.fire(p(1), Timer::Election);
        cut_off(&mut stage, 1);
        stage.fire(p(1), Timer::Election);
        for voter in [2, 3] {
            stage.pass((p(1), p(voter)), 0);
            stage.pass((p(voter), p(1)), 0);
        }
        lose_all(&mut stage, 1, 2);
        // P3 takes the entry of term 2, and not yet that of term 4.
        while terms(&stage, 3) != [1, 2] {
            stage.pass((p(1), p(3)), 0);
            stage.pass((p(3), p(1)), 0);
        }
        lose_all(&mut stage, 1, 3);
        beat_of(&mut stage, 1, 2);
        let committed = stage.process(p(1)).expect("it is up").committed();
        assert_eq!(committed == 2, alone, "{switches:?}: {committed}");
    }
}

/// One heartbeat to one process, and its answer; what the others are sent is lost.
fn beat_of(stage: &mut Stage<RaftLog>, at: u32, to: u32) {
    stage.fire(p(at), Timer::Heartbeat);
    stage.pass((p(at), p(to)), 0);
    stage.pass((p(to), p(at)), 0);
    cut_off(stage, at);
}

#[test]
fn a_late_message_cuts_nothing_that_it_does_not_contradict() {
    for (switches, kept) in [(&[][..], 3), (&[Switch::EagerTruncation], 2)] {
        let mut stage = led(2, switches);
        let behind = Place { index: 1, term: 1 };
        append(&mut stage, 1, 1);
        append(&mut stage, 1, 2);
        stage.drain(&mut Dice(0));
        let entries = vec![Entry { term: 1, content: Content::Payload(Payload::from(1)) }];
        let late = Message::Append { term: 1, behind, entries, commit: 1, round: 0, known: 0 };
        stage.inject(p(1), p(2), late);
        assert_eq!(terms(&stage, 2).len(), kept);
    }
}

#[test]
fn whoever_does_not_lead_declines_and_says_who_does() {
    let mut stage = led(3, &[]);
    append(&mut stage, 2, 7);
    stage.command(p(3), Command::Read { ticket: 8 });
    let (reason, leader) = (Reason::NotLeading, Some(p(1)));
    let declined = |ticket| Event::Declined { ticket, reason, leader };
    assert_eq!(told(&mut stage), [(2, declined(7)), (3, declined(8))]);
    assert_eq!(stage.total_sent(), led(3, &[]).total_sent(), "nothing is passed on");
}

#[test]
fn a_leader_that_is_deposed_answers_at_once_that_it_does_not_know() {
    let mut stage = led(3, &[]);
    append(&mut stage, 1, 1);
    stage.command(p(1), Command::Read { ticket: 2 });
    stage.inject(p(2), p(1), Message::Overtaken { term: 5 });
    let expected = [
        Event::Following { term: 1, leader: None },
        Event::Unknown { ticket: 1 },
        Event::Declined { ticket: 2, reason: Reason::Deposed, leader: None },
    ];
    assert_eq!(told(&mut stage), expected.map(|event| (1, event)));
}

#[test]
fn who_has_too_much_to_do_takes_no_more() {
    let config = Config { backlog: 2, ..config(3, &[]) };
    let mut stage = Stage::<RaftLog>::alike(3, Order::Reordered, config);
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    told(&mut stage);
    (1..=3).for_each(|ticket| append(&mut stage, 1, ticket));
    let reason = Reason::Full;
    assert_eq!(told(&mut stage), [(1, Event::Declined { ticket: 3, reason, leader: Some(p(1)) })]);
    stage.drain(&mut Dice(0));
    append(&mut stage, 1, 4);
    assert!(!told(&mut stage).iter().any(|(_, it)| matches!(it, Event::Declined { .. })));
}

/// 6.4.
#[test]
fn a_read_waits_for_a_majority_and_those_that_come_meanwhile_share_the_next_question() {
    let mut stage = led(5, &[]);
    let read = |stage: &mut Stage<RaftLog>, ticket| stage.command(p(1), Command::Read { ticket });
    let answer = |ticket| (1, Event::Answered { ticket, index: 1 });
    read(&mut stage, 1);
    read(&mut stage, 2);
    read(&mut stage, 3);
    let before = stage.sent_of("append");
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(told(&mut stage), []);
    stage.pass((p(1), p(3)), 0);
    stage.pass((p(3), p(1)), 0);
    assert_eq!(told(&mut stage), [answer(1)]);
    assert_eq!(stage.sent_of("append") - before, 4, "one question for the two others");
    stage.drain(&mut Dice(0));
    assert_eq!(told(&mut stage), [answer(2), answer(3)]);
}

/// 6.4: before an entry of its own term is committed, a leader does not know what is.
#[test]
fn a_new_leader_answers_no_read_before_its_first_entry_is_committed() {
    for (switches, early) in [(&[][..], false), (&[Switch::EarlyRead], true)] {
        let config = Config { batch: 1, ..config(2, &[&[Switch::NoPreVote], switches].concat()) };
        let mut stage = Stage::<RaftLog>::alike(2, Order::Reordered, config);
        give_log(&mut stage, 1, &[1, 1]);
        stage.fire(p(1), Timer::Election);
        stage.pass((p(1), p(2)), 0);
        stage.pass((p(2), p(1)), 0);
        stage.command(p(1), Command::Read { ticket: 1 });
        // Both answer the question, one of them that it has nothing yet.
        stage.pass((p(1), p(2)), 1);
        stage.pass((p(2), p(1)), 0);
        let answered = |told: Vec<(u32, Event)>| {
            told.into_iter().any(|(_, event)| matches!(event, Event::Answered { .. }))
        };
        assert_eq!(answered(told(&mut stage)), early);
        stage.drain(&mut Dice(0));
        assert_eq!(answered(told(&mut stage)), !early);
    }
}

#[test]
fn a_crash_loses_neither_vote_nor_term_nor_entries() {
    let mut stage = led(3, &[Switch::NoPreVote]);
    append(&mut stage, 1, 1);
    stage.drain(&mut Dice(0));
    stage.crash(p(2));
    stage.recover(p(2));
    assert_eq!(terms(&stage, 2), [1, 1]);
    assert_eq!(stage.process(p(2)).expect("it is up").committed(), 0, "that it hears again");
    // It has voted for P1 in term 1, and does not vote for P3 there.
    let last = Place { index: 9, term: 1 };
    stage.inject(p(3), p(2), Message::RequestVote { term: 1, last });
    let answer = stage.queue((p(2), p(3)));
    assert_eq!(answer, [&Message::Vote { term: 1, granted: false }]);
    told(&mut stage);
    beat(&mut stage, 1);
    assert_eq!(commits(&told(&mut stage)), [(2, 1), (2, 2), (3, 2)]);
}

#[test]
fn in_any_order_with_copies_and_losses_all_logs_become_alike() {
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let mut stage = led(5, &[]);
        for ticket in 1..=20 {
            append(&mut stage, 1, ticket);
            for link in stage.busy_links() {
                match dice.below(4) {
                    0 => stage.lose(link),
                    1 => stage.duplicate(link),
                    2 => stage.deliver(link, &mut dice),
                    _ => {}
                }
            }
        }
        for _ in 0..4 {
            stage.drain(&mut dice);
            stage.fire(p(1), Timer::Heartbeat);
        }
        stage.drain(&mut dice);
        for at in 1..=5 {
            assert_eq!(terms(&stage, at), [1; 21], "P{at}, seed {seed}");
            assert_eq!(stage.process(p(at)).expect("it is up").committed(), 21);
        }
    }
}

/// 3.10.
#[test]
fn a_leader_gives_the_lead_to_whoever_has_all_of_its_log() {
    let mut stage = led(3, &[]);
    append(&mut stage, 1, 1);
    stage.command(p(1), Command::Transfer { ticket: 2, to: p(3) });
    append(&mut stage, 1, 3);
    let (reason, leader) = (Reason::HandingOver, Some(p(1)));
    assert_eq!(told(&mut stage), [(1, Event::Declined { ticket: 3, reason, leader })]);
    assert_eq!(stage.sent_of("timeout-now"), 0, "P3 lacks an entry");
    stage.drain(&mut Dice(0));
    let told = told(&mut stage);
    assert!(told.contains(&(1, Event::Acknowledged { ticket: 1, index: 2 })));
    assert!(told.contains(&(1, Event::HandedOver { ticket: 2 })));
    assert!(told.contains(&(3, Event::Leading { term: 2 })));
    assert_eq!(stage.sent_of("request-pre-vote"), 2, "only those of the first election");
}

/// 3.10: whoever is down or behind would have everybody wait.
#[test]
fn a_lead_that_anybody_may_have_goes_to_the_first_who_has_all_of_the_log() {
    let mut stage = led(5, &[]);
    stage.crash(p(2));
    append(&mut stage, 1, 1);
    stage.lose((p(1), p(3)));
    stage.drain(&mut Dice(0));
    stage.take_seen();
    stage.command(p(1), Command::HandOver { ticket: 2 });
    assert_eq!(stage.sent_of("timeout-now"), 0, "who is there has to be seen");
    stage.drain(&mut Dice(0));
    assert_eq!(stage.sent_of("timeout-now"), 1);
    let told = told(&mut stage);
    assert!(told.contains(&(1, Event::HandedOver { ticket: 2 })), "{told:?}");
    let leads = |at| told.contains(&(at, Event::Leading { term: 2 }));
    assert!(leads(4) || leads(5), "{told:?}");
}

/// Whoever is alone in its group has nobody to give the lead to; who only learns does not take it.
#[test]
fn a_lead_that_nobody_can_have_is_kept_at_once() {
    let mut stage = led(1, &[]);
    stage.command(p(1), Command::HandOver { ticket: 1 });
    let (reason, leader) = (Reason::NotTaken, Some(p(1)));
    assert_eq!(told(&mut stage), [(1, Event::Declined { ticket: 1, reason, leader })]);
    append(&mut stage, 1, 2);
    assert!(told(&mut stage).contains(&(1, Event::Acknowledged { ticket: 2, index: 2 })));
}

/// 3.10: a leader whose successor does not stand goes on.
#[test]
fn a_lead_that_nobody_takes_is_kept() {
    let mut stage = led(3, &[]);
    stage.command(p(1), Command::Transfer { ticket: 1, to: p(3) });
    stage.crash(p(3));
    stage.fire(p(1), Timer::Election);
    let (reason, leader) = (Reason::NotTaken, Some(p(1)));
    assert_eq!(told(&mut stage), [(1, Event::Declined { ticket: 1, reason, leader })]);
    append(&mut stage, 1, 2);
    stage.drain(&mut Dice(0));
    assert!(told(&mut stage).contains(&(1, Event::Acknowledged { ticket: 2, index: 2 })));
}

#[test]
fn only_what_is_new_is_saved_and_all_that_was_saved_is_what_there_is() {
    let mut stage = stage(3, &[]);
    let mut dice = Dice(7);
    let mut saved = stage.process(p(2)).expect("it is up").stable();
    for round in 0..60_u64 {
        let candidate = 1 + u32::try_from(dice.below(3)).expect("a small number");
        stage.fire(p(candidate), Timer::Election);
        stage.drain(&mut dice);
        go_on(&mut stage, &mut dice, round);
        let process = stage.process(p(2)).expect("it is up");
        if let Some(change) = process.unsaved(&saved) {
            RaftLog::amend(&mut saved, change);
        }
        assert_eq!(saved, process.stable(), "round {round}");
        assert_eq!(process.unsaved(&saved), None);
    }
}

/// What is urgent, and whole logs that are written beside it, make what there is, at any moment:
/// whoever crashes has all that it owes.
#[test]
fn a_snapshot_is_owed_to_nobody_and_is_written_beside_what_is() {
    let config = Config { trailing: 2, ..config(3, &[]) };
    let mut stage = Stage::<RaftLog>::alike(3, Order::Reordered, config);
    let mut dice = Dice(7);
    let mut saved = stage.process(p(2)).expect("it is up").stable();
    let (mut rewriting, mut lags) = (None, 0);
    for round in 0..400_u64 {
        let candidate = 1 + u32::try_from(dice.below(3)).expect("a small number");
        if dice.one_in(2) {
            stage.fire(p(candidate), Timer::Election);
            stage.drain(&mut dice);
        }
        go_on(&mut stage, &mut dice, round);
        let process = stage.process(p(2)).expect("it is up");
        if let Some(change) = process.urgent(&saved) {
            for written in rewriting.iter_mut().chain([&mut saved]) {
                RaftLog::amend(written, change.clone());
            }
        }
        assert_eq!(process.urgent(&saved), None, "round {round}");
        let with_the_rest = |written: &Stable| {
            let mut whole = written.clone();
            let rest = process.unsaved(written);
            rest.into_iter().for_each(|rest| RaftLog::amend(&mut whole, rest));
            whole
        };
        for written in rewriting.iter().chain([&saved]) {
            assert_eq!(with_the_rest(written), process.stable(), "round {round}");
        }
        lags += u32::from(saved != process.stable());
        if rewriting.is_none() && dice.one_in(4) {
            rewriting = Some(with_the_rest(&saved));
        } else if dice.one_in(4) {
            saved = rewriting.take().unwrap_or(saved);
        }
    }
    assert!((50..350).contains(&lags), "it lags in {lags} of 400 rounds");
}

/// Each is asked for an entry, at times for a snapshot, and half of what they say is lost.
fn go_on(stage: &mut Stage<RaftLog>, dice: &mut Dice, round: u64) {
    (1..=3).for_each(|at| append(stage, at, round));
    if round.is_multiple_of(5) {
        (1..=3).for_each(|at| compact(stage, at));
    }
    for link in stage.busy_links() {
        if dice.one_in(2) { stage.lose(link) } else { stage.deliver(link, dice) }
    }
}

/// A process makes a snapshot of all that its user was told.
fn compact(stage: &mut Stage<RaftLog>, at: u32) {
    let index = stage.process(p(at)).expect("it is up").committed();
    let state = Payload::from(index);
    stage.command(p(at), Command::Compact { ticket: 1000 + index, index, state });
}
