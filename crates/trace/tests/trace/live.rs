//! Live views, and tails of files that are still being written.

use std::fs::{self, OpenOptions};
use std::io::Write;

use tenure_core::{Fence, PeerVerdict, ProcessId};
use tenure_trace::live::{LiveView, TraceTail};
use tenure_trace::{
    ClockUnit, Header, MessageRecord, Record, RecordKind, RecordSubject, ResourceAccessRecord,
    ResourceOperation, Service, TraceProducer, Writer,
};

use crate::kinds::{P1, P2, P3, elected, enter, entered, exit, exited, message};

const SECOND: u64 = 1_000_000_000;

fn record(ms: u64, at: u32, session: u64, kind: RecordKind) -> Record {
    Record::new(SECOND + ms * 1_000_000, ProcessId(at), kind).in_session(session)
}

fn request(peer: u32, number: u64) -> MessageRecord {
    MessageRecord { session: 1, ..message(ProcessId(peer), "request", number) }
}

fn at(ms: u64) -> u64 {
    SECOND + ms * 1_000_000
}

#[test]
fn view_shows_leader_holder_and_waiters_with_durations() {
    let mut view = LiveView::new(3);
    for process in 0..3 {
        view.apply_record(&record(0, process, 1, RecordKind::Boot));
        view.apply_record(&record(1, process, 1, elected(P3, 1)));
    }
    for record in [
        record(10, 0, 1, enter()),
        record(12, 0, 1, entered(Fence(5, 0))),
        record(14, 1, 1, enter()),
    ] {
        view.apply_record(&record);
    }
    let seen = view.prune_and_snapshot(at(20));
    assert_eq!(seen.leader, Some((3, 1)));
    assert_eq!(seen.fence, Some(("5.0".to_owned(), 1)));
    let locks: Vec<_> = seen.processes.iter().map(|each| (each.lock, each.for_ms)).collect();
    assert_eq!(locks, [("inside", Some(8.0)), ("waiting", Some(6.0)), ("outside", None)]);
    assert_eq!(seen.processes[0].fence.as_deref(), Some("5.0"));
    assert!(
        seen.strip.conditions.iter().any(|held| held.condition == "leading" && held.process == 3)
    );
}

#[test]
fn crash_clears_state_and_later_term_replaces_leader() {
    let mut view = LiveView::new(2);
    let suspects = RecordKind::Suspicion { peer: ProcessId(1), verdict: PeerVerdict::Suspect };
    view.apply_record(&record(0, 0, 1, elected(P2, 1)));
    view.apply_record(&record(0, 1, 1, elected(P2, 1)));
    view.apply_record(&record(1, 1, 1, entered(Fence(1, 0))));
    view.apply_record(&record(5, 1, 1, RecordKind::Crash));
    let seen = view.prune_and_snapshot(at(6));
    assert_eq!((seen.leader, seen.processes[1].life), (None, "down"));
    assert_eq!(seen.processes[1].lock, "outside");
    view.apply_record(&record(7, 0, 1, suspects));
    view.apply_record(&record(8, 0, 1, elected(P1, 2)));
    let seen = view.prune_and_snapshot(at(9));
    assert_eq!(seen.leader, Some((1, 2)));
    assert_eq!(seen.processes[0].suspects, [2]);
    let news: Vec<_> = seen.news.iter().map(|news| news.description.as_str()).collect();
    let expected = ["P2 leads in term 1", "P2 crashes", "P1 suspects P2", "P1 leads in term 2"];
    assert_eq!(news, expected);
}

/// Reads only records of P1. In these records, P1 reports that P2 leads. The live view must show P2
/// as the leader, although it has no record of P2.
#[test]
fn shows_leader_reported_only_by_other_node() {
    let mut view = LiveView::new(2);
    view.apply_record(&record(0, 0, 1, elected(P2, 1)));
    let held = view.prune_and_snapshot(at(6)).strip.conditions;
    let leads: Vec<_> =
        held.iter().map(|held| (held.process, held.condition, held.until)).collect();
    assert_eq!(leads, [(2, "leading", None)]);
    view.apply_record(&record(7, 0, 1, elected(P1, 2)));
    let held = view.prune_and_snapshot(at(9)).strip.conditions;
    assert_eq!(held.iter().map(|held| held.process).collect::<Vec<_>>(), [1], "no longer");
}

