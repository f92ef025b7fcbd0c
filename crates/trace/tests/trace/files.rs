//! Traces that are written can be read again, even if the writer was killed. Other files are
//! rejected.

use std::cell::RefCell;
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tempfile::TempDir;
use tenure_core::service::election::Event;
use tenure_core::service::mutex::Command;
use tenure_core::service::{mutex_and_election, stream};
use tenure_core::{PeerVerdict, ProcessId, Rank, Term};
use tenure_trace::diagram::{DiagramOptions, DiagramPage, TraceWindow, lay_out_files};
use tenure_trace::{
    AppendError, ClockUnit, DEFAULT_MAX_PROCESSES, Header, MessageRecord, ReadError, Reader,
    Record, RecordKind, Service, TraceProducer, Writer,
};

fn header() -> Header {
    Header::new("central", Service::Mutex, 3, TraceProducer::Node)
}

fn record(time: u64) -> Record {
    Record::new(time, ProcessId(0), RecordKind::Command(Command::Enter.into()))
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p1.ndjson");
    (folder, path)
}

/// Writes a trace with `records` records to `path`, and appends `tail`.
fn trace(path: &Path, records: u64, tail: &str) {
    let mut writer = Writer::create(path, &header()).unwrap();
    for time in 1..=records {
        writer.write(record(time)).unwrap();
    }
    drop(writer);
    let text = fs::read_to_string(path).unwrap() + tail;
    fs::write(path, text).unwrap();
}

/// Returns the times of all records in the file, and true if its last line is incomplete.
fn times(path: &Path) -> (Vec<u64>, bool) {
    let mut reader = Reader::open(path).unwrap();
    let times = reader.by_ref().map(|record| record.unwrap().time).collect();
    (times, reader.is_torn())
}

/// Writes a trace that consists of one record and `line`. Returns the error that occurs when the
/// trace is read.
#[track_caller]
fn error_of_line(line: &str) -> String {
    let (_folder, path) = folder();
    trace(&path, 1, &format!("{line}\n"));
    Reader::open(&path).unwrap().find_map(Result::err).unwrap().to_string()
}

fn write_header(path: &Path, header: &Header) {
    fs::write(path, serde_json::to_string(header).unwrap() + "\n").unwrap();
}

