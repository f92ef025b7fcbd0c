//! A log that is asked at any process: what it adds to the log, which has tests of its own.

use tenure_algorithms::agreement::RelayedLog;
use tenure_algorithms::agreement::raft_log::{self, Timer};
use tenure_algorithms::agreement::relayed_log::Config;
use tenure_core::service::log::{self, Payload, Reason};
use tenure_core::service::relayed_log::{Command, Event, Ticket};
use tenure_core::{Algorithm, Order, Protocol, TICKS_PER_UNIT, Verdict};
use tenure_trace::{Dice, Seen, Stage};

use crate::support::p;

fn config(size: u32, life: u64) -> Config {
    Config::around(raft_log::Config::plain(size, TICKS_PER_UNIT)).of_life(life)
}

/// P1 leads, and all know.
fn led(size: u32, life: u64) -> Stage<RelayedLog> {
    let mut stage = Stage::alike(size, Order::Reordered, config(size, life));
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    beat(&mut stage);
    stage
}

fn beat(stage: &mut Stage<RelayedLog>) {
    stage.fire(p(1), Timer::Heartbeat);
    stage.drain(&mut Dice(0));
    stage.take_seen();
}

fn append(ticket: u64) -> Command {
    Command::Log(log::Command::Append { ticket, payload: Payload::from(ticket) })
}

fn read(ticket: u64) -> Command {
    Command::Log(log::Command::Read { ticket })
}

fn ask(ticket: u64) -> Command {
    Command::Ask { ticket, question: word("how long?") }
}

fn word(word: &str) -> Payload {
    Payload::new(word.as_bytes())
}

/// What the user of a process was told since the last look, but for what becomes of the log.
fn told(stage: &mut Stage<RelayedLog>, at: u32) -> Vec<Event> {
    let is_answer = |event: &Event| match event {
        Event::Log(event) => event.answers().is_some(),
        _ => true,
    };
    let seen = stage.take_seen().into_iter();
    let events = seen.filter_map(|(who, seen)| match seen {
        Seen::Event(event) if who == p(at) && is_answer(&event) => Some(event),
        _ => None,
    });
    events.collect()
}

fn declined(ticket: u64, reason: Reason, leader: Option<u32>) -> Event {
    Event::Log(log::Event::Declined { ticket, reason, leader: leader.map(p) })
}

fn unknown(ticket: u64) -> Event {
    Event::Log(log::Event::Unknown { ticket })
}

#[test]
fn an_entry_costs_two_messages_more_where_another_leads() {
    for size in 2..=7 {
        for (at, more) in [(1, 0), (2, 2)] {
            let mut stage = led(size, 0);
            let before = stage.total_sent();
            stage.command(p(at), append(1));
            stage.drain(&mut Dice(0));
            let (sent, least) = (stage.total_sent() - before, 2 * u64::from(size - 1));
            assert_eq!(RelayedLog::card(&config(size, 0), size).messages.least, least);
            assert_eq!(sent, least + more);
            beat(&mut stage);
        }
    }
}

#[test]
fn all_that_is_asked_at_once_is_answered_by_its_own_ticket() {
    let mut stage = led(3, 0);
    for at in [1, 2, 3] {
        for asked in [append(1), read(2), append(3), read(4)] {
            stage.command(p(at), asked);
        }
    }
    stage.drain(&mut Dice(7));
    // The others hear with the next messages what is committed.
    for _ in 0..2 {
        stage.fire(p(1), Timer::Heartbeat);
        stage.drain(&mut Dice(7));
    }
    let seen = stage.take_seen();
    for at in [1, 2, 3] {
        let answers = seen.iter().filter_map(|(who, seen)| match seen {
            Seen::Event(Event::Log(event)) if *who == p(at) => match event {
                log::Event::Acknowledged { ticket, .. } => Some((*ticket, true)),
                log::Event::Answered { ticket, .. } => Some((*ticket, false)),
                other => other.answers().map(|_| panic!("{other} at P{at}")),
            },
            _ => None,
        });
        let mut answers: Vec<_> = answers.collect();
        answers.sort_unstable();
        assert_eq!(answers, [(1, true), (2, false), (3, true), (4, false)], "at P{at}");
    }
}

#[test]
fn a_question_is_put_to_who_leads_and_answered_where_it_was_asked() {
    for at in [1, 2] {
        let mut stage = led(3, 4);
        stage.command(p(at), ask(9));
        stage.drain(&mut Dice(0));
        let ticket = Ticket { life: 4, number: 9 };
        let asked = Event::Asked { by: p(at), ticket, question: word("how long?") };
        assert_eq!(told(&mut stage, 1), [asked]);
        stage.command(p(1), Command::Reply { to: p(at), ticket, reply: word("for ever") });
        stage.drain(&mut Dice(0));
        let replied = Event::Replied { ticket: 9, reply: word("for ever") };
        assert_eq!(told(&mut stage, at), [replied], "at P{at}");
    }
}

