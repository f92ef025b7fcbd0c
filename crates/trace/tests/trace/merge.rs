//! Merging of the traces of one run into one causally consistent order.

use tenure_core::ProcessId;
use tenure_trace::{
    ClockUnit, Header, MergeError, MessageRecord, Record, RecordKind, RecordSubject, Service,
    Trace, TraceProducer, Writer, merge, merge_files_for_verification,
};

use crate::kinds::{P1, P2, P3, enter, message};

fn trace(source: TraceProducer, records: Vec<Record>) -> Trace {
    let header = Header {
        clock: ClockUnit::Nanosecond,
        ..Header::new("central", Service::Mutex, 3, source)
    };
    let numbered = (1..).zip(records).map(|(sequence, record)| Record { sequence, ..record });
    Trace { header, records: numbered.collect(), torn: None }
}

fn node(records: Vec<Record>) -> Trace {
    trace(TraceProducer::Node, records)
}

fn at(time: u64, process: ProcessId) -> Record {
    Record::new(time, process, enter()).in_session(1)
}

fn request(peer: ProcessId, number: u64) -> MessageRecord {
    MessageRecord { session: 1, ..message(peer, "request", number) }
}

fn send(time: u64, from: ProcessId, to: ProcessId, number: u64) -> Record {
    Record::new(time, from, RecordKind::Send(request(to, number))).in_session(1)
}

fn receive(time: u64, to: ProcessId, from: ProcessId, number: u64) -> Record {
    Record::new(time, to, RecordKind::Receive(request(from, number))).in_session(1)
}

fn times(merged: &[Record]) -> Vec<u64> {
    merged.iter().map(|record| record.time).collect()
}

#[test]
fn merges_by_time_then_process_without_messages() {
    let traces = vec![
        node(vec![at(1, P2), at(5, P2)]),
        node(vec![at(2, P1), at(5, P1)]),
        trace(TraceProducer::Parent, vec![Record::new(3, RecordSubject::Parent, RecordKind::End)]),
    ];
    let merged = merge(traces).unwrap();
    assert_eq!(times(&merged.records), [1, 2, 3, 5, 5]);
    assert_eq!(merged.records[3].process, RecordSubject::Process(P1));
}

#[test]
fn run_ends_at_the_first_end_of_the_parent() {
    let parent =
        trace(TraceProducer::Parent, vec![Record::new(3, RecordSubject::Parent, RecordKind::End)]);
    let stops = |time| Record::new(time, P1, RecordKind::End).in_session(1);
    let merged = merge(vec![node(vec![at(1, P1), stops(5)]), parent]).unwrap();
    let (records, ended) = merged.records_until_run_end();
    assert_eq!((times(records), ended), (vec![1, 3], true));
    let merged = merge(vec![node(vec![at(1, P1), stops(5)])]).unwrap();
    let (records, ended) = merged.records_until_run_end();
    assert_eq!((times(records), ended), (vec![1, 5], false), "a process has ended, not the run");
}

#[test]
fn keeps_file_order_against_its_clock() {
    let merged = merge(vec![node(vec![at(9, P1), at(4, P1)]), node(vec![at(5, P2)])]).unwrap();
    assert_eq!(times(&merged.records), [5, 9, 4]);
}

#[test]
fn message_is_sent_before_it_is_received() {
    let traces = vec![
        node(vec![receive(1, P1, P2, 1), send(2, P1, P3, 1)]),
        node(vec![send(10, P2, P1, 1)]),
        node(vec![receive(3, P3, P1, 1), at(4, P3)]),
    ];
    let merged = merge(traces).unwrap();
    assert_eq!(times(&merged.records), [10, 1, 2, 3, 4]);
    assert_eq!((merged.unmatched, merged.contradictions), (0, 0));
}

#[test]
fn distinguishes_messages_by_session_and_receiver() {
    let other = Record { session: 2, ..send(10, P2, P1, 1) };
    let traces = vec![node(vec![receive(1, P1, P2, 1)]), node(vec![other, send(11, P2, P3, 1)])];
    let merged = merge(traces).unwrap();
    assert_eq!(times(&merged.records), [1, 10, 11]);
    assert_eq!(merged.unmatched, 1);
}

#[test]
fn unmatched_receipt_is_counted_without_blocking() {
    let traces = vec![
        node(vec![at(1, P1)]),
        node(vec![receive(2, P2, P1, 7), send(3, P2, P3, 1)]),
        node(vec![receive(4, P3, P2, 1), at(9, P3)]),
    ];
    let merged = merge(traces).unwrap();
    assert_eq!(times(&merged.records), [1, 2, 3, 4, 9]);
    assert_eq!((merged.unmatched, merged.contradictions), (1, 0));
}

#[test]
fn merges_duplicate_receipts() {
    let twice = vec![receive(1, P1, P2, 1), receive(2, P1, P2, 1)];
    let merged = merge(vec![node(twice), node(vec![send(5, P2, P1, 1)])]).unwrap();
    assert_eq!(times(&merged.records), [5, 1, 2]);
    assert_eq!(merged.unmatched, 0);
}