#[test]
fn late_crash_record_does_not_undo_recovery() {
    let mut view = LiveView::new(1);
    view.apply_record(&record(0, 0, 1, RecordKind::Boot));
    view.apply_record(&record(9, 0, 2, RecordKind::Recover));
    view.apply_record(&record(5, 0, 1, RecordKind::Crash));
    let seen = view.prune_and_snapshot(at(10));
    assert_eq!(seen.processes[0].life, "up");
    let kinds: Vec<_> = seen.news.iter().map(|news| news.kind).collect();
    assert_eq!(kinds, ["boot", "recover", "crash"]);
}

#[test]
fn process_is_shown_as_stopped_until_it_continues() {
    let mut view = LiveView::new(1);
    view.apply_record(&record(0, 0, 1, RecordKind::Boot));
    view.apply_record(&record(5, 0, 1, RecordKind::Stop));
    assert_eq!(view.prune_and_snapshot(at(6)).processes[0].life, "stopped");
    view.apply_record(&record(8, 0, 1, RecordKind::Continue));
    let seen = view.prune_and_snapshot(at(9));
    assert_eq!(seen.processes[0].life, "up");
    let stopped = seen.strip.conditions.iter().find(|held| held.condition == "stopped").unwrap();
    assert_eq!((stopped.from, stopped.until), (5.0, Some(8.0)));
}

#[test]
fn strip_keeps_only_recent_messages() {
    let mut view = LiveView::new(2);
    view.apply_record(&record(0, 0, 1, RecordKind::Send(request(1, 1))));
    view.apply_record(&record(2, 1, 1, RecordKind::Receive(request(0, 1))));
    view.apply_record(&record(3, 0, 1, RecordKind::Drop(request(1, 2))));
    let strip = view.prune_and_snapshot(at(10)).strip;
    let ends: Vec<_> = strip.messages.iter().map(|it| (it.from, it.sent, it.arrived)).collect();
    assert_eq!(ends, [(1, 0.0, Some(2.0)), (1, 3.0, None)]);
    assert!(view.prune_and_snapshot(at(60_000)).strip.messages.is_empty());
}

#[test]
fn hides_suspicions_after_end_of_run() {
    let suspects = |ms, peer| {
        let (peer, verdict) = (ProcessId(peer), PeerVerdict::Suspect);
        record(ms, 0, 1, RecordKind::Suspicion { peer, verdict })
    };
    let mut view = LiveView::new(4);
    view.apply_record(&record(0, 0, 1, RecordKind::Boot));
    view.apply_record(&suspects(5, 1));
    // Files are not merged, so a suspicion after the end of the run may be read before the end.
    view.apply_record(&suspects(11, 2));
    view.apply_record(&Record::new(at(10), RecordSubject::Parent, RecordKind::End));
    view.apply_record(&suspects(12, 3));
    let seen = view.prune_and_snapshot(at(20));
    assert!(seen.over);
    assert_eq!(seen.processes[0].suspects, [2], "only what was suspected during the run");
}

#[test]
fn counts_and_reports_rejected_access() {
    let mut view = LiveView::new(1);
    let access = ResourceAccessRecord {
        by: ProcessId(0),
        operation: ResourceOperation::Put,
        fence: Some(Fence(1, 0)),
        value: 1,
        accepted: false,
        highest: Some(Fence(2, 0)),
    };
    view.apply_record(&Record::new(at(0), RecordSubject::Resource, RecordKind::Access(access)));
    let seen = view.prune_and_snapshot(at(1));
    assert_eq!((seen.refused, seen.processes[0].refused), (1, 1));
    assert!(seen.last_refused.unwrap().0.contains("refuses"));
}

