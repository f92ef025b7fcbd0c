use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use tenure_core::ProcessId;
use tenure_trace::{Service, Source, Who, verify_files};

use super::story::Story;

/// A run of two entries with a message from the first to the second, which was late on P2's
/// clock, written by everybody who saw a part of it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let story = Story::real(Service::Mutex)
        .asks(2)
        .asks(1)
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
        ("p1", Source::Node, Who::Process(ProcessId(0))),
        ("p2", Source::Node, Who::Process(ProcessId(1))),
        ("resource", Source::Resource, Who::Resource),
        ("parent", Source::Parent, Who::Parent),
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
fn the_files_of_a_run_are_judged_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let judged = verify_files(&files(folder.path())).unwrap();
    assert_eq!((judged.entries, judged.overlaps, judged.unmatched), (2, 0, 0));
    let json = serde_json::to_value(&judged).unwrap();
    assert_eq!(json["verdict"], "holds");
    assert_eq!(json["properties"]["fenced-access"], "holds");
    assert_eq!(json["counter"]["found"], 2);
    assert_eq!((&json["latency"]["p50"], &json["latency"]["max"]), (&0.6.into(), &1.0.into()));
    assert_eq!(json["messages"]["sent"]["mutex"]["request"], 1);
    assert!(judged.to_string().contains("expected 2, found 2, lost 0"), "{judged}");
}

#[test]
fn a_torn_last_line_and_an_empty_file_are_accepted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = files(folder.path());
    append(&files[1], "{\"time\":99,\"proc");
    let empty = folder.path().join("p3.ndjson");
    std::fs::write(&empty, "").unwrap();
    files.push(empty.clone());
    let judged = verify_files(&files).unwrap();
    assert_eq!(judged.torn, [files[1].clone()]);
    assert_eq!(judged.empty, [empty]);
    assert_eq!(judged.entries, 2);
    assert!(judged.to_string().contains("the last line of"), "{judged}");
    assert_eq!(verify_files(&files[1..2]).unwrap().torn, [files[1].clone()], "alone as well");
}

#[test]
fn a_torn_middle_line_is_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    append(&files[0], "{\"time\":99,\"proc\n{\"time\":99,\"process\":1,\"kind\":\"end\"}\n");
    for some in [&files[..], &files[..1]] {
        let error = verify_files(some).unwrap_err().to_string();
        assert!(error.contains("p1.ndjson:6: "), "{error}");
    }
}

#[test]
fn a_message_whose_sender_wrote_nothing_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    assert_eq!(verify_files(&files[1..]).unwrap().unmatched, 1);
}