#[test]
fn records_round_trip_with_numbers_from_one() {
    let (_folder, path) = folder();
    trace(&path, 3, "");
    let reader = Reader::open(&path).unwrap();
    assert_eq!(*reader.header(), header());
    let read: Vec<Record> = reader.map(Result::unwrap).collect();
    assert_eq!(read.iter().map(|record| record.sequence).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(read[1], Record { sequence: 2, ..record(2) });
}

#[test]
fn record_is_written_completely_by_flush() {
    let (_folder, path) = folder();
    let mut writer = Writer::create(&path, &header()).unwrap();
    writer.write(record(1)).unwrap();
    assert_eq!(times(&path), (vec![], false));
    writer.flush().unwrap();
    assert_eq!(times(&path), (vec![1], false));
}

#[test]
fn accepts_torn_last_line() {
    let (_folder, path) = folder();
    for torn in ["{", "{\"time\":4,\"proc", "{\"time\":4}"] {
        trace(&path, 3, torn);
        assert_eq!(times(&path), (vec![1, 2, 3], true), "{torn}");
    }
}

#[test]
fn accepts_last_record_without_line_feed() {
    let (_folder, path) = folder();
    trace(&path, 3, "{\"time\":4,\"process\":1,\"kind\":\"crash\"}");
    assert_eq!(times(&path), (vec![1, 2, 3, 4], false));
}

#[test]
fn rejects_torn_inner_line_with_file_and_number() {
    let (_folder, path) = folder();
    trace(&path, 3, "{\"time\":4,\"proc\n{\"time\":5,\"process\":1,\"kind\":\"crash\"}\n");
    let mut reader = Reader::open(&path).unwrap();
    let error = reader.by_ref().find_map(Result::err).unwrap();
    assert!(error.to_string().contains("p1.ndjson:5: "), "{error}");
    assert!(reader.next().is_none(), "nothing is read after an error");
}

#[test]
fn rejects_process_outside_group() {
    let error = error_of_line("{\"time\":4,\"process\":4,\"kind\":\"crash\"}");
    assert!(error.ends_with("p1.ndjson:3: there is no P4 in a group of 3"), "{error}");
}

/// Writes a trace with three records, after `change` has modified its lines. Returns the error that
/// occurs when the trace is read, or `None` if there is no error.
fn error_after(header: &Header, change: impl FnOnce(&mut Vec<String>)) -> Option<String> {
    let (_folder, path) = folder();
    let mut writer = Writer::create(&path, header).unwrap();
    for time in 1..=3 {
        writer.write(record(time)).unwrap();
    }
    drop(writer);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    change(&mut lines);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let error = Reader::open(&path).unwrap().find_map(Result::err).map(|it| it.to_string());
    error.map(|it| it.replace(&path.display().to_string(), "p1.ndjson"))
}

#[test]
fn rejects_missing_repeated_and_misplaced_records() {
    type Change = fn(&mut Vec<String>);
    let changes: [(Change, &str); 4] = [
        (|lines| drop(lines.remove(1)), "p1.ndjson:2: sequence is 2, expected 1: "),
        (|lines| drop(lines.remove(2)), "p1.ndjson:3: sequence is 3, expected 2: "),
        (|lines| lines.insert(2, lines[2].clone()), "p1.ndjson:4: sequence is 2, expected 3: "),
        (|lines| lines.swap(2, 3), "p1.ndjson:3: sequence is 3, expected 2: "),
    ];
    for (change, expected) in changes {
        let error = error_after(&header(), change).expect(expected);
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(error_after(&header(), |lines| drop(lines.pop())), None, "the last is not missed");
}

#[test]
fn virtual_time_never_decreases_but_real_time_may() {
    let move_forward = |lines: &mut Vec<String>| {
        lines[1] = lines[1].replace("\"time\":1,", "\"time\":18446744073709551615,");
    };
    let error = error_after(&header(), move_forward).unwrap();
    let expected = "p1.ndjson:3: time is 2, expected at least 18446744073709551615, ";
    assert!(error.starts_with(expected), "{error}");
    let real = Header { clock: ClockUnit::Nanosecond, ..header() };
    assert_eq!(error_after(&real, move_forward), None);
}

#[test]
fn rejects_records_that_name_unknown_processes() {
    let (leader, peer) = (ProcessId(u32::MAX), ProcessId(3));
    let term = |leader| Term { number: 1, leader };
    let elected = |leader, winner| Event::Elected { leader, term: term(winner) };
    let own = ProcessId(0);
    let message_record = MessageRecord::new(&(), peer, 0, 1);
    let kinds = [
        RecordKind::Event(elected(leader, own).into()),
        RecordKind::Event(elected(own, leader).into()),
        RecordKind::Event(
            mutex_and_election::Event::Election(Event::Deposed { term: term(leader) }).into(),
        ),
        RecordKind::Event(stream::Event::Received { from: peer, item: 1 }.into()),
        RecordKind::Command(stream::Command::Send { to: peer, item: 1 }.into()),
        RecordKind::Send(message_record.clone()),
        RecordKind::Receive(message_record),
        RecordKind::Suspicion { peer, verdict: PeerVerdict::Suspect },
        RecordKind::Partition(vec![vec![own], vec![peer]]),
    ];
    for kind in kinds {
        let line = serde_json::to_string(&Record::new(4, own, kind.clone())).unwrap();
        let error = error_of_line(&line);
        let unknown = ["P4", "P4294967296"].map(|it| format!("there is no {it} in a group of 3"));
        assert!(unknown.iter().any(|it| error.ends_with(it)), "{kind:?}: {error}");
    }
    let clock = Record::new(4, own, RecordKind::Crash).with_clock(vec![0; 4].into());
    let error = error_of_line(&serde_json::to_string(&clock).unwrap());
    assert!(error.ends_with("a clock of 4 processes does not fit a group of 3"), "{error}");
}

#[test]
fn rejects_groups_too_large_for_memory_or_drawing() {
    let (_folder, path) = folder();
    for n in [0, DEFAULT_MAX_PROCESSES + 1, u32::MAX] {
        write_header(&path, &Header { n, ..header() });
        let error = Reader::open(&path).unwrap_err().to_string();
        let description =
            format!("a group must have 1 to {DEFAULT_MAX_PROCESSES} processes, not {n}");
        assert!(error.contains(&description) && error.ends_with("--most-processes"), "{error}");
    }
    write_header(&path, &Header { n: DEFAULT_MAX_PROCESSES, ..header() });
    let wide = lay_out_files(&[&path], DiagramOptions::default()).unwrap_err().to_string();
    assert_eq!(wide, "cannot draw a group of 1048576 processes; the maximum is 1024");
    let wide = DiagramPage::from_files(&[&path], TraceWindow::default()).unwrap_err().to_string();
    assert!(wide.ends_with("the maximum is 1024"), "{wide}");
}

#[test]
fn header_has_all_ranks_or_none() {
    let (_folder, path) = folder();
    let opened = |ranks: usize| {
        let ranks = Some((0..ranks).map(|id| Rank::from_id(id as u32)).collect());
        write_header(&path, &Header { ranks, ..header() });
        Reader::open(&path).map(drop).map_err(|error| error.to_string())
    };
    for ranks in [1, 2, 4] {
        let error = opened(ranks).unwrap_err();
        let description = format!(":1: a group of 3 processes needs 3 ranks, not {ranks}");
        assert!(error.ends_with(&description), "{error}");
    }
    assert_eq!((opened(0), opened(3)), (Ok(()), Ok(())));
}

#[test]
fn endless_line_is_read_up_to_limit() {
    let head = serde_json::to_string(&header()).unwrap() + "\n";
    let endless = BufReader::new(head.as_bytes().chain(io::repeat(b' ')));
    let mut reader = Reader::new(endless, "endless").unwrap();
    let error = reader.next().unwrap().unwrap_err().to_string();
    let description = "endless:2: line exceeds 16777216 bytes; raise the limit with --longest-line";
    assert_eq!(error, description);
    let error = Reader::new(BufReader::new(io::repeat(b'{')), "endless").unwrap_err();
    assert!(matches!(error, ReadError::NotATrace { .. }), "{error}");
}

#[test]
fn distinguishes_empty_file_from_foreign_file() {
    let (_folder, path) = folder();
    for (text, empty) in
        [("", true), ("{\"trace\":\"ten", true), ("time,process\n", false), ("{}\n", false)]
    {
        fs::write(&path, text).unwrap();
        match Reader::open(&path).unwrap_err() {
            ReadError::Empty { .. } => assert!(empty, "{text}"),
            ReadError::NotATrace { .. } => assert!(!empty, "{text}"),
            other => panic!("{text}: {other}"),
        }
    }
}

#[test]
fn diagrams_omit_empty_file_among_several() {
    let (folder, path) = folder();
    trace(&path, 2, "");
    let torn = folder.path().join("p2.ndjson");
    fs::write(&torn, r#"{"trace":"tenure","ver"#).unwrap();
    let paths = [&path, &torn];
    let page = DiagramPage::from_files(&paths, TraceWindow::default()).unwrap();
    assert_eq!(page.record_count(), 2);
    let layout = lay_out_files(&paths, DiagramOptions::default()).unwrap();
    assert_eq!(layout.record_count, 2);
}

#[test]
fn rejects_newer_version_with_message() {
    let (_folder, path) = folder();
    fs::write(&path, "{\"trace\":\"tenure\",\"version\":2,\"moons\":3}\n").unwrap();
    let error = Reader::open(&path).unwrap_err().to_string();
    assert!(error.ends_with("read it with a newer tenure"), "{error}");
    let error = Writer::open_to_append(&path, &header()).unwrap_err();
    assert!(matches!(error, AppendError::Newer { .. }));
}

#[test]
fn appending_removes_torn_line_and_continues_numbering() {
    let (_folder, path) = folder();
    trace(&path, 3, "{\"time\":4,\"proc");
    let mut writer = Writer::open_to_append(&path, &header()).unwrap();
    assert_eq!(writer.write(record(7)).unwrap(), 4);
    drop(writer);
    assert_eq!(times(&path), (vec![1, 2, 3, 7], false));
}

#[test]
fn appending_to_empty_trace_numbers_from_one() {
    let (_folder, path) = folder();
    for text in [None, Some(""), Some("{\"trace\":\"ten")] {
        let _ = fs::remove_file(&path);
        text.into_iter().for_each(|text| fs::write(&path, text).unwrap());
        let mut writer = Writer::open_to_append(&path, &header()).unwrap();
        assert_eq!(writer.write(record(9)).unwrap(), 1);
        drop(writer);
        assert_eq!(times(&path), (vec![9], false));
    }
    trace(&path, 0, "");
    assert_eq!(Writer::open_to_append(&path, &header()).unwrap().write(record(9)).unwrap(), 1);
}

#[test]
fn appending_finds_last_record_after_long_line() {
    let (_folder, path) = folder();
    trace(&path, 3, "");
    let mut writer = Writer::open_to_append(&path, &header()).unwrap();
    let long = "x".repeat(200_000);
    writer.write(Record::new(8, ProcessId(0), RecordKind::Note(long))).unwrap();
    drop(writer);
    assert_eq!(Writer::open_to_append(&path, &header()).unwrap().last_sequence(), 4);
}

#[test]
fn appending_keeps_foreign_file_unchanged() {
    let (_folder, path) = folder();
    for text in ["my diary", "my diary\n", "{\"version\":1}\n{}\n", "{\"trace\":\"tenure\"}\nx\n"] {
        fs::write(&path, text).unwrap();
        let error = Writer::open_to_append(&path, &header()).unwrap_err();
        assert!(matches!(error, AppendError::NotATrace { .. }), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// A disk with limited space. The number is the space that is left, in bytes, and the list contains
/// the bytes that were written.
#[derive(Clone, Default)]
struct Disk(Rc<RefCell<(usize, Vec<u8>)>>);

impl std::io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let (room, taken) = &mut *self.0.borrow_mut();
        let fits = bytes.len().min(*room);
        if fits == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        taken.extend_from_slice(&bytes[..fits]);
        *room -= fits;
        Ok(fits)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn flush_resumes_after_full_disk() {
    let disk = Disk::default();
    disk.0.borrow_mut().0 = 200;
    let mut writer = Writer::new(disk.clone(), &header()).unwrap();
    for time in 1..=3 {
        writer.write(record(time)).unwrap();
    }
    assert!(writer.flush().is_err());
    assert_eq!(disk.0.borrow().1.len(), 200);
    disk.0.borrow_mut().0 = 1_000;
    writer.flush().unwrap();
    let text = disk.0.borrow().1.clone();
    let read: Vec<_> = Reader::new(&*text, "disk").unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), 3);
}

#[test]
fn documented_example_is_a_valid_trace() {
    let text = include_str!("../../../../docs/trace.md");
    let example = text.split("```").nth(1).unwrap().strip_prefix("json\n").unwrap();
    let read: Vec<_> =
        Reader::new(example.as_bytes(), "docs/trace.md").unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), 8);
    assert!(!read.iter().any(|record| matches!(record.kind, RecordKind::Other { .. })));
    for (record, line) in read.iter().zip(example.lines().skip(1)) {
        assert_eq!(serde_json::to_string(record).unwrap(), line, "as the writer would write it");
    }
}
