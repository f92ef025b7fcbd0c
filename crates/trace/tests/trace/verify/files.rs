use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use tenure_core::ProcessId;
use tenure_trace::{Judgement, RecordSubject, Service, TraceProducer, verify_files};

use super::story::Story;

/// Writes the traces of a run with two entries, one file per participant, and returns their paths.
/// The first process sends a message to the second, whose clock is slow.
fn files(folder: &Path) -> Vec<PathBuf> {
    let story = Story::real(Service::Mutex)
        .requests(2)
        .requests(1)
        .enters(1, 1)
        .puts(1, 1, 1)
        .exits(1)
        .sends(1, 2, 1)
        .receives(2, 1, 1)
        .but(|record| tenure_trace::Record { time: 1_500_000, ..record })
        .enters(2, 2)
        .but(|record| tenure_trace::Record { time: 1_600_000, ..record })
        .puts(2, 2, 2)
        .exits(2)
        .ends();
    let writers = [
        ("p1", TraceProducer::Node, RecordSubject::Process(ProcessId(0))),
        ("p2", TraceProducer::Node, RecordSubject::Process(ProcessId(1))),
        ("resource", TraceProducer::Resource, RecordSubject::Resource),
        ("parent", TraceProducer::Parent, RecordSubject::Parent),
    ];
    let path = |name| folder.join(name).with_extension("ndjson");
    for (name, source, who) in writers {
        story.write(&path(name), source, |record| record.process == who);
    }
    writers.map(|(name, ..)| path(name)).to_vec()
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn verifies_files_of_a_run_together() {
    let folder = tempfile::tempdir().unwrap();
    let verified = verify_files(&files(folder.path())).unwrap();
    assert_eq!((verified.entries, verified.overlaps, verified.unmatched), (2, 0, 0));
    let json = serde_json::to_value(&verified).unwrap();
    assert_eq!(json["verdict"], "holds");
    assert_eq!(json["properties"]["fenced-access"], "holds");
    assert_eq!(json["counter"]["found"], 2);
    assert_eq!((&json["latency"]["p50"], &json["latency"]["max"]), (&0.6.into(), &1.0.into()));
    assert_eq!(json["messages"]["sent"]["mutex"]["request"], 1);
    assert!(verified.to_string().contains("expected 2, found 2, lost 0"), "{verified}");
}

#[test]
fn reports_torn_last_line_and_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = files(folder.path());
    append(&files[1], "{\"time\":99,\"proc");
    let empty = folder.path().join("p3.ndjson");
    std::fs::write(&empty, "").unwrap();
    let error = verify_files(&[&empty]).unwrap_err().to_string();
    assert!(error.ends_with("p3.ndjson is empty: its header is incomplete"), "{error}");
    files.push(empty.clone());
    let verified = verify_files(&files).unwrap();
    assert_eq!(verified.torn, [files[1].clone()]);
    assert_eq!(verified.empty, [empty]);
    assert_eq!(verified.entries, 2);
    assert!(verified.to_string().contains("the last line of"), "{verified}");
    assert_eq!(verify_files(&files[1..2]).unwrap().torn, [files[1].clone()], "alone as well");
}

#[test]
fn rejects_torn_middle_line_with_file_and_number() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    append(&files[0], "{\"time\":99,\"proc\n{\"time\":99,\"process\":1,\"kind\":\"end\"}\n");
    for some in [&files[..], &files[..1]] {
        let error = verify_files(some).unwrap_err().to_string();
        assert!(error.contains("p1.ndjson:6: "), "{error}");
    }
}

#[test]
fn counts_message_with_unrecorded_sender() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    assert_eq!(verify_files(&files[1..]).unwrap().unmatched, 1);
}

#[test]
fn single_file_is_checked_for_causality() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ndjson");
    let verified = |story: Story| {
        story.write(&path, TraceProducer::Simulator, |_| true);
        verify_files(&[&path]).unwrap()
    };
    let story = || Story::of(Service::Mutex);
    let right = verified(story().sends(1, 2, 1).receives(2, 1, 1));
    assert_eq!((right.unmatched, right.contradictions), (0, 0));
    assert_eq!(verified(story().receives(2, 1, 1)).unmatched, 1);
    let wrong = verified(story().receives(2, 1, 1).sends(1, 2, 1));
    assert_eq!((wrong.contradictions, wrong.verdict), (1, Judgement::Violated));
}
