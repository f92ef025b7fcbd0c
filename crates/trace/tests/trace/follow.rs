//! A run is told in one order while it is written.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_core::service::mutex::Command;
use tenure_core::{Layer, ProcessId, Service};
use tenure_trace::live::{Follow, Next};
use tenure_trace::{
    ClockUnit, Header, Kind, Passage, Record, Segments, Source, Writer, merge_files, segment,
};

const P1: ProcessId = ProcessId(0);
const P2: ProcessId = ProcessId(1);

fn header(source: Source) -> Header {
    let clock = ClockUnit::Nanosecond;
    Header { clock, ..Header::new("central", Service::Mutex, 2, source) }
}

/// The traces of two nodes and their parent, to be written bit by bit.
struct Run {
    paths: Vec<PathBuf>,
    nodes: Vec<Writer>,
    parent: Writer,
    over: Arc<AtomicBool>,
}

impl Run {
    fn begin(folder: &Path) -> Run {
        let paths = ["p1", "p2", "parent"].map(|name| folder.join(name).with_extension("ndjson"));
        let create = |place: usize, source| Writer::create(&paths[place], &header(source)).unwrap();
        let nodes = vec![create(0, Source::Node), create(1, Source::Node)];
        let parent = create(2, Source::Parent);
        Run { paths: paths.to_vec(), nodes, parent, over: Arc::default() }
    }

    fn follow(&self) -> Follow {
        Follow::open(&self.paths, &self.over).unwrap()
    }

    fn wrote(&mut self, at: ProcessId, time: u64, kind: Kind) {
        let writer = &mut self.nodes[at.index()];
        writer.write(Record::new(time, at, kind).in_session(1)).unwrap();
        writer.flush().unwrap();
    }

    fn parent_wrote(&mut self, at: ProcessId, time: u64, kind: Kind) {
        self.parent.write(Record::new(time, at, kind).in_session(1)).unwrap();
        self.parent.flush().unwrap();
    }
}

fn asks() -> Kind {
    Kind::Command(Command::Enter.into())
}

fn passage(peer: ProcessId, session: u64) -> Passage {
    let (layer, message) = (Layer::Mutex, "release".into());
    Passage { peer, layer, message, number: 1, session, content: None }
}

/// The times of what is told until there is nothing more for now, and whether that is the end.
fn told(follow: &mut Follow) -> (Vec<u64>, bool) {
    let mut times = Vec::new();
    loop {
        match follow.read_next().unwrap() {
            Next::Record(record) => times.push(record.time),
            Next::Later => return (times, false),
            Next::End => return (times, true),
        }
    }
}

#[test]
fn what_was_caused_waits_for_its_cause_until_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::begin(folder.path());
    let mut follow = run.follow();
    assert_eq!(told(&mut follow), (vec![], false));
    run.wrote(P1, 1, asks());
    run.wrote(P2, 3, Kind::Receive(passage(P1, 1)));
    run.wrote(P2, 4, asks());
    assert_eq!(told(&mut follow), (vec![1], false), "P1 was stopped before it wrote all");
    run.wrote(P1, 2, Kind::Send(passage(P2, 0)));
    assert_eq!(told(&mut follow), (vec![2, 3, 4], false));
    run.over.store(true, Ordering::Release);
    assert_eq!(told(&mut follow), (vec![], true));
    assert_eq!((follow.seams().unmatched, follow.seams().contradictions), (0, 0));
}

#[test]
fn nobody_waits_for_what_a_process_took_with_it_when_it_crashed() {
    for then in [Some(Kind::Crash), None] {
        let folder = tempfile::tempdir().unwrap();
        let mut run = Run::begin(folder.path());
        run.wrote(P1, 1, asks());
        run.wrote(P2, 3, Kind::Receive(passage(P1, 1)));
        let mut follow = run.follow();
        assert_eq!(told(&mut follow), (vec![1], false));
        let told_then = match then {
            Some(crash) => {
                run.parent_wrote(P1, 5, crash);
                vec![5, 3]
            }
            None => {
                run.over.store(true, Ordering::Release);
                vec![3]
            }
        };
        assert_eq!(told(&mut follow).0, told_then);
        assert_eq!((follow.seams().unmatched, follow.seams().contradictions), (1, 0));
    }
}

#[test]
fn two_who_crash_one_after_the_other_do_not_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::begin(folder.path());
    run.wrote(P1, 1, asks());
    run.wrote(P2, 3, Kind::Receive(passage(P1, 1)));
    run.parent_wrote(P2, 4, Kind::Crash);
    run.parent_wrote(P1, 5, Kind::Crash);
    let mut follow = run.follow();
    assert_eq!(told(&mut follow), (vec![1, 3, 4, 5], false));
    assert_eq!((follow.seams().unmatched, follow.seams().contradictions), (1, 0));
}

#[test]
fn parts_are_told_as_one_and_named_when_they_are_finished() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::begin(folder.path());
    let mut segments = Segments::new(&run.paths[0], header(Source::Node), 1_000).unwrap();
    let mut follow = run.follow();
    let mut times = Vec::new();
    for time in 1..=40 {
        run.wrote(P1, time, asks());
        segments.turn(&mut run.nodes[0]).unwrap();
        times.extend(told(&mut follow).0);
    }
    assert!(times.iter().copied().eq(1..=40), "{times:?}");
    let finished = follow.finished();
    assert!(finished.len() > 2, "{finished:?}");
    let expected = (1..).map(|number| (0, segment(&run.paths[0], number)));
    assert!(finished.iter().cloned().eq(expected.take(finished.len())), "{finished:?}");
    let again = Segments::new(&run.paths[0], header(Source::Node), 1_000).unwrap();
    assert_eq!(again.current(), segments.current(), "whoever comes back goes on in the last");
    let each = (1..=finished.len() as u64 + 1).map(|number| segment(&run.paths[0], number));
    assert_eq!(merge_files(each).unwrap().records.len(), 40, "each part is a trace");
}

#[test]
fn a_line_that_was_torn_and_cut_off_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::begin(folder.path());
    run.wrote(P1, 1, asks());
    let tear = |path: &Path| {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"{\"time\":2,\"proc").unwrap();
    };
    tear(&run.paths[0]);
    let mut follow = run.follow();
    assert_eq!(told(&mut follow), (vec![1], false));
    run.nodes[0] = Writer::append(&run.paths[0], &header(Source::Node)).unwrap();
    run.wrote(P1, 3, asks());
    assert_eq!(told(&mut follow), (vec![3], false));
    tear(&run.paths[0]);
    run.over.store(true, Ordering::Release);
    assert_eq!(told(&mut follow), (vec![], true));
    assert_eq!(follow.seams().torn, [run.paths[0].clone()]);
}
