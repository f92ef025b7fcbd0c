//! Chapter 5: how a log stays short.

use std::num::NonZeroU64;

use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{Config, Message, Piece, Place, Switch, Timer};
use tenure_core::service::log::{Command, Event, Members, Payload, Reason};
use tenure_core::{Order, ProcessSet};
use tenure_trace::{Dice, Stage};

use super::{append, beat, commits, config, give_log, lose_all, of_terms, stage, terms, told};
use crate::support::p;

/// P1 leads two others, of whom P3 hears nothing; three more entries are committed, and compacted.
fn compacted(switches: &[Switch], piece: usize) -> Stage<RaftLog> {
    let config = Config { trailing: 0, piece, ..config(3, switches) };
    let mut stage = Stage::<RaftLog>::alike(3, Order::Reordered, config);
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    for ticket in 1..=3 {
        append(&mut stage, 1, ticket);
        lose_all(&mut stage, 1, 3);
        stage.drain(&mut Dice(0));
    }
    stage.command(p(1), Command::Compact { ticket: 9, index: 4, state: Payload::new(*b"1,2,3") });
    assert!(told(&mut stage).contains(&(1, Event::Compacted { ticket: 9, index: 4 })));
    stage
}

/// Whoever compacts late is told at the next multiple all the same: processes stay apart.
#[test]
fn each_process_is_told_at_entries_of_its_own_that_a_snapshot_is_needed() {
    let mut stage = Stage::<RaftLog>::new(3, Order::Reordered, |group| Config {
        snapshot_after: NonZeroU64::new(6),
        snapshot_sooner: 2 * u64::from(group.me().0),
        ..config(3, &[])
    });
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    let mut needed = vec![];
    for ticket in 1..=13 {
        append(&mut stage, 1, ticket);
        stage.drain(&mut Dice(0));
        beat(&mut stage, 1);
        needed.extend(told(&mut stage).into_iter().filter_map(|(at, event)| match event {
            Event::SnapshotNeeded { index } => Some((at, index)),
            _ => None,
        }));
        if ticket == 7 {
            let state = Payload::from(7);
            stage.command(p(1), Command::Compact { ticket: 100, index: 7, state });
        }
    }
    needed.sort_unstable();
    let expected = [(1, 6), (1, 12), (2, 4), (2, 10), (3, 2), (3, 8), (3, 14)];
    assert_eq!(needed, expected);
}

/// Chapter 5.
#[test]
fn a_snapshot_stands_for_the_head_of_the_log_and_only_for_what_is_committed() {
    let mut stage = compacted(&[], 2);
    assert!(terms(&stage, 1).is_empty());
    append(&mut stage, 1, 4);
    let compact = |ticket, index| Command::Compact { ticket, index, state: Payload::from(7) };
    for (ticket, index) in [(10, 5), (11, 4), (12, 3)] {
        stage.command(p(1), compact(ticket, index));
        let (reason, leader) = (Reason::NotThere, Some(p(1)));
        assert_eq!(told(&mut stage), [(1, Event::Declined { ticket, reason, leader })]);
    }
    // What it has told of survives a crash, and its user begins with the snapshot.
    stage.crash(p(1));
    stage.recover(p(1));
    let events = told(&mut stage);
    let Some((1, Event::Restored { index: 4, term: 1, members, state })) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!((&**members, state.bytes()), (&Members::of(ProcessSet::first(3)), &b"1,2,3"[..]));
    assert_eq!(
        (terms(&stage, 1), stage.process(p(1)).expect("it is up").committed()),
        (vec![1], 4)
    );
}

#[test]
fn who_lacks_the_head_is_sent_a_snapshot_in_pieces_and_a_lost_piece_again() {
    let mut stage = compacted(&[], 2);
    // The heartbeat is rejected, and the first piece goes out; it is lost.
    stage.fire(p(1), Timer::Heartbeat);
    stage.pass((p(1), p(3)), 0);
    stage.pass((p(3), p(1)), 0);
    assert_eq!(stage.sent_of("piece"), 1);
    lose_all(&mut stage, 1, 3);
    // The next heartbeat asks, and what was there is not sent again.
    beat(&mut stage, 1);
    assert_eq!(stage.sent_of("piece"), 1 + 1 + 3, "a question, and three pieces of two bytes");
    let events = told(&mut stage);
    let restored = events.iter().find_map(|event| match event {
        (3, Event::Restored { index, state, .. }) => Some((*index, state.clone())),
        _ => None,
    });
    assert_eq!(restored, Some((4, Payload::new(*b"1,2,3"))));
    append(&mut stage, 1, 4);
    stage.drain(&mut Dice(0));
    beat(&mut stage, 1);
    assert!(commits(&told(&mut stage)).contains(&(3, 5)), "and goes on behind it");
    assert_eq!(terms(&stage, 3), [1]);
}

#[test]
fn a_process_that_crashed_is_sent_the_snapshot_from_where_it_is() {
    let mut stage = compacted(&[], 2);
    stage.fire(p(1), Timer::Heartbeat);
    for _ in 0..2 {
        stage.pass((p(1), p(3)), 0);
        stage.pass((p(3), p(1)), 0);
    }
    stage.crash(p(3));
    stage.recover(p(3));
    stage.drain(&mut Dice(0));
    told(&mut stage);
    beat(&mut stage, 1);
    let is_restored =
        |(at, event): &(u32, Event)| *at == 3 && matches!(event, Event::Restored { .. });
    assert_eq!(told(&mut stage).iter().filter(|event| is_restored(event)).count(), 1);
}

/// What comes behind the last entry of a snapshot was answered for, and counted.
#[test]
fn a_snapshot_leaves_what_agrees_with_it() {
    for (switches, kept) in [(&[][..], 5), (&[Switch::SnapshotCutsTail], 4)] {
        let mut stage = stage(3, switches);
        give_log(&mut stage, 3, &[1, 1, 1, 1, 1]);
        let members = Members::of(ProcessSet::first(3));
        let (last, bytes) = (Place { index: 4, term: 1 }, Payload::new(*b"late"));
        let piece = Box::new(Piece { last, members, offset: 0, bytes, size: 4 });
        stage.inject(p(1), p(3), Message::Piece { term: 1, round: 0, known: 0, piece });
        let log = stage.process(p(3)).expect("it is up").log();
        assert_eq!(log.last().index, kept, "{switches:?}");
    }
    // Another history is given up.
    let mut stage = stage(3, &[]);
    give_log(&mut stage, 3, &[1, 1, 2, 2, 2]);
    let members = Members::of(ProcessSet::first(3));
    let last = Place { index: 4, term: 3 };
    let piece = Box::new(Piece { last, members, offset: 0, bytes: Payload::new(*b""), size: 0 });
    stage.inject(p(1), p(3), Message::Piece { term: 3, round: 0, known: 0, piece });
    let log = stage.process(p(3)).expect("it is up").log();
    assert_eq!((log.base(), log.last()), (last, last));
}

#[test]
fn late_entries_that_a_snapshot_stands_for_are_passed_over() {
    let mut stage = compacted(&[], 2);
    stage.crash(p(1));
    stage.recover(p(1));
    let behind = Place { index: 2, term: 1 };
    let entries = of_terms(&[1, 1, 2]);
    stage.inject(
        p(2),
        p(1),
        Message::Append { term: 2, behind, entries, commit: 0, round: 0, known: 0 },
    );
    assert_eq!(terms(&stage, 1), [2]);
    let answer = stage.queue((p(1), p(2)));
    assert_eq!(answer, [&Message::Appended { term: 2, matched: 5, round: 0 }]);
}
