//! The page of a run, and the data that it contains.

use serde_json::Value;
use tenure_core::{Fence, ProcessId};
use tenure_trace::diagram::{DiagramPage, TraceWindow};
use tenure_trace::{ClockUnit, Header, MessageRecord, Record, RecordKind, Service, TraceProducer};

use crate::kinds::{P1, P2, enter, entered, message};

fn header(algorithm: &str) -> Header {
    Header::new(algorithm, Service::Mutex, 2, TraceProducer::Simulator)
}

fn named(peer: ProcessId, name: &str) -> MessageRecord {
    MessageRecord { content: Some(Box::new(Value::from(name))), ..message(peer, name, 1) }
}

/// Returns a run in which P2 sends a request to P1 and enters.
fn story() -> Vec<Record> {
    let story = [
        (0, P1, RecordKind::Boot),
        (0, P2, RecordKind::Boot),
        (1, P2, enter()),
        (1, P2, RecordKind::Send(named(P1, "request"))),
        (2, P1, RecordKind::Receive(named(P2, "request"))),
        (2, P1, RecordKind::Send(named(P2, "grant"))),
        (3, P2, RecordKind::Receive(named(P1, "grant"))),
        (3, P2, entered(Fence(1, 0))),
    ];
    story.map(|(time, at, kind)| Record::new(time * 1_000_000, at, kind)).into()
}

fn page(header: &Header, records: &[Record], window: TraceWindow) -> String {
    let mut page = DiagramPage::new(header, window);
    records.iter().for_each(|record| page.add_record(record));
    let mut bytes = Vec::new();
    page.write_html(None, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn script(page: &str) -> &str {
    let (_, rest) = page.split_once("id=\"trace\">").unwrap();
    rest.split_once("</script>").unwrap().0
}

fn page_data(page: &str) -> Value {
    serde_json::from_str(script(page)).unwrap()
}

fn steps(data: &Value) -> usize {
    data["steps"]["at"].as_array().unwrap().len()
}

#[test]
fn page_is_deterministic() {
    let (header, records) = (header("tiny"), story());
    let once = page(&header, &records, TraceWindow::default());
    assert_eq!(once, page(&header, &records, TraceWindow::default()));
    assert_ne!(once, page(&header, &records[..7], TraceWindow::default()));
}

#[test]
fn every_record_belongs_to_its_step() {
    let data = page_data(&page(&header("tiny"), &story(), TraceWindow::default()));
    assert_eq!(steps(&data), 3);
    assert_eq!(data["details"]["step"], serde_json::json!([-1, -1, 0, 0, 1, 1, 2, 2]));
    assert_eq!(data["crossings"]["sent"], serde_json::json!([0, 1]));
    assert_eq!(data["crossings"]["ended"], serde_json::json!([1, 2]));
    assert_eq!(data["steps"]["clock"], serde_json::json!([1, 2, 3]));
}

#[test]
fn trace_text_cannot_end_the_page_script() {
    let hostile = "</script><script>alert(1)</script><!--\u{2028}\u{2029}";
    let mut records = story();
    records.push(Record::new(4_000_000, P1, RecordKind::Note(hostile.into())));
    let hostile_page = page(&header(hostile), &records, TraceWindow::default());
    let plain = page(&header("tiny"), &story(), TraceWindow::default());
    let count = |page: &str, part: &str| page.matches(part).count();
    for part in ["<script", "</script>", "<!--"] {
        assert_eq!(count(&hostile_page, part), count(&plain, part), "{part}");
    }
    for separator in ["\u{2028}", "\u{2029}"] {
        assert!(!script(&hostile_page).contains(separator), "{separator:?}");
    }
    let data = page_data(&hostile_page);
    let seen = tenure_trace::escape_invisible(hostile);
    assert_eq!(data["header"]["algorithm"], *seen);
    let texts = data["names"]["texts"].as_array().unwrap();
    assert!(texts.iter().any(|text| text == &format!("P1 notes: {seen}")), "{texts:?}");
}

#[test]
fn page_has_no_external_resources() {
    let page = page(&header("tiny"), &story(), TraceWindow::default());
    for part in ["http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("<!--"), "a place was left open");
}

#[test]
fn page_shows_window_and_verifies_whole_run() {
    let window = TraceWindow { record_numbers: Some(5..=6), ..TraceWindow::default() };
    let cut = page_data(&page(&header("tiny"), &story(), window));
    assert_eq!(cut["shown"], serde_json::json!([5, 6]));
    assert_eq!(cut["is_cut_off"], true);
    assert_eq!((steps(&cut), &cut["records"]), (1, &Value::from(8)));
    assert_eq!(cut["verification"]["entries"], 1);
    assert_eq!(cut["verification"]["messages"]["sent"]["mutex"]["grant"], 1);
    let whole = page_data(&page(&header("tiny"), &story(), TraceWindow::default()));
    assert_eq!(whole["shown"], serde_json::json!([1, 8]));
    assert_eq!(whole["is_cut_off"], false);
}

#[test]
fn long_run_is_limited_on_page() {
    let mut page = DiagramPage::new(&header("tiny"), TraceWindow::default());
    for time in 0..100_001 {
        page.add_record(&Record::new(time, P1, RecordKind::Timer("Tick".into())));
    }
    let mut bytes = Vec::new();
    page.write_html(None, &mut bytes).unwrap();
    let data = page_data(&String::from_utf8(bytes).unwrap());
    assert_eq!((&data["shown"], steps(&data)), (&serde_json::json!([1, 100_000]), 100_000));
    assert_eq!(data["records"], 100_001);
}

#[test]
fn page_has_times_of_all_sizes() {
    let times = [1, 1 << 63, u64::MAX];
    let records = times.map(|time| Record::new(time, P1, enter()));
    let data = page_data(&page(&header("tiny"), &records, TraceWindow::default()));
    let differences = serde_json::json!([1, (1_u64 << 63) - 1, (1_u64 << 63) - 1]);
    assert_eq!(data["steps"]["time"], differences);
    let set_back = [1 << 63, u64::MAX, 1 << 63];
    let records = set_back.map(|time| Record::new(time, P1, enter()));
    let header = Header { clock: ClockUnit::Nanosecond, ..header("tiny") };
    let data = page_data(&page(&header, &records, TraceWindow::default()));
    let back = -((1_i64 << 62) - 1 + (1 << 62));
    assert_eq!(data["steps"]["time"], serde_json::json!([0, (1_u64 << 63) - 1, back]));
}
