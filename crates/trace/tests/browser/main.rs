//! Tests, in a real browser, of the page that shows a run. If no browser is installed, they print a
//! message and are skipped.
//!
//! Run them with `cargo test -p tenure-trace --test browser -- --nocapture`.

mod words;

use std::fs::File;
use std::io::BufWriter;

use serde_json::json;
use tempfile::TempDir;
use tenure_browser::Tab;
use tenure_core::service::election;
use tenure_core::service::log::{self, Content, Entry};
use tenure_core::{Layer, PeerVerdict, ProcessId, Term};
use tenure_trace::diagram::{DiagramPage, TraceWindow};
use tenure_trace::{
    Header, MessageRecord, Record, RecordKind, RecordSubject, RecordedEvent, Service, Trace,
    TraceProducer,
};

/// Script that returns the elements that are cut. An element is cut if it exceeds the window, or if
/// its content overflows and cannot be scrolled. The signs of the legend may exceed their boxes.
const CUT: &str = "(document.querySelector('body *') ? [] : ['an empty page'])
    .concat(Array.from(document.querySelectorAll('body, body *:not(#legend i, #boxes *)'))
    .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth
        || (each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0
            && getComputedStyle(each).overflowX !== 'auto'))
    .map((each) => each.id || each.tagName))";
const READY: &str = "window.viewer";
/// Trace in which two processes are inside Lamport's lock at the same time, because links reorder
/// messages.
const LAMPORT: &str = include_str!("lamport.ndjson");

/// Opens the page of a run in a browser, and returns its tab. Returns `None` if no browser is
/// installed.
fn showing(
    (header, records): &(Header, Vec<Record>),
    window: TraceWindow,
) -> Option<(Tab, TempDir)> {
    let mut tab = Tab::open()?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let mut page = DiagramPage::new(header, window);
    records.iter().for_each(|record| page.add_record(record));
    page.write_html(None, &mut BufWriter::new(File::create(&path).unwrap())).unwrap();
    tab.emulate_display(1280, 900, "light");
    tab.load(&path, READY);
    Some((tab, folder))
}

#[track_caller]
fn assert_starts(tab: &mut Tab, element: &str, start: &str) {
    let text = tab.text(element);
    assert!(text.starts_with(start), "{text}");
}

fn lamport() -> (Header, Vec<Record>) {
    let Trace { header, records, .. } = Trace::parse(LAMPORT.as_bytes(), "lamport").unwrap();
    (header, records)
}

fn message_record(peer: u32, message: &'static str, number: u64) -> MessageRecord {
    let (peer, layer) = (ProcessId(peer), Layer::Election);
    MessageRecord { peer, layer, message: message.into(), number, session: 0, content: None }
}

fn elected(leader: u32, number: u64) -> RecordKind {
    let leader = ProcessId(leader);
    RecordKind::Event(election::Event::Elected { leader, term: Term { number, leader } }.into())
}

/// Returns a run with two leaders in succession. P3 leads and crashes. P2 suspects P3 and sends it
/// a message that is lost. Then P2 leads. P3 recovers during a partition.
fn takeover() -> (Header, Vec<Record>) {
    let suspects = RecordKind::Suspicion { peer: ProcessId(2), verdict: PeerVerdict::Suspect };
    let sides = vec![vec![ProcessId(0), ProcessId(1)], vec![ProcessId(2)]];
    let story = [
        (0, 0, RecordKind::Boot),
        (0, 1, RecordKind::Boot),
        (0, 2, RecordKind::Boot),
        (0, 2, RecordKind::Command(election::Command::Elect.into())),
        (0, 2, elected(2, 1)),
        (0, 2, RecordKind::Send(message_record(1, "coordinator", 1))),
        (1, 1, RecordKind::Receive(message_record(2, "coordinator", 1))),
        (1, 1, elected(2, 1)),
        (3, 2, RecordKind::Crash),
        (4, 1, suspects),
        (4, 1, RecordKind::Send(message_record(2, "election", 2))),
        (5, 1, RecordKind::Drop(message_record(2, "election", 2))),
        (6, 1, RecordKind::Timer("Answer".into())),
        (6, 1, elected(1, 2)),
        (6, 1, RecordKind::Send(message_record(0, "coordinator", 3))),
        (7, 0, RecordKind::Receive(message_record(1, "coordinator", 3))),
        (7, 0, elected(1, 2)),
        (9, 2, RecordKind::Recover),
        (
            9,
            2,
            RecordKind::State(json!({
                "type": "Lock", "queue": ["(1, P3)"], "group": {"type": "Group", "me": "P3"},
            })),
        ),
    ];
    let header = Header::new("takeover", Service::Election, 3, TraceProducer::Simulator);
    let mut records: Vec<Record> = story
        .into_iter()
        .map(|(time, at, kind)| Record::new(time * 1_000_000, ProcessId(at), kind))
        .collect();
    let split = Record::new(8_000_000, RecordSubject::Parent, RecordKind::Partition(sides));
    records.insert(records.len() - 2, split);
    (header, records)
}

