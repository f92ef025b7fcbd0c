use tenure_core::service::commit::{self, TransactionId};
use tenure_core::service::leader_tree::{self, WaveId};
use tenure_core::service::{clock_synchronisation, replicated_list, with_election};
use tenure_core::{ProcessId, Term};
use tenure_trace::{RecordKind, Service, ServiceEvent};

use super::story::Story;

/// Returns the verdicts on a trace with these events. P1 emits the first event, P2 the second
/// event, and so on. Asserts that the verdicts stay the same if the application is combined with an
/// election.
fn verdicts<E: ServiceEvent + Clone>(events: &[E]) -> String {
    let tell = |kind_of: &dyn Fn(&E) -> RecordKind| {
        let story = events
            .iter()
            .zip(1..)
            .fold(Story::of(Service::Other), |story, (event, at)| story.at(at, kind_of(event)));
        story.verdicts()
    };
    let alone = tell(&|event| RecordKind::Event(event.to_recorded()));
    let led = tell(&|event| {
        RecordKind::Event(with_election::Event::Application(event.clone()).to_recorded())
    });
    assert_eq!(alone, led);
    alone
}

fn term(number: u64) -> Term {
    Term { number, leader: ProcessId(0) }
}

#[test]
fn finds_lost_write() {
    let acknowledged = replicated_list::Event::Acknowledged { term: term(1), place: 1, value: 7 };
    let serving = |writes| replicated_list::Event::Serving { term: term(2), writes };
    assert_eq!(verdicts(&[acknowledged.clone(), serving(vec![7])]), "durability holds");
    assert_eq!(verdicts(&[acknowledged, serving(vec![])]), "durability violated");
}

#[test]
fn finds_transaction_both_committed_and_aborted() {
    let transaction = TransactionId { term: term(1), number: 1 };
    let (yes, no) =
        (commit::Event::Committed { transaction }, commit::Event::Aborted { transaction });
    let prepared = commit::Event::Prepared { transaction };
    assert_eq!(verdicts(&[prepared, yes, yes]), "atomicity holds");
    assert_eq!(verdicts(&[prepared, yes, no]), "atomicity violated");
    assert_eq!(verdicts(&[commit::Event::Refused]), "atomicity holds");
}

#[test]
fn finds_cycle_in_tree() {
    let wave = WaveId { term: term(1), number: 1 };
    let joined =
        |parent: Option<u32>| leader_tree::Event::Joined { wave, parent: parent.map(ProcessId) };
    assert_eq!(verdicts(&[joined(None), joined(Some(0)), joined(Some(1))]), "one-tree holds");
    assert_eq!(verdicts(&[joined(None), joined(Some(2)), joined(Some(1))]), "one-tree violated");
}

#[test]
fn clock_readings_are_never_violations() {
    assert_eq!(verdicts(&[clock_synchronisation::Event::Shows { time: -3 }]), "");
}