#[test]
fn rates_are_recent_averages() {
    let mut view = LiveView::new(1);
    let mut number = 0;
    let mut visit = |view: &mut LiveView, ms| {
        number += 1;
        view.apply_record(&record(ms, 0, 1, entered(Fence(number, 0))));
        view.apply_record(&record(ms, 0, 1, exited()));
    };
    for ms in 0..1_000 {
        visit(&mut view, ms);
    }
    view.prune_and_snapshot(at(1_000));
    for ms in 1_000..2_000 {
        if ms % 10 == 0 {
            visit(&mut view, ms);
        }
    }
    let seen = view.prune_and_snapshot(at(2_000));
    assert_eq!((seen.entries, seen.entries_per_second), (1_100, 100.0));
}

#[test]
fn tail_reads_appended_complete_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p1.ndjson");
    let mut tail = TraceTail::new(&path);
    let mut view = LiveView::new(1);
    tail.read_into(&mut view).unwrap();
    let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let line = |kind: RecordKind| serde_json::to_string(&record(1, 0, 1, kind)).unwrap() + "\n";
    let last = line(exited());
    let (started, rest) = last.as_bytes().split_at(last.len() / 2);
    file.write_all(line(entered(Fence(1, 0))).as_bytes()).unwrap();
    file.write_all(started).unwrap();
    tail.read_into(&mut view).unwrap();
    let seen = view.prune_and_snapshot(at(2));
    assert_eq!((seen.entries, seen.processes[0].lock), (1, "inside"));
    file.write_all(rest).unwrap();
    tail.read_into(&mut view).unwrap();
    assert_eq!(view.prune_and_snapshot(at(3)).processes[0].lock, "outside");
}

/// A writer that continues a trace first removes an incomplete last line.
#[test]
fn tail_drops_incomplete_line_that_writer_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p1.ndjson");
    let line = |kind: RecordKind| serde_json::to_string(&record(1, 0, 1, kind)).unwrap() + "\n";
    let (first, torn) = (line(entered(Fence(1, 0))), line(enter()));
    fs::write(&path, [&first, &torn[..torn.len() - 5]].concat()).unwrap();
    let (mut tail, mut view) = (TraceTail::new(&path), LiveView::new(1));
    tail.read_into(&mut view).unwrap();
    assert_eq!(view.prune_and_snapshot(at(2)).processes[0].lock, "inside");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(first.len() as u64).unwrap();
    file.write_all(line(exited()).as_bytes()).unwrap();
    tail.read_into(&mut view).unwrap();
    assert_eq!(view.prune_and_snapshot(at(3)).processes[0].lock, "outside");
}

#[test]
fn tail_counts_lines_it_does_not_parse() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p1.ndjson");
    let header = Header {
        clock: ClockUnit::Nanosecond,
        ..Header::new("central", Service::Mutex, 2, TraceProducer::Node)
    };
    let mut writer = Writer::create(&path, &header).unwrap();
    let (mut tail, mut view) = (TraceTail::new(&path), LiveView::new(2));
    for round in 0..5_000_u64 {
        for kind in [
            enter(),
            RecordKind::Send(request(1, round)),
            entered(Fence(round, 0)),
            exit(),
            exited(),
        ] {
            writer.write(record(round, 0, 1, kind)).unwrap();
        }
        if round == 2_500 {
            writer.write(record(round, 0, 1, elected(P2, 3))).unwrap();
        }
        if round % 1_000 == 0 {
            writer.flush().unwrap();
            tail.read_into(&mut view).unwrap();
        }
    }
    writer.flush().unwrap();
    tail.read_into(&mut view).unwrap();
    let seen = view.prune_and_snapshot(at(5_000));
    assert_eq!((seen.entries, seen.messages), (5_000, 5_000));
    assert_eq!(seen.fence, Some(("4999.0".to_owned(), 1)));
    assert_eq!(seen.processes[0].leader, Some((2, 3)));
    assert_eq!(seen.processes[0].lock, "outside");
}