/// Nobody is asked something as the leader who does not lead any more.
#[test]
fn a_question_waits_until_a_majority_has_confirmed_who_leads() {
    let mut stage = led(3, 0);
    stage.command(p(1), ask(9));
    assert_eq!(told(&mut stage, 1), []);
    for link in [(p(1), p(2)), (p(1), p(3))] {
        stage.lose(link);
    }
    // They ask first who would vote for them, and nobody would while P1 is heard.
    for at in [2, 3] {
        stage.fire(p(at), Timer::Election);
    }
    stage.drain(&mut Dice(0));
    stage.fire(p(3), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(told(&mut stage, 1), [declined(9, Reason::Deposed, None)]);
}

#[test]
fn what_was_passed_on_to_who_is_gone_is_unknown_and_a_read_had_no_effect() {
    let mut stage = led(3, 0);
    for asked in [append(1), read(2), ask(3)] {
        stage.command(p(2), asked);
    }
    stage.take_seen();
    stage.suspicion(p(2), p(3), Verdict::Suspect);
    assert_eq!(told(&mut stage, 2), [], "another is gone");
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    let read = declined(2, Reason::Deposed, Some(1));
    assert_eq!(told(&mut stage, 2), [unknown(1), read, unknown(3)]);
    stage.drain(&mut Dice(0));
    beat(&mut stage);
    assert_eq!(told(&mut stage, 2), [], "an answer that comes later is none");
}

#[test]
fn request_survives_missing_the_leader_within_a_term() {
    let mut stage = led(3, 0);
    for asked in [append(1), read(2)] {
        stage.command(p(2), asked);
    }
    stage.take_seen();
    // P2 was not scheduled, and its election timeout fires before it reads a heartbeat.
    stage.fire(p(2), Timer::Election);
    assert_eq!(told(&mut stage, 2), [declined(2, Reason::Deposed, None)], "a read is repeated");
    stage.drain(&mut Dice(0));
    stage.fire(p(1), Timer::Heartbeat);
    stage.drain(&mut Dice(0));
    let done =
        |event: &Event| matches!(event, Event::Log(log::Event::Acknowledged { ticket: 1, .. }));
    let told = told(&mut stage, 2);
    assert!(told.iter().any(done), "{told:?}");
}

#[test]
fn request_ends_with_the_term_or_a_pre_vote_without_majority() {
    let mut stage = led(3, 0);
    stage.command(p(2), append(1));
    for fires in [0, 0, 1] {
        stage.fire(p(2), Timer::Election);
        let lost = told(&mut stage, 2);
        assert_eq!(lost.len(), fires, "{lost:?}");
    }
    let mut stage = led(3, 0);
    stage.command(p(2), append(1));
    stage.lose((p(2), p(1)));
    // P3 misses the leader as P2 does, and P2 votes for it.
    for at in [2, 3, 3] {
        stage.fire(p(at), Timer::Election);
    }
    stage.drain(&mut Dice(0));
    assert_eq!(told(&mut stage, 2), [unknown(1)]);
}

#[test]
fn what_is_asked_while_nobody_leads_has_no_effect() {
    let mut stage: Stage<RelayedLog> = Stage::alike(3, Order::Reordered, config(3, 0));
    for asked in [append(1), read(2), ask(3)] {
        stage.command(p(2), asked);
    }
    let all = [1, 2, 3].map(|ticket| declined(ticket, Reason::NotLeading, None));
    assert_eq!(told(&mut stage, 2), all);
    assert_eq!(stage.total_sent(), 0);
}

/// Who comes back is not told what it had asked in an earlier life, under whatever number.
#[test]
fn an_answer_is_of_one_life_and_of_who_was_asked() {
    let reply = |life| {
        let ticket = Ticket { life, number: 9 };
        Command::Reply { to: p(2), ticket, reply: word("for ever") }
    };
    let mut stage = led(3, 5);
    stage.command(p(2), ask(9));
    for (from, life, is_told) in [(1, 4, false), (3, 5, false), (1, 5, true), (1, 5, false)] {
        stage.command(p(from), reply(life));
        let link = (p(from), p(2));
        let last = stage.queue(link).len() - 1;
        stage.pass(link, last);
        assert_eq!(!told(&mut stage, 2).is_empty(), is_told, "from P{from} in life {life}");
    }
}

#[test]
fn what_is_told_reaches_whom_it_is_for() {
    let mut stage = led(3, 0);
    let whom = [p(2), p(3)].into_iter().collect();
    stage.command(p(1), Command::Tell { whom, what: word("so long") });
    stage.drain(&mut Dice(0));
    let seen = stage.take_seen();
    let heard = seen.iter().filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Told { what }) => Some((at.number(), what.clone())),
        _ => None,
    });
    let mut heard: Vec<_> = heard.collect();
    heard.sort_unstable();
    assert_eq!(heard, [(2, word("so long")), (3, word("so long"))]);
}

#[test]
fn what_is_asked_and_told_waits_for_no_disk_and_what_is_answered_does() {
    let mut stage = led(3, 0);
    let (whom, what) = ([p(1)].into_iter().collect(), word("so long"));
    let ticket = Ticket { life: 0, number: 1 };
    let answer = Command::Reply { to: p(1), ticket, reply: word("for ever") };
    let sends = [ask(1), Command::Tell { whom, what }, answer].map(|command| {
        stage.command(p(2), command);
        let link = (p(2), p(1));
        RelayedLog::rests_on_saves(stage.queue(link).last().expect("it is sent"))
    });
    assert_eq!(sends, [false, false, true]);
}
