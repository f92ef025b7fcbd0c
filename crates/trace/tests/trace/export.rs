//! Export to other trace formats, and import.

use serde_json::{Value, json};
use tenure_core::{Fence, ProcessId};
use tenure_trace::export::{ShivizImportError, from_shiviz, to_mermaid, to_otel, to_shiviz};
use tenure_trace::{
    Header, MessageRecord, Record, RecordKind, RecordSubject, Service, TraceProducer,
};

use crate::kinds::{P1, P2, enter, entered, message};

fn header() -> Header {
    Header::new("tiny", Service::Mutex, 2, TraceProducer::Simulator)
}

fn stamped(peer: ProcessId, name: &str, number: u64) -> MessageRecord {
    MessageRecord {
        content: Some(Box::new(json!({"stamp": [1, 0]}))),
        ..message(peer, name, number)
    }
}

fn story() -> Vec<Record> {
    let kinds = [
        (0, P2, enter()),
        (0, P2, RecordKind::Send(stamped(P1, "request", 1))),
        (1, P1, RecordKind::Receive(stamped(P2, "request", 1))),
        (1, P1, RecordKind::Send(stamped(P2, "grant", 1))),
        (2, P2, RecordKind::Receive(stamped(P1, "grant", 1))),
        (2, P2, entered(Fence(1, 2))),
        (3, P2, RecordKind::Note("two\nlines; #1".into())),
        (4, P2, RecordKind::Send(stamped(P1, "release", 2))),
        (4, P2, RecordKind::Drop(stamped(P1, "release", 2))),
        (5, P2, RecordKind::Crash),
    ];
    let records = kinds.into_iter().map(|(time, at, kind)| Record::new(time, at, kind));
    let records = records.chain([Record::new(6, RecordSubject::Parent, RecordKind::End)]);
    records.zip(1..).map(|(record, sequence)| Record { sequence, ..record }).collect()
}

#[test]
fn shiviz_log_has_format_and_clock_of_each_event() {
    let log = to_shiviz(&header(), &story());
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], r"(?<host>\S*) (?<clock>\{.*\})\n(?<event>.*)\n(?<record>\{.*\})");
    assert_eq!(lines[1], r"^=== (?<trace>.*) ===$");
    assert!(lines[2].starts_with("=== {\"trace\":\"tenure\"") && lines[2].ends_with("} ==="));
    assert_eq!(lines[3..5], ["P2 {\"P2\":1}", "P2 asks to enter"]);
    assert_eq!(lines[9..11], ["P1 {\"P1\":1,\"P2\":2}", "P1 receives request from P2"]);
    assert_eq!(lines[15], "P2 {\"P1\":2,\"P2\":3}");
    assert_eq!(lines[22], "P2 notes: two\\nlines; #1", "an event is one line");
    assert_eq!(lines.len(), 3 + 3 * story().len());
}

#[test]
fn exported_log_round_trips() {
    let trace = from_shiviz(&to_shiviz(&header(), &story())).unwrap();
    assert_eq!((trace.header, trace.records), (header(), story()));
}

#[test]
fn imported_log_of_several_files_is_one_trace() {
    let repeated: Vec<Record> =
        story().into_iter().map(|record| Record { sequence: 1, ..record }).collect();
    let trace = from_shiviz(&to_shiviz(&header(), &repeated)).unwrap();
    assert_eq!(trace.records, story());
}

#[test]
fn rejects_foreign_log_with_line_number() {
    let log = to_shiviz(&header(), &story());
    let refused = |log: &str| from_shiviz(log).unwrap_err();
    assert!(matches!(refused(""), ShivizImportError::Foreign { line: 1, .. }));
    let foreign = log.replacen("(?<record>", "(?<other>", 1);
    assert!(matches!(refused(&foreign), ShivizImportError::Foreign { line: 1, .. }));
    let headless = log.replacen("=== {", "=== ", 1);
    assert!(matches!(refused(&headless), ShivizImportError::Malformed { line: 3, .. }));
    let torn: Vec<&str> = log.lines().take(8).collect();
    assert_eq!(refused(&torn.join("\n")), ShivizImportError::Torn { line: 8 });
    let wrong = log.replacen("\"kind\":\"command\"", "\"kind\":7", 1);
    assert!(matches!(refused(&wrong), ShivizImportError::Malformed { line: 6, .. }));
}

#[test]
fn sequence_diagram_has_messages_and_entry_bars() {
    assert_eq!(
        to_mermaid(&header(), &story()),
        "sequenceDiagram
    participant P1
    participant P2
    Note over P2: requests
    P2->>P1: request
    P1->>P2: grant
    Note over P2: enters
    activate P2
    Note over P2: two\\nlines   1
    P2-xP1: release
    deactivate P2
    Note over P2: crashes
"
    );
}

fn times(span: &Value) -> [&Value; 2] {
    [&span["startTimeUnixNano"], &span["endTimeUnixNano"]]
}

#[test]
fn exports_critical_sections_as_spans_and_messages_as_links() {
    let text = to_otel(&header(), &story());
    let otlp: Value = serde_json::from_str(&text).unwrap();
    let resources = otlp["resourceSpans"].as_array().unwrap();
    assert_eq!(resources.len(), 2);
    let spans = |place: usize| resources[place]["scopeSpans"][0]["spans"].as_array().unwrap();
    let find = |place: usize, name: &str| {
        spans(place).iter().find(|span| span["name"] == name).unwrap().clone()
    };
    let (session, waits, inside) =
        (find(1, "session"), find(1, "waits"), find(1, "critical section"));
    assert_eq!(times(&waits), ["0", "2"]);
    assert_eq!(times(&inside), ["2", "5"]);
    assert_eq!(inside["parentSpanId"], session["spanId"]);
    let fence = json!([{"key": "fence", "value": {"stringValue": "1.2"}}]);
    assert_eq!(inside["attributes"], fence);
    let other = find(0, "session");
    assert_eq!(other["links"][0]["spanId"], waits["spanId"], "the request left while P2 waited");
    assert_eq!(waits["links"][0]["spanId"], other["spanId"], "and so the grant arrived");
    assert_eq!(waits["links"][0]["traceId"], inside["traceId"]);
    assert_eq!(inside["traceId"].as_str().unwrap().len(), 32);
    assert_eq!(inside["spanId"].as_str().unwrap().len(), 16);
    assert_eq!(text, to_otel(&header(), &story()), "the same bytes");
    let links: usize =
        (0..2).flat_map(spans).map(|it| it["links"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(links, 2, "one for each message that arrived");
}

#[test]
fn crashed_process_has_no_session() {
    let lost = RecordKind::Drop(stamped(P1, "release", 2));
    let mut records = story();
    records.insert(10, Record::new(7, P2, lost));
    let otlp: Value = serde_json::from_str(&to_otel(&header(), &records)).unwrap();
    let spans = otlp["resourceSpans"][1]["scopeSpans"][0]["spans"].as_array().unwrap();
    let sessions: Vec<_> = spans.iter().filter(|span| span["name"] == "session").collect();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(times(sessions[0]), ["0", "5"]);
}
