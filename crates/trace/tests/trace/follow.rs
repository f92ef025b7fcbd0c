//! Merging of a run's traces while they are being written.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use tenure_core::{ProcessId, Service};
use tenure_trace::live::{NextRecord, TraceFollower};
use tenure_trace::{
    ClockUnit, Header, MessageRecord, Record, RecordKind, TraceProducer, TraceSegments, Writer,
    merge_files_for_verification, segment_path,
};

use crate::kinds::{P1, P2, enter, message};

fn header(source: TraceProducer) -> Header {
    let clock = ClockUnit::Nanosecond;
    Header { clock, ..Header::new("central", Service::Mutex, 2, source) }
}

/// Traces of two nodes and of their parent, the program that starts the nodes. The test writes the
/// traces step by step.
struct Run {
    _folder: TempDir,
    paths: Vec<PathBuf>,
    nodes: Vec<Writer>,
    parent: Writer,
    over: Arc<AtomicBool>,
}

impl Run {
    fn begin() -> Run {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["p1.ndjson", "p2.ndjson", "parent.ndjson"].map(|it| folder.path().join(it));
        let create = |place: usize, source| Writer::create(&paths[place], &header(source)).unwrap();
        let nodes = vec![create(0, TraceProducer::Node), create(1, TraceProducer::Node)];
        let parent = create(2, TraceProducer::Parent);
        Run { _folder: folder, paths: paths.to_vec(), nodes, parent, over: Arc::default() }
    }

    fn follow(&self) -> TraceFollower {
        TraceFollower::open(&self.paths, &self.over).unwrap()
    }

    fn wrote(&mut self, at: ProcessId, time: u64, kind: RecordKind) {
        let writer = &mut self.nodes[at.index()];
        writer.write(Record::new(time, at, kind).in_session(1)).unwrap();
        writer.flush().unwrap();
    }

    fn parent_wrote(&mut self, at: ProcessId, time: u64, kind: RecordKind) {
        self.parent.write(Record::new(time, at, kind).in_session(1)).unwrap();
        self.parent.flush().unwrap();
    }
}

fn release(peer: ProcessId, session: u64) -> MessageRecord {
    MessageRecord { session, ..message(peer, "release", 1) }
}

/// Returns the times of all records that are available now, and true if the end of the run was
/// reached.
fn available(follow: &mut TraceFollower) -> (Vec<u64>, bool) {
    let mut times = Vec::new();
    loop {
        match follow.next_record().unwrap() {
            NextRecord::Record(record) => times.push(record.time),
            NextRecord::Later => return (times, false),
            NextRecord::End => return (times, true),
        }
    }
}

#[test]
fn effect_waits_until_cause_is_written() {
    let mut run = Run::begin();
    let mut follow = run.follow();
    assert_eq!(available(&mut follow), (vec![], false));
    run.wrote(P1, 1, enter());
    run.wrote(P2, 3, RecordKind::Receive(release(P1, 1)));
    run.wrote(P2, 4, enter());
    assert_eq!(available(&mut follow), (vec![1], false), "P1 was stopped before it wrote all");
    run.wrote(P1, 2, RecordKind::Send(release(P2, 0)));
    assert_eq!(available(&mut follow), (vec![2, 3, 4], false));
    run.over.store(true, Ordering::Release);
    assert_eq!(available(&mut follow), (vec![], true));
    assert_eq!((follow.merge_report().unmatched, follow.merge_report().contradictions), (0, 0));
}

#[test]
fn crash_ends_wait_for_unwritten_records() {
    for then in [Some(RecordKind::Crash), None] {
        let mut run = Run::begin();
        run.wrote(P1, 1, enter());
        run.wrote(P2, 3, RecordKind::Receive(release(P1, 1)));
        let mut follow = run.follow();
        assert_eq!(available(&mut follow), (vec![1], false));
        let expected = match then {
            Some(crash) => {
                run.parent_wrote(P1, 5, crash);
                vec![5, 3]
            }
            None => {
                run.over.store(true, Ordering::Release);
                vec![3]
            }
        };
        assert_eq!(available(&mut follow).0, expected);
        assert_eq!((follow.merge_report().unmatched, follow.merge_report().contradictions), (1, 0));
    }
}

#[test]
fn successive_crashes_do_not_block_each_other() {
    let mut run = Run::begin();
    run.wrote(P1, 1, enter());
    run.wrote(P2, 3, RecordKind::Receive(release(P1, 1)));
    run.parent_wrote(P2, 4, RecordKind::Crash);
    run.parent_wrote(P1, 5, RecordKind::Crash);
    let mut follow = run.follow();
    assert_eq!(available(&mut follow), (vec![1, 3, 4, 5], false));
    assert_eq!((follow.merge_report().unmatched, follow.merge_report().contradictions), (1, 0));
}

#[test]
fn follows_parts_as_one_trace_and_reports_finished_ones() {
    let mut run = Run::begin();
    let mut segments =
        TraceSegments::new(&run.paths[0], header(TraceProducer::Node), 1_000).unwrap();
    let mut follow = run.follow();
    let mut times = Vec::new();
    for time in 1..=40 {
        run.wrote(P1, time, enter());
        segments.rotate_if_full(&mut run.nodes[0]).unwrap();
        times.extend(available(&mut follow).0);
    }
    assert!(times.iter().copied().eq(1..=40), "{times:?}");
    let finished = follow.take_completed_files();
    assert!(finished.len() > 2, "{finished:?}");
    let expected = (1..).map(|number| (0, segment_path(&run.paths[0], number)));
    assert!(finished.iter().cloned().eq(expected.take(finished.len())), "{finished:?}");
    let again = TraceSegments::new(&run.paths[0], header(TraceProducer::Node), 1_000).unwrap();
    assert_eq!(
        again.current_path(),
        segments.current_path(),
        "a recovered node continues the last part"
    );
    let each = (1..=finished.len() as u64 + 1).map(|number| segment_path(&run.paths[0], number));
    assert_eq!(
        merge_files_for_verification(each).unwrap().records.len(),
        40,
        "each part is a trace"
    );
}

#[test]
fn skips_torn_line_that_was_removed() {
    let mut run = Run::begin();
    run.wrote(P1, 1, enter());
    let tear = |path: &Path| {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"{\"time\":2,\"proc").unwrap();
    };
    tear(&run.paths[0]);
    let mut follow = run.follow();
    assert_eq!(available(&mut follow), (vec![1], false));
    run.nodes[0] = Writer::open_to_append(&run.paths[0], &header(TraceProducer::Node)).unwrap();
    run.wrote(P1, 3, enter());
    assert_eq!(available(&mut follow), (vec![3], false));
    tear(&run.paths[0]);
    run.over.store(true, Ordering::Release);
    assert_eq!(available(&mut follow), (vec![], true));
    assert_eq!(follow.merge_report().torn, [run.paths[0].clone()]);
}
