//! Many locks by name.

use tenure_algorithms::compose::keyed::{Name, NameError};
use tenure_algorithms::compose::{Coordinated, Keyed};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{Central, central};
use tenure_claims::claims;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::service::{election, office};
use tenure_core::{Of, Order, ProcessId, TICKS_PER_UNIT, Verdict};

use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

type Locks = Keyed<Name, Central>;

fn stage(coordinator: ProcessId) -> Stage<Locks> {
    let config = central::Config { coordinator, ..central::Config::default() };
    Stage::alike(3, Order::Reordered, config)
}

fn ask(stage: &mut Stage<Locks>, at: u32, key: &str, command: Command) {
    stage.command(p(at), Of { key: Name::new(key).unwrap(), inner: command });
    stage.drain(&mut Dice(0));
}

/// Who has entered which lock since this was last asked.
fn entered(stage: &mut Stage<Locks>) -> Vec<(u32, String)> {
    let seen = stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(Of { key, inner: Event::Entered { .. } }) => Some((at.number(), key.into())),
        _ => None,
    });
    seen.collect()
}

#[test]
fn locks_of_different_names_know_nothing_of_each_other() {
    let mut stage = stage(p(1));
    for (at, key) in [(1, "büro"), (2, "办公室"), (3, "🔒")] {
        ask(&mut stage, at, key, Command::Enter);
        assert_eq!(entered(&mut stage), [(at, key.to_string())]);
    }
    ask(&mut stage, 2, "büro", Command::Enter);
    assert!(entered(&mut stage).is_empty());
    ask(&mut stage, 1, "büro", Command::Exit);
    assert_eq!(entered(&mut stage), [(2, "büro".to_string())]);
}

/// Both are written é: as one letter, and as an e with an accent.
#[test]
fn names_that_only_look_alike_are_different_locks() {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    let mut stage = stage(p(1));
    for (at, key) in [(2, composed), (3, decomposed), (1, "CAF\u{c9}")] {
        ask(&mut stage, at, key, Command::Enter);
        assert_eq!(entered(&mut stage), [(at, key.to_string())]);
    }
    ask(&mut stage, 3, composed, Command::Enter);
    assert!(entered(&mut stage).is_empty());
}

#[test]
fn an_empty_name_and_one_that_is_too_long_are_refused_with_a_sentence() {
    let empty = Name::new("").unwrap_err();
    assert_eq!(empty, NameError::Empty);
    assert_eq!(empty.to_string(), "the name of a lock is empty; give it at least a letter");
    // Bytes count, and not letters: 85 of three bytes each are the most.
    let longest = "办".repeat(85);
    assert_eq!(Name::new(&longest).unwrap().as_str(), longest);
    assert_eq!(format!("{:?}", Name::new("büro").unwrap()), "\"büro\"");
    let long = Name::new(&(longest + "!")).unwrap_err();
    assert_eq!(long, NameError::TooLong { bytes: 256 });
    assert_eq!(long.to_string(), "the name of a lock has 256 bytes; 255 are the most");
}

#[claims("I-31")]
#[test]
fn two_locks_taken_in_opposite_order_wait_for_each_other() {
    let mut stage = stage(p(3));
    ask(&mut stage, 1, "a", Command::Enter);
    ask(&mut stage, 2, "b", Command::Enter);
    assert_eq!(entered(&mut stage).len(), 2);
    ask(&mut stage, 1, "b", Command::Enter);
    ask(&mut stage, 2, "a", Command::Enter);
    assert_eq!((entered(&mut stage), stage.busy_links()), (vec![], vec![]));
}

#[test]
fn what_locks_remember_survives_a_crash_by_name() {
    let config = bully::Config::plain(2, TICKS_PER_UNIT).into();
    let mut stage = Stage::<Keyed<u8, Coordinated<Bully>>>::alike(2, Order::Fifo, config);
    for key in [7, 9] {
        let inner = office::Command::Election(election::Command::Elect);
        stage.command(p(2), Of { key, inner });
    }
    stage.settle();
    stage.crash(p(2));
    stage.recover(p(2));
    stage.settle();
    let told = format!("{:?}", stage.take_seen());
    for key in [7, 9] {
        let again = format!(
            "Of {{ key: {key}, inner: Election(Elected {{ leader: P2, \
                             term: Term {{ number: 2, leader: P2 }} }}) }}"
        );
        assert!(told.contains(&again), "{told}");
    }
}

#[test]
fn a_lock_that_is_first_heard_of_later_is_told_whom_we_suspect() {
    let config = bully::Config::plain(3, TICKS_PER_UNIT).into();
    let mut stage = Stage::<Keyed<u8, Coordinated<Bully>>>::alike(3, Order::Fifo, config);
    stage.crash(p(1));
    stage.suspicion(p(3), p(1), Verdict::Suspect);
    let inner = office::Command::Mutex(Command::Enter);
    stage.command(p(3), Of { key: 7, inner });
    stage.settle();
    let told = format!("{:?}", stage.take_seen());
    assert!(told.contains("Entered"), "P3 leads and waits for P2's report only: {told}");
}
