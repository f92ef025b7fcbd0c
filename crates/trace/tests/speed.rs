//! Measurement of the performance with a trace of a million events.
//!
//! Run it with `cargo test --release -p tenure-trace --test speed -- --ignored --nocapture`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Fence, Layer, ProcessId};
use tenure_trace::diagram::{
    DiagramClock, DiagramOptions, TimeDirection, TraceWindow, lay_out_files,
};
use tenure_trace::{
    Header, Judgement, MessageRecord, Record, RecordKind, Service, TraceProducer, Verification,
    Writer, verify_files,
};

const PROCESSES: u32 = 5;
const EVENTS: u64 = 1_000_000;

/// Passes the records of a million events to `write`. The processes enter in turn. Before an entry,
/// the process sends requests to all others and receives their replies.
fn record_all(mut write: impl FnMut(ProcessId, Record)) {
    let mut time = 0;
    let mut note = |at: ProcessId, kind| {
        time += 1_000;
        write(at, Record::new(time, at, kind).in_session(1));
    };
    let message_record = |peer, message: &'static str, number| MessageRecord {
        peer,
        layer: Layer::Mutex,
        message: message.into(),
        number,
        session: 1,
        content: None,
    };
    let per_entry = u64::from(PROCESSES - 1) * 4 + 4;
    for entry in 1..=EVENTS / per_entry {
        let me = ProcessId(u32::try_from(entry).unwrap() % PROCESSES);
        let peers = (0..PROCESSES).map(ProcessId).filter(|peer| *peer != me);
        note(me, RecordKind::Command(Command::Enter.into()));
        for peer in peers {
            note(me, RecordKind::Send(message_record(peer, "request", entry)));
            note(peer, RecordKind::Receive(message_record(me, "request", entry)));
            note(peer, RecordKind::Send(message_record(me, "reply", entry)));
            note(me, RecordKind::Receive(message_record(peer, "reply", entry)));
        }
        note(me, RecordKind::Event(Event::Entered { fence: Fence(entry, 0) }.into()));
        note(me, RecordKind::Command(Command::Exit.into()));
        note(me, RecordKind::Event(Event::Exited.into()));
    }
}

fn verified(what: &str, paths: &[PathBuf]) -> Verification {
    let started = Instant::now();
    let verified = verify_files(paths).unwrap();
    let took = started.elapsed();
    eprintln!("{what}: {} records read and verified in {took:.2?}", verified.records);
    assert_eq!(verified.verdict, Judgement::Holds);
    assert_eq!(verified.records, EVENTS);
    assert!(took.as_secs() < 10, "{took:?}");
    verified
}

/// Draws a window at the end of the run, and returns the SVG. The clocks in the window depend on
/// all earlier records.
fn windowed(what: &str, paths: &[PathBuf]) -> String {
    let started = Instant::now();
    let window = TraceWindow { record_numbers: Some(900_001..=900_400), ..TraceWindow::default() };
    let view = DiagramOptions { window, clock: DiagramClock::Vector, ..DiagramOptions::default() };
    let layout = lay_out_files(paths, view).unwrap();
    let svg = layout.to_svg(TimeDirection::Right);
    let took = started.elapsed();
    eprintln!("{what}: 400 of {} records drawn in {took:.2?}", layout.record_count);
    assert_eq!((layout.record_count, layout.shown_records), (EVENTS, Some((900_001, 900_400))));
    assert!(took.as_secs() < 10, "{took:?}");
    svg
}

fn writer(path: &Path, source: TraceProducer) -> Writer {
    let header = Header::new("ricart-agrawala", Service::Mutex, PROCESSES, source);
    Writer::create(path, &header).unwrap()
}

#[test]
#[ignore = "a measurement, meant for release builds"]
fn verifies_million_events_and_draws_window_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("all.ndjson");
    let mut all = writer(&one, TraceProducer::Simulator);
    let started = Instant::now();
    record_all(|_, record| {
        all.write(record).unwrap();
    });
    drop(all);
    eprintln!("written in {:.2?}", started.elapsed());
    let paths: Vec<_> =
        (1..=PROCESSES).map(|p| folder.path().join(format!("p{p}.ndjson"))).collect();
    let mut each: Vec<_> = paths.iter().map(|path| writer(path, TraceProducer::Node)).collect();
    record_all(|at, record| {
        each[at.index()].write(record).unwrap();
    });
    drop(each);
    let one = [one];
    assert_eq!(verified("one file", &one), verified("five files, merged", &paths));
    assert_eq!(windowed("one file", &one), windowed("five files, merged", &paths));
}