#[test]
fn steps_through_counterexample_to_violation() {
    let Some((mut tab, _folder)) = showing(&lamport(), TraceWindow::default()) else { return };
    assert_eq!(tab.text("h1"), "lamport, 2 processes");
    assert_eq!(tab.text("#verdict"), "✗ violated");
    assert_eq!(tab.text("#where"), "6 of 6", "it opens where something goes wrong");
    assert!(tab.text("#event").contains("P1 enters"), "{}", tab.text("#event"));
    tab.click("#first");
    assert_eq!(tab.text("#where"), "1 of 6");
    tab.click("#forth");
    assert_eq!(tab.text("#where"), "2 of 6");
    assert_starts(&mut tab, "#event", "P2 asks to enter");
    tab.click("#back");
    assert_eq!(tab.text("#announcement"), "1 units: P1 asks to enter; P1 sends request to P2");
    tab.click("#verdicts li.violated button");
    let description = tab.text("#event");
    assert!(description.contains("P1 enters (fence 1.1)"), "{description}");
    assert!(description.contains("{\"Entered\":{\"fence\":[1,1]}}"), "{description}");
    assert!(tab.text("#process").contains("is inside"));
    assert_eq!(tab.complaints, [""; 0]);
}

/// The overview of a page marks a violation. In this run, the last event violates the property, so
/// the mark is at the edge of the overview.
#[test]
fn overview_marks_violations() {
    let Some((mut tab, _folder)) = showing(&lamport(), TraceWindow::default()) else { return };
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        tab.emulate_display(wide, 900, look);
        tab.wait_until(&format!("innerWidth === {wide}"));
        // Changes are drawn with the next frame.
        let marked =
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            const strip = document.getElementById('overview');
            const copy = new OffscreenCanvas(strip.width, strip.height).getContext('2d');
            copy.drawImage(strip, 0, 0);
            const { data } = copy.getImageData(0, 0, strip.width, strip.height);
            const [red, green, blue] = viewer.picture.colours.lost.match(/[0-9a-f]{2}/g)
                .map((part) => parseInt(part, 16));
            let count = 0;
            for (let at = 0; at < data.length; at += 4) {
                if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) count++;
            }
            done(count);
        })))";
        let marked = tab.evaluate(marked).as_u64().unwrap();
        assert!(marked >= 2 * 26, "{marked} pixels at {wide}");
    }
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn selects_event_and_process_by_click() {
    let Some((mut tab, _folder)) = showing(&lamport(), TraceWindow::default()) else { return };
    let place = tab.evaluate(
        "(() => { const box = document.getElementById('picture').getBoundingClientRect(); \
         const picture = viewer.picture; const at = viewer.trace.at[3]; \
         return [box.x + picture.x(3), box.y + picture.y(at), picture.x(2) - picture.x(3)]; })()",
    );
    let [x, y, back] = [0, 1, 2].map(|field| place[field].as_f64().unwrap());
    tab.click_at(x, y);
    assert_eq!(
        tab.text("#announcement"),
        "4 units: P2 receives reply from P1; P2 enters (fence 1.2)"
    );
    let clocks = tab.text("#event");
    assert!(clocks.contains("Lamport clock\n3"), "{clocks}");
    assert!(clocks.contains("vector clock\n[2, 2]"), "{clocks}");
    let cone = "Array.from(viewer.cone)";
    assert_eq!(tab.evaluate(cone), json!([1, 1, 1, 3, 2, 2]));
    tab.click_at(x + back / 2.0, y);
    assert_eq!(tab.text("#event"), "Nothing is selected.");
    let state = tab.text("#process");
    assert!(state.starts_with("P2 at 2 units"), "{state}");
    assert!(state.contains("waits to enter") && state.contains("received\n0"), "{state}");
    assert_starts(&mut tab, "#announcement", "P2 at 2 units: phase waits to enter; sent 1");
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn keyboard_reaches_every_event_and_violation() {
    let Some((mut tab, _folder)) = showing(&lamport(), TraceWindow::default()) else { return };
    tab.evaluate("document.getElementById('picture').focus()");
    tab.press("End");
    assert_eq!(tab.text("#where"), "6 of 6");
    tab.press("[");
    assert_starts(&mut tab, "#announcement", "5 units: P2 receives request");
    tab.press("ArrowUp");
    assert_starts(&mut tab, "#announcement", "6 units: P1");
    tab.press("Home");
    assert_eq!(tab.text("#where"), "1 of 6");
    tab.press("]");
    assert_starts(&mut tab, "#announcement", "5 units: P2 receives request");
    tab.press("v");
    let announcement = tab.text("#announcement");
    assert!(announcement.ends_with("P1 enters (fence 1.1)"), "{announcement}");
    tab.press("Enter");
    assert_eq!(tab.evaluate("document.activeElement.id"), "selected");
    tab.evaluate("document.getElementById('events').focus()");
    tab.press("ArrowUp");
    assert_eq!(tab.text("#events [aria-selected=true] span"), "5");
    assert_eq!(
        tab.evaluate("document.activeElement.getAttribute('aria-activedescendant')"),
        "event-4"
    );
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn filters_hide_and_restore_processes_and_kinds() {
    let Some((mut tab, _folder)) = showing(&lamport(), TraceWindow::default()) else { return };
    tab.click("#first");
    tab.click("[data-kind='1']");
    assert_eq!(tab.text("#where"), "1 of 4", "two replies arrive no more");
    tab.click("[data-process='0']");
    assert_eq!(tab.text("#page"), "1 to 2 of 2");
    tab.click("[data-process='0']");
    tab.click("[data-kind='1']");
    assert_eq!(tab.text("#page"), "1 to 6 of 6");
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn plays_run_to_its_end() {
    let Some((mut tab, _folder)) = showing(&lamport(), TraceWindow::default()) else { return };
    tab.evaluate("document.getElementById('speed').value = '60'");
    tab.click("#play");
    tab.wait_until("viewer.now === viewer.trace.size - 1 && viewer.playing === null");
    assert_eq!(tab.evaluate("document.getElementById('play').getAttribute('aria-label')"), "Play");
    assert_eq!(tab.text("#where"), "6 of 6");
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn playing_ends_although_a_filter_was_set_meanwhile() {
    let Some((mut tab, _folder)) = showing(&lamport(), TraceWindow::default()) else { return };
    tab.evaluate("document.getElementById('speed').value = '60'");
    tab.evaluate("viewer.play(); document.querySelector(\"[data-kind='1']\").click()");
    tab.wait_until("viewer.playing === null");
    assert_eq!(tab.text("#where"), "4 of 4");
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn shows_leaders_suspicions_crashes_and_partitions_in_time() {
    let Some((mut tab, _folder)) = showing(&takeover(), TraceWindow::default()) else { return };
    let mut state_at = |process: u32, step: &str| {
        tab.evaluate(&format!("viewer.watched = {process}; viewer.now = {step}; viewer.update()"));
        tab.text("#process")
    };
    assert!(state_at(2, "0").contains("leads (term 1)"));
    let before = state_at(1, "1");
    assert!(before.contains("leader in its view\nP3 (term 1)"), "{before}");
    assert!(before.contains("suspects\nnone"), "{before}");
    let after = state_at(1, "viewer.trace.size - 1");
    assert!(after.contains("leads (term 2)") && after.contains("suspects\nP3"), "{after}");
    assert!(state_at(2, "4").contains("has crashed"));
    let saved = state_at(2, "viewer.trace.size - 1");
    let tree = "protocol state\nLock\ngroup\nGroup\nme\nP3\nqueue\n(1, P3)";
    assert!(saved.contains(tree), "{saved}");
    let legend = tab.text("#legend");
    for word in ["leads", "lost message", "crashes", "suspects", "split"] {
        assert!(legend.contains(word), "{word} in {legend}");
    }
    assert!(!legend.contains("waits"), "{legend}");
    let no_logs = tab.evaluate("document.getElementById('logs').hidden");
    assert_eq!(no_logs, json!(true), "an elected leader has no log");
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn nothing_exceeds_window_in_light_and_dark() {
    let Some((mut tab, _folder)) = showing(&takeover(), TraceWindow::default()) else { return };
    let mut papers = Vec::new();
    for (wide, look) in [(1280, "light"), (400, "dark")] {
        tab.emulate_display(wide, 800, look);
        tab.wait_until(&format!("innerWidth === {wide}"));
        assert_eq!(tab.evaluate(CUT), json!([]), "at {wide} pixels");
        papers.push(tab.evaluate("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(papers[0], papers[1]);
    tab.click("#theme");
    assert_eq!(tab.evaluate("getComputedStyle(document.body).backgroundColor"), papers[0]);
    assert_eq!(tab.complaints, [""; 0]);
}

/// Returns a run in which P1 leads and has three entries, two of which are committed. A long pause
/// follows.
fn log() -> (Header, Vec<Record>) {
    let event = |time: u64, event: log::Event| {
        let kind = RecordKind::Event(RecordedEvent::Agreement(event.into()));
        Record::new(time * 1_000_000, ProcessId(0), kind)
    };
    let entry = |term| Entry { term, content: Content::Nothing };
    let stored = |index, term| log::Event::Stored { index, entry: entry(term) };
    let committed = |index| log::Event::Committed { index, entry: entry(1) };
    let records = vec![
        event(1, log::Event::Leading { term: 1 }),
        event(2, stored(1, 1)),
        event(3, stored(2, 1)),
        event(4, committed(1)),
        event(5, committed(2)),
        event(6, stored(3, 2)),
        Record::new(500_000_000, ProcessId(1), RecordKind::Timer("Election".into())),
    ];
    (Header::new("raft-log", Service::Log, 2, TraceProducer::Simulator), records)
}

#[test]
fn draws_logs_at_selected_event() {
    let Some((mut tab, _folder)) = showing(&log(), TraceWindow::default()) else { return };
    let boxes = "Array.from(document.querySelectorAll('#rows td'), (each) => each.textContent)";
    let solid = "document.querySelectorAll('#rows td.safe').length";
    tab.click("#last");
    assert_eq!(tab.evaluate(boxes), json!(["1", "1", "2"]));
    assert_eq!(tab.evaluate(solid), json!(2));
    assert_eq!(tab.evaluate("document.querySelectorAll('#rows .crown').length"), json!(1));
    tab.click("#first");
    tab.click("#forth");
    assert_eq!((tab.evaluate(boxes), tab.evaluate(solid)), (json!(["1"]), json!(0)));
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        tab.emulate_display(wide, 800, look);
        tab.wait_until(&format!("innerWidth === {wide}"));
        assert_eq!(tab.evaluate(CUT), json!([]), "at {wide} pixels");
    }
    assert_eq!(tab.evaluate("viewer.trace.cuts.length"), json!(1), "a pause is cut");
    let phase = tab.text("#process");
    assert!(
        phase.contains("leads") && !phase.contains("inside"),
        "a log has no critical section: {phase}"
    );
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn hides_idle_processes_of_large_group_until_requested() {
    let story = |n| {
        let (_, mut records) = takeover();
        records.splice(..0, (3..n).map(|at| Record::new(0, ProcessId(at), RecordKind::Boot)));
        (Header::new("takeover", Service::Election, n, TraceProducer::Simulator), records)
    };
    let rows = "viewer.picture.processes.length";
    for (n, first) in [(40, 3), (10, 10)] {
        let Some((mut tab, _folder)) = showing(&story(n), TraceWindow::default()) else { return };
        assert_eq!(tab.evaluate(rows), json!(first), "of {n}");
        let description = format!("Hide {} that do nothing", n - 3);
        assert_eq!(tab.text("#folding").trim(), description);
        tab.click("#idle");
        assert_eq!(tab.evaluate(rows), json!(if first == 3 { n } else { 3 }), "of {n}");
        let boxes = "document.querySelectorAll('[data-process]:checked').length";
        assert_eq!(tab.evaluate(boxes), tab.evaluate(rows));
        assert_eq!(tab.complaints, [""; 0]);
    }
    let Some((mut tab, _folder)) = showing(&story(3), TraceWindow::default()) else { return };
    assert_eq!(tab.evaluate("document.getElementById('folding').hidden"), json!(true));
}

#[test]
fn shows_hostile_text_without_executing_it() {
    let hostile = "</script><img src=x onerror=\"document.title='owned'\">\u{2028}<!-- <script>";
    let mut run = takeover();
    run.0.algorithm = hostile.into();
    run.1.push(Record::new(10_000_000, ProcessId(0), RecordKind::Note(hostile.into())));
    let Some((mut tab, _folder)) = showing(&run, TraceWindow::default()) else { return };
    tab.click("#last");
    assert!(tab.text("#event").contains("</script><img src=x"), "{}", tab.text("#event"));
    assert_starts(&mut tab, "h1", "</script><img");
    assert_eq!(tab.evaluate("document.images.length"), json!(0));
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn window_states_its_range_and_total() {
    let window = TraceWindow { record_numbers: Some(7..=10), ..TraceWindow::default() };
    let Some((mut tab, _folder)) = showing(&lamport(), window) else { return };
    assert_starts(&mut tab, "#notice", "This page shows the records 7 to 10 of 14.");
    assert_eq!(tab.text("#where"), "1 of 2");
    let verdicts = tab.text("#verdicts");
    assert!(verdicts.contains("It lies outside the records shown."), "{verdicts}");
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn draws_only_visible_part_of_long_run() {
    let header = Header::new("echo", Service::Election, 2, TraceProducer::Simulator);
    let echo = |round: u64| {
        let at = |time, process, kind| Record::new(time, ProcessId(process), kind);
        let time = round * 4_000_000;
        [
            at(time, 0, RecordKind::Timer("Ask".into())),
            at(time, 0, RecordKind::Send(message_record(1, "ask", round))),
            at(time + 1_000_000, 1, RecordKind::Receive(message_record(0, "ask", round))),
            at(time + 1_000_000, 1, RecordKind::Send(message_record(0, "answer", round))),
            at(time + 2_000_000, 0, RecordKind::Receive(message_record(1, "answer", round))),
        ]
    };
    let run = (header, (0..2_000).flat_map(echo).collect());
    let Some((mut tab, _folder)) = showing(&run, TraceWindow::default()) else { return };
    let seen = "(viewer.picture.draw(viewer), viewer.picture.seen.length)";
    let first = tab.evaluate(seen).as_u64().unwrap();
    assert!((1..200).contains(&first), "{first}");
    let strip = "(() => { const box = document.getElementById('overview').getBoundingClientRect(); \
                 return [box.x + box.width / 2, box.y + box.height / 2]; })()";
    let middle = tab.evaluate(strip);
    tab.click_at(middle[0].as_f64().unwrap(), middle[1].as_f64().unwrap());
    let part = "(({ left, index: { first, last } }) => (left - first) / (last - first))\
                (viewer.picture)";
    let part = tab.evaluate(part).as_f64().unwrap();
    assert!((0.45..0.55).contains(&part), "{part}");
    tab.click("#last");
    assert_eq!(tab.text("#page"), "5951 to 6000 of 6000");
    let last = tab.evaluate(seen).as_u64().unwrap();
    assert!((1..200).contains(&last), "{last}");
    assert_eq!(tab.evaluate("viewer.picture.x(viewer.now) < viewer.picture.wide"), json!(true));
    tab.click("#fit");
    assert_eq!(tab.evaluate(seen), json!(4_000));
    assert_eq!(tab.complaints, [""; 0]);
}
