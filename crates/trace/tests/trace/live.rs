//! A run while it runs: what a view knows, and how a tail reads what is still being written.

use std::fs::OpenOptions;
use std::io::Write;

use tenure_core::service::{election, mutex};
use tenure_core::{Fence, Layer, ProcessId, Term, Verdict};
use tenure_trace::live::{Tail, View};
use tenure_trace::{
    Access, ClockUnit, Header, Kind, Operation, Passage, Record, Service, Source, Who, Writer,
};

const SECOND: u64 = 1_000_000_000;

fn record(ms: u64, at: u32, session: u64, kind: Kind) -> Record {
    Record::new(SECOND + ms * 1_000_000, ProcessId(at), kind).in_session(session)
}

fn elected(leader: u32, number: u64) -> Kind {
    let leader = ProcessId(leader);
    Kind::Event(election::Event::Elected { leader, term: Term { number, leader } }.into())
}

fn entered(fence: u64) -> Kind {
    Kind::Event(mutex::Event::Entered { fence: Fence(fence, 0) }.into())
}

fn asks() -> Kind {
    Kind::Command(mutex::Command::Enter.into())
}

fn exited() -> Kind {
    Kind::Event(mutex::Event::Exited.into())
}

fn message(peer: u32, number: u64) -> Passage {
    let (peer, layer) = (ProcessId(peer), Layer::Mutex);
    Passage { peer, layer, message: "request".into(), number, session: 1, content: None }
}

fn at(ms: u64) -> u64 {
    SECOND + ms * 1_000_000
}

#[test]
fn a_view_knows_who_leads_who_is_inside_who_waits_and_for_how_long() {
    let mut view = View::new(3);
    for process in 0..3 {
        view.read(&record(0, process, 1, Kind::Boot));
        view.read(&record(1, process, 1, elected(2, 1)));
    }
    for record in [record(10, 0, 1, asks()), record(12, 0, 1, entered(5)), record(14, 1, 1, asks())]
    {
        view.read(&record);
    }
    let seen = view.snapshot(at(20));
    assert_eq!(seen.leader, Some((3, 1)));
    assert_eq!(seen.fence, Some(("5.0".to_owned(), 1)));
    let locks: Vec<_> = seen.processes.iter().map(|each| (each.lock, each.for_ms)).collect();
    assert_eq!(locks, [("inside", Some(8.0)), ("waiting", Some(6.0)), ("outside", None)]);
    assert_eq!(seen.processes[0].fence.as_deref(), Some("5.0"));
    assert!(seen.strip.held.iter().any(|held| held.what == "leading" && held.process == 3));
}

#[test]
fn a_crash_takes_a_leader_its_entry_and_its_opinions_and_a_later_term_brings_another() {
    let mut view = View::new(2);
    let suspects = Kind::Suspicion { peer: ProcessId(1), verdict: Verdict::Suspect };
    view.read(&record(0, 0, 1, elected(1, 1)));
    view.read(&record(0, 1, 1, elected(1, 1)));
    view.read(&record(1, 1, 1, entered(1)));
    view.read(&record(5, 1, 1, Kind::Crash));
    let seen = view.snapshot(at(6));
    assert_eq!((seen.leader, seen.processes[1].life), (None, "down"));
    assert_eq!(seen.processes[1].lock, "outside");
    view.read(&record(7, 0, 1, suspects));
    view.read(&record(8, 0, 1, elected(0, 2)));
    let seen = view.snapshot(at(9));
    assert_eq!(seen.leader, Some((1, 2)));
    assert_eq!(seen.processes[0].suspects, [2]);
    let news: Vec<_> = seen.news.iter().map(|news| news.says.as_str()).collect();
    let told = ["P2 leads in term 1", "P2 crashes", "P1 suspects P2", "P1 leads in term 2"];
    assert_eq!(news, told);
}

/// As on the page of a node, which has the word of that node alone.
#[test]
fn a_leader_of_whom_nothing_is_heard_leads_by_the_word_of_another() {
    let mut view = View::new(2);
    view.read(&record(0, 0, 1, elected(1, 1)));
    let held = view.snapshot(at(6)).strip.held;
    let leads: Vec<_> = held.iter().map(|held| (held.process, held.what, held.until)).collect();
    assert_eq!(leads, [(2, "leading", None)]);
    view.read(&record(7, 0, 1, elected(0, 2)));
    let held = view.snapshot(at(9)).strip.held;
    assert_eq!(held.iter().map(|held| held.process).collect::<Vec<_>>(), [1], "no longer");
}

#[test]
fn a_crash_that_is_written_down_after_the_recovery_is_told_and_undoes_nothing() {
    let mut view = View::new(1);
    view.read(&record(0, 0, 1, Kind::Boot));
    view.read(&record(9, 0, 2, Kind::Recover));
    view.read(&record(5, 0, 1, Kind::Crash));
    let seen = view.snapshot(at(10));
    assert_eq!(seen.processes[0].life, "up");
    let kinds: Vec<_> = seen.news.iter().map(|news| news.kind).collect();
    assert_eq!(kinds, ["boot", "recover", "crash"]);
}

