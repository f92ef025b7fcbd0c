//! Schedules of recorded runs, and their extension.

use tenure_core::{ChannelOrder, ProcessId, TICKS_PER_TIME_UNIT};
use tenure_trace::{
    ActionError, Header, MessageRecord, RandomChoice, Record, RecordKind, RecordSubject, Schedule,
    ScriptAction, ScriptRunner, Service, TestCluster, Trace, TraceProducer,
};

use crate::kinds::{P1, P2, P3, enter};
use crate::tiny::{Message, Tiny};

fn trace(repeats: u32, records: impl IntoIterator<Item = (RecordSubject, RecordKind)>) -> Trace {
    let header =
        Header { repeats, ..Header::new("tiny", Service::Mutex, 3, TraceProducer::Simulator) };
    let record = |(place, (who, kind)): (usize, (RecordSubject, RecordKind))| {
        Record::new(place as u64 * TICKS_PER_TIME_UNIT, who, kind)
    };
    let records = records.into_iter().enumerate().map(record).collect();
    Trace { header, records, torn: None }
}

fn of(who: ProcessId, kind: RecordKind) -> (RecordSubject, RecordKind) {
    (who.into(), kind)
}

fn request(peer: ProcessId) -> MessageRecord {
    MessageRecord::new(&Message::Request, peer, 0, 1)
}

fn actions(words: &[&str]) -> Vec<ScriptAction> {
    words.iter().map(|word| word.parse().expect("an action")).collect()
}

/// A boot and a crash at the same time mean that the process is down from the start. This crash is
/// not a step of the schedule.
#[test]
fn crash_in_boot_means_down_from_start() {
    let records = [
        of(P1, RecordKind::Boot),
        of(P2, RecordKind::Boot),
        of(P2, RecordKind::Crash),
        of(P1, enter()),
    ];
    let mut run = trace(0, records);
    let schedule = |run: &Trace| Schedule::from_trace(run).expect("a schedule");
    let crashes = actions(&["crash p2", "enter p1"]);
    assert_eq!((schedule(&run).down_at_start, schedule(&run).actions), (vec![P3], crashes.clone()));
    run.header.source = TraceProducer::Checker;
    assert_eq!((schedule(&run).down_at_start, schedule(&run).actions), (vec![P3], crashes));
    run.records[..3].iter_mut().for_each(|record| record.time = 0);
    for source in [TraceProducer::Checker, TraceProducer::Simulator] {
        run.header.source = source;
        let (down, requested) = (vec![P3, P2], actions(&["enter p1"]));
        assert_eq!((schedule(&run).down_at_start, schedule(&run).actions), (down, requested));
    }
}

/// If a process sent a message at its boot, the process was up from the start. Therefore its later
/// crash is a step of the schedule.
#[test]
fn process_that_sends_at_boot_was_up() {
    let records = [
        of(P1, RecordKind::Boot),
        of(P2, RecordKind::Boot),
        of(P3, RecordKind::Boot),
        of(P2, RecordKind::Send(request(P1))),
        of(P2, RecordKind::Crash),
        of(P2, RecordKind::Recover),
        of(P1, RecordKind::Receive(request(P2))),
    ];
    let schedule = Schedule::from_trace(&trace(0, records.clone())).expect("a schedule");
    assert_eq!(schedule.down_at_start, []);
    assert_eq!(schedule.actions, actions(&["crash p2", "recover p2", "deliver p2→p1"]));
    // Number of steps begun before each record.
    let records = trace(0, records).records;
    let done = |end: usize| schedule.begun_step_count(&records[..end]);
    assert_eq!([4, 5, 6, 7].map(done), [0, 1, 2, 3]);
}

/// A schedule sets each drawn random number before the step that draws it. It omits the numbers
/// that a process draws at its first boot.
#[test]
fn drawn_values_precede_their_step() {
    let drew = |value| of(P1, RecordKind::Choice(RandomChoice { value, bound: 9 }));
    let records = [
        of(P1, RecordKind::Boot),
        drew(7),
        of(P2, RecordKind::Boot),
        of(P3, RecordKind::Boot),
        of(P1, enter()),
        drew(3),
        drew(0),
        of(P1, RecordKind::Send(request(P2))),
        of(P2, RecordKind::Receive(request(P1))),
    ];
    let schedule = Schedule::from_trace(&trace(1, records)).expect("a schedule");
    let said = ["choose p1 3", "choose p1 0", "enter p1", "deliver p1→p2"];
    assert_eq!(schedule.actions, actions(&said));
    assert_eq!((schedule.step_count(), schedule.cycle_length), (2, 1));
}

#[test]
fn partition_holds_messages_until_it_heals() {
    let sides = vec![vec![P1], vec![P2, P3]];
    let records = [
        of(P1, RecordKind::Boot),
        of(P2, RecordKind::Boot),
        of(P3, RecordKind::Boot),
        (RecordSubject::Parent, RecordKind::Partition(sides)),
        of(P2, enter()),
        of(P2, RecordKind::Send(request(P1))),
    ];
    let schedule = Schedule::from_trace(&trace(0, records)).expect("a schedule");
    assert_eq!(schedule.actions, actions(&["split p1 | p2 p3", "enter p2"]));
    assert_eq!(schedule.extended::<Tiny>(|_| 0, 0).expect("the same").actions, schedule.actions);
    let mut cluster = TestCluster::<Tiny>::new(3, ChannelOrder::Fifo, |_| 0);
    ScriptRunner::replay::<std::convert::Infallible>(&mut cluster, &schedule)
        .expect("it is possible");
    let deliver = &actions(&["deliver p2→p1"])[0];
    assert_eq!(cluster.perform(deliver), Err(ActionError::NotPossible(deliver.clone())));
    cluster.perform(&ScriptAction::Heal).expect("it heals");
    assert_eq!(cluster.perform(deliver), Ok(()));
}

#[test]
fn final_cycle_repeats_within_step_limit() {
    let boots = [P1, P2, P3].map(|at| of(at, RecordKind::Boot));
    let begins = [
        of(P2, enter()),
        of(P2, RecordKind::Send(request(P1))),
        of(P2, RecordKind::Drop(request(P1))),
    ];
    let second = MessageRecord { number: 2, ..request(P1) };
    let circle = [
        of(P2, RecordKind::Timer("AskAgain".into())),
        of(P2, RecordKind::Send(second.clone())),
        of(P2, RecordKind::Drop(second)),
    ];
    let records = boots.into_iter().chain(begins).chain(circle);
    let schedule = Schedule::from_trace(&trace(2, records)).expect("a schedule");
    assert_eq!((schedule.actions.len(), schedule.cycle_length), (4, 2));
    let carried = schedule.extended::<Tiny>(|_| 0, 6).expect("it goes round").actions;
    assert_eq!(carried.len(), 4 + 6);
    assert!(carried[2..].chunks(2).all(|round| round == &schedule.actions[2..]), "{carried:?}");
}