#[test]
fn contradictory_traces_are_merged_by_time() {
    let traces = vec![
        node(vec![receive(1, P1, P2, 1), send(2, P1, P2, 1)]),
        node(vec![receive(3, P2, P1, 1), send(4, P2, P1, 1)]),
    ];
    let merged = merge(traces).unwrap();
    assert_eq!(times(&merged.records), [1, 2, 3, 4]);
    assert_eq!(merged.contradictions, 1);
}

#[test]
fn crash_comes_between_sessions() {
    let crash = Record::new(5, P1, RecordKind::Crash).in_session(1);
    let boot = Record::new(6, P1, RecordKind::Boot).in_session(2);
    let traces = vec![node(vec![at(4, P1), at(7, P1)]), trace(TraceProducer::Parent, vec![crash])];
    assert_eq!(times(&merge(traces.clone()).unwrap().records), [4, 7, 5]);
    let again = node(vec![boot, Record { session: 2, ..at(8, P1) }]);
    let all = [traces, vec![again]].concat();
    assert_eq!(times(&merge(all).unwrap().records), [4, 7, 5, 6, 8]);
}

#[test]
fn rejects_traces_of_different_runs() {
    let other = |change: fn(&mut Header)| {
        let mut other = node(vec![]);
        change(&mut other.header);
        merge(vec![node(vec![]), other]).unwrap_err().to_string()
    };
    assert!(other(|header| header.n = 5).ends_with("groups of 3 and of 5"));
    assert!(other(|header| header.algorithm = "lamport".into()).ends_with("central and lamport"));
    assert!(other(|header| header.clock = ClockUnit::Tick).ends_with("virtual and real time"));
    assert!(matches!(merge(vec![]), Err(MergeError::NoTrace)));
}

#[test]
fn rejects_different_options_but_not_node_seeds() {
    let made = |source: TraceProducer, seed: u64, replay: &str| {
        let mut made = trace(source, vec![]);
        (made.header.seed, made.header.replay) = (Some(seed), Some(replay.into()));
        made
    };
    let description = |one, other| merge(vec![one, other]).unwrap_err().to_string();
    let simulated = made(TraceProducer::Simulator, 1, "a");
    let other_seed = made(TraceProducer::Simulator, 2, "b");
    assert!(description(simulated.clone(), other_seed).ends_with("seeds 1 and 2"));
    let other_command = made(TraceProducer::Simulator, 1, "b");
    assert!(description(simulated, other_command).ends_with("`a` and `b`"));
    let nodes = vec![made(TraceProducer::Node, 1, "a"), made(TraceProducer::Node, 2, "b")];
    let run =
        [nodes, vec![made(TraceProducer::Parent, 3, "c"), made(TraceProducer::Resource, 3, "c")]]
            .concat();
    assert!(merge(run).is_ok());
}

#[test]
fn rejects_duplicate_trace() {
    let one = node(vec![at(1, P1), at(2, P1)]);
    let copy = node(vec![at(1, P1)]);
    let twice = merge(vec![one.clone(), node(vec![at(1, P2)]), copy]).unwrap_err();
    assert!(twice.to_string().ends_with("`P1 asks to enter`"), "{twice}");
    let told_by_both = trace(TraceProducer::Parent, vec![at(1, P1)]);
    assert_eq!(times(&merge(vec![one, told_by_both]).unwrap().records), [1, 1, 2]);
}

#[test]
fn rejects_second_boot_of_same_session() {
    let boot =
        |time, session| node(vec![Record::new(time, P1, RecordKind::Boot).in_session(session)]);
    let description = merge(vec![boot(1, 1), boot(9, 1)]).unwrap_err().to_string();
    assert!(
        description.ends_with("belong to different runs: P1 boots in session 1 of two"),
        "{description}"
    );
    assert!(merge(vec![boot(1, 1), boot(9, 2)]).is_ok());
}

#[test]
fn rejects_duplicate_file_and_reads_single_one_fully() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p1.ndjson");
    let Trace { header, records, .. } = node(vec![at(1, P1), at(2, P1)]);
    let mut writer = Writer::create(&path, &header).unwrap();
    for record in records {
        writer.write(record).unwrap();
    }
    writer.flush().unwrap();
    assert_eq!(times(&merge_files_for_verification([&path]).unwrap().records), [1, 2]);
    assert!(matches!(
        merge_files_for_verification([&path, &path]),
        Err(MergeError::DuplicateTrace { .. })
    ));
}

#[test]
fn resource_trace_may_differ_in_algorithm() {
    let mut resource = trace(TraceProducer::Resource, vec![]);
    resource.header.algorithm = String::new();
    resource.header.fenced = false;
    let merged = merge(vec![resource, node(vec![])]).unwrap();
    assert_eq!(merged.header.algorithm, "central");
    assert!(!merged.header.fenced);
}