#[test]
fn a_stopped_process_is_shown_as_one_until_it_continues() {
    let mut view = View::new(1);
    view.read(&record(0, 0, 1, Kind::Boot));
    view.read(&record(5, 0, 1, Kind::Stop));
    assert_eq!(view.snapshot(at(6)).processes[0].life, "stopped");
    view.read(&record(8, 0, 1, Kind::Continue));
    let seen = view.snapshot(at(9));
    assert_eq!(seen.processes[0].life, "up");
    let stopped = seen.strip.held.iter().find(|held| held.what == "stopped").unwrap();
    assert_eq!((stopped.from, stopped.until), (5.0, Some(8.0)));
}

#[test]
fn the_strip_has_the_messages_of_the_last_seconds_and_no_older_ones() {
    let mut view = View::new(2);
    view.read(&record(0, 0, 1, Kind::Send(message(1, 1))));
    view.read(&record(2, 1, 1, Kind::Receive(message(0, 1))));
    view.read(&record(3, 0, 1, Kind::Drop(message(1, 2))));
    let strip = view.snapshot(at(10)).strip;
    let ends: Vec<_> = strip.letters.iter().map(|it| (it.from, it.sent, it.arrived)).collect();
    assert_eq!(ends, [(1, 0.0, Some(2.0)), (1, 3.0, None)]);
    assert!(view.snapshot(at(60_000)).strip.letters.is_empty());
}

#[test]
fn suspicions_after_the_end_of_a_run_are_not_shown() {
    let suspects = |ms, peer| {
        let (peer, verdict) = (ProcessId(peer), Verdict::Suspect);
        record(ms, 0, 1, Kind::Suspicion { peer, verdict })
    };
    let mut view = View::new(4);
    view.read(&record(0, 0, 1, Kind::Boot));
    view.read(&suspects(5, 1));
    // Files are not merged: this one is read before the end, and the next one after it.
    view.read(&suspects(11, 2));
    view.read(&Record::new(at(10), Who::Parent, Kind::End));
    view.read(&suspects(12, 3));
    let seen = view.snapshot(at(20));
    assert!(seen.over);
    assert_eq!(seen.processes[0].suspects, [2], "only what was suspected during the run");
}

#[test]
fn a_refused_access_is_counted_for_its_process_and_told() {
    let mut view = View::new(1);
    let access = Access {
        by: ProcessId(0),
        operation: Operation::Put,
        fence: Some(Fence(1, 0)),
        value: 1,
        accepted: false,
        highest: Some(Fence(2, 0)),
    };
    view.read(&Record::new(at(0), Who::Resource, Kind::Access(access)));
    let seen = view.snapshot(at(1));
    assert_eq!((seen.refused, seen.processes[0].refused), (1, 1));
    assert!(seen.last_refused.unwrap().0.contains("refuses"));
}

#[test]
fn rates_are_those_of_late() {
    let mut view = View::new(1);
    let mut number = 0;
    let mut enter = |view: &mut View, ms| {
        number += 1;
        view.read(&record(ms, 0, 1, entered(number)));
        view.read(&record(ms, 0, 1, exited()));
    };
    for ms in 0..1_000 {
        enter(&mut view, ms);
    }
    view.snapshot(at(1_000));
    for ms in 1_000..2_000 {
        if ms % 10 == 0 {
            enter(&mut view, ms);
        }
    }
    let seen = view.snapshot(at(2_000));
    assert_eq!((seen.entries, seen.entries_per_second), (1_100, 100.0));
}

#[test]
fn a_tail_reads_what_is_added_and_waits_for_the_end_of_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p1.ndjson");
    let mut tail = Tail::new(&path);
    let mut view = View::new(1);
    tail.read(&mut view).unwrap();
    let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let line = |kind: Kind| serde_json::to_string(&record(1, 0, 1, kind)).unwrap() + "\n";
    let last = line(exited());
    let (begun, rest) = last.as_bytes().split_at(last.len() / 2);
    file.write_all(line(entered(1)).as_bytes()).unwrap();
    file.write_all(begun).unwrap();
    tail.read(&mut view).unwrap();
    let seen = view.snapshot(at(2));
    assert_eq!((seen.entries, seen.processes[0].lock), (1, "inside"));
    file.write_all(rest).unwrap();
    tail.read(&mut view).unwrap();
    assert_eq!(view.snapshot(at(3)).processes[0].lock, "outside");
}

#[test]
fn a_tail_counts_everything_though_it_looks_into_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p1.ndjson");
    let header = Header {
        clock: ClockUnit::Nanosecond,
        ..Header::new("central", Service::Mutex, 2, Source::Node)
    };
    let mut writer = Writer::create(&path, &header).unwrap();
    let (mut tail, mut view) = (Tail::new(&path), View::new(2));
    for round in 0..5_000_u64 {
        for kind in [
            asks(),
            Kind::Send(message(1, round)),
            entered(round),
            Kind::Command(mutex::Command::Exit.into()),
            exited(),
        ] {
            writer.write(record(round, 0, 1, kind)).unwrap();
        }
        if round == 2_500 {
            writer.write(record(round, 0, 1, elected(1, 3))).unwrap();
        }
        if round % 1_000 == 0 {
            writer.flush().unwrap();
            tail.read(&mut view).unwrap();
        }
    }
    writer.flush().unwrap();
    tail.read(&mut view).unwrap();
    let seen = view.snapshot(at(5_000));
    assert_eq!((seen.entries, seen.messages), (5_000, 5_000));
    assert_eq!(seen.fence, Some(("4999.0".to_owned(), 1)));
    assert_eq!(seen.processes[0].leader, Some((2, 3)));
    assert_eq!(seen.processes[0].lock, "outside");
}
