//! How long a million events take. Run it with
//! `cargo test --release -p tenure-trace --test speed -- --ignored --nocapture`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Fence, Layer, ProcessId};
use tenure_trace::diagram::{Clock, Direction, View, Window, lay_out_files};
use tenure_trace::{
    Header, Judgement, Kind, Passage, Record, Service, Source, Verification, Writer, verify_files,
};

const PROCESSES: u32 = 5;
const EVENTS: u64 = 1_000_000;

/// Entries in turn, each with a request to all others and their replies: a million events.
fn record_all(mut write: impl FnMut(ProcessId, Record)) {
    let mut time = 0;
    let mut note = |at: ProcessId, kind| {
        time += 1_000;
        write(at, Record::new(time, at, kind).in_session(1));
    };
    let passage = |peer, message: &'static str, number| Passage {
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
        note(me, Kind::Command(Command::Enter.into()));
        for peer in peers {
            note(me, Kind::Send(passage(peer, "request", entry)));
            note(peer, Kind::Receive(passage(me, "request", entry)));
            note(peer, Kind::Send(passage(me, "reply", entry)));
            note(me, Kind::Receive(passage(peer, "reply", entry)));
        }
        note(me, Kind::Event(Event::Entered { fence: Fence(entry, 0) }.into()));
        note(me, Kind::Command(Command::Exit.into()));
        note(me, Kind::Event(Event::Exited.into()));
    }
}

fn judged(what: &str, paths: &[PathBuf]) -> Verification {
    let begun = Instant::now();
    let judged = verify_files(paths).unwrap();
    let took = begun.elapsed();
    eprintln!("{what}: {} records read and judged in {took:.2?}", judged.records);
    assert_eq!(judged.verdict, Judgement::Holds);
    assert_eq!(judged.records, EVENTS);
    assert!(took.as_secs() < 10, "{took:?}");
    judged
}

/// A window far behind, with clocks, which need everything before it.
fn windowed(what: &str, paths: &[PathBuf]) -> String {
    let begun = Instant::now();
    let window = Window { events: Some(900_001..=900_400), ..Window::default() };
    let view = View { window, clock: Clock::Vector, ..View::default() };
    let layout = lay_out_files(paths, view).unwrap();
    let svg = layout.to_svg(Direction::Right);
    let took = begun.elapsed();
    eprintln!("{what}: 400 of {} records drawn in {took:.2?}", layout.records);
    assert_eq!((layout.records, layout.shown), (EVENTS, Some((900_001, 900_400))));
    assert!(took.as_secs() < 10, "{took:?}");
    svg
}

fn writer(path: &Path, source: Source) -> Writer {
    let header = Header::new("ricart-agrawala", Service::Mutex, PROCESSES, source);
    Writer::create(path, &header).unwrap()
}

#[test]
#[ignore = "a measurement, meant for release builds"]
fn a_million_events_are_judged_and_a_window_of_them_is_drawn_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("all.ndjson");
    let mut all = writer(&one, Source::Simulator);
    let begun = Instant::now();
    record_all(|_, record| {
        all.write(record).unwrap();
    });
    drop(all);
    eprintln!("written in {:.2?}", begun.elapsed());
    let paths: Vec<_> =
        (1..=PROCESSES).map(|p| folder.path().join(format!("p{p}.ndjson"))).collect();
    let mut each: Vec<_> = paths.iter().map(|path| writer(path, Source::Node)).collect();
    record_all(|at, record| {
        each[at.index()].write(record).unwrap();
    });
    drop(each);
    let one = [one];
    assert_eq!(judged("one file", &one), judged("five files, merged", &paths));
    assert_eq!(windowed("one file", &one), windowed("five files, merged", &paths));
}
