//! SVG drawings: texts are readable, and kinds of messages are distinguishable.

use std::collections::BTreeSet;

use serde_json::json;
use tenure_core::TICKS_PER_TIME_UNIT;
use tenure_trace::diagram::{DiagramOptions, TimeDirection, lay_out};
use tenure_trace::{
    Header, MessageRecord, Record, RecordKind, RecordSubject, Service, TraceProducer,
};

use crate::kinds::{P1, P3, message};

fn header() -> Header {
    Header::new("tiny", Service::Mutex, 3, TraceProducer::Simulator)
}

fn at(time: u64, who: impl Into<RecordSubject>, kind: RecordKind) -> Record {
    Record::new(time * TICKS_PER_TIME_UNIT, who, kind)
}

/// Returns the trace of a run in which a message from P3 to P1 is slow. The trace includes the
/// content of this message.
fn stamped() -> Vec<Record> {
    let content = json!({"Request": {"stamp": {"clock": 7, "process": 2}}});
    let content = Some(Box::new(content));
    let request = |peer| MessageRecord { content: content.clone(), ..message(peer, "request", 1) };
    vec![at(0, P3, RecordKind::Send(request(P1))), at(4, P1, RecordKind::Receive(request(P3)))]
}

fn number(of: &str, attribute: &str) -> i64 {
    let start = of.find(&format!(" {attribute}=\"")).expect("it is there") + attribute.len() + 3;
    of[start..].split('"').next().and_then(|it| it.parse().ok()).expect("a whole number")
}

/// The label of a message has an opaque box as its background. The box hides the message's line,
/// even between the words of the label.
#[test]
fn message_labels_have_opaque_background() {
    let view = DiagramOptions { fields: vec!["stamp".to_owned()], ..DiagramOptions::default() };
    for direction in [TimeDirection::Down, TimeDirection::Right] {
        let svg = lay_out(&header(), &stamped(), view.clone()).to_svg(direction);
        let place = |wanted: &str| svg.lines().position(|line| line.contains(wanted));
        let words = place(">request (7, P3)</text>").expect("it is written");
        let papers = svg.lines().enumerate().filter(|(_, it)| it.contains("class=\"paper\""));
        let (paper, below) = papers.last().expect("a sheet at least");
        let line = place("<title>request (7, P3) from P3 to P1</title>").expect("it is drawn");
        assert!(line + 1 < paper && paper < words, "line, paper, words: {svg}");
        let description = svg.lines().nth(words).expect("it is written");
        let (left, wide) = (number(below, "x"), number(below, "width"));
        let (top, high) = (number(below, "y"), number(below, "height"));
        assert!((left + wide / 2 - number(description, "x")).abs() <= 1, "{below} {description}");
        assert!((76..100).contains(&wide), "as wide as the words, and little more: {below}");
        assert!((top + 8..top + high).contains(&number(description, "y")), "{below} {description}");
    }
}

#[test]
fn notes_use_free_room_beside_messages() {
    let description =
        "Step 7: P2 and P3 answer P1; P2 asks P3 and P4; P3 asks P4, and leads again.";
    let mut records = stamped();
    records.insert(1, at(1, RecordSubject::Parent, RecordKind::Note(description.to_owned())));
    let svg = lay_out(&header(), &records, DiagramOptions::default()).to_svg(TimeDirection::Down);
    let rule = svg.lines().find(|it| it.contains("class=\"cut\"")).expect("a rule");
    let end = rule.split(['L', ' ', '"']).filter_map(|it| it.parse::<i64>().ok()).nth(2);
    let begins = svg.lines().find(|it| it.contains(">Step 7: ")).expect("a remark");
    assert!(Some(number(begins, "x")) > end, "behind its rule: {rule} {begins}");
    let lines: Vec<&str> = svg
        .lines()
        .filter(|it| it.starts_with("<text") && number(it, "x") == number(begins, "x"))
        .filter_map(|it| it.split(['>', '<']).nth(2))
        .collect();
    assert_eq!(lines.join(" "), description);
    assert!(lines.len() > 1 && lines.iter().all(|it| it.len() <= 30), "{lines:?}");
    let right = svg.lines().next().map(|it| number(it, "width")).expect("a head");
    assert!(right < 900, "not much wider than without: {right}");
}

#[test]
fn distinguishes_thirty_six_message_kinds() {
    let send =
        |kind: u64| at(kind, P1, RecordKind::Send(message(P3, &format!("m{kind}"), kind + 1)));
    let receive =
        |kind: u64| at(kind, P3, RecordKind::Receive(message(P1, &format!("m{kind}"), kind + 1)));
    let records: Vec<Record> = (0..36).flat_map(|kind| [send(kind), receive(kind)]).collect();
    let svg = lay_out(&header(), &records, DiagramOptions::default()).to_svg(TimeDirection::Right);
    let looks: BTreeSet<&str> = svg
        .lines()
        .filter_map(|line| line.strip_prefix("<path class=\"arrow"))
        .filter_map(|line| line.split('"').next())
        .collect();
    assert_eq!(looks.len(), 36, "{looks:?}");
    let styled = |class: &str| svg.contains(&format!("\n.{class}{{stroke"));
    let classes = looks.iter().flat_map(|look| look.split_whitespace());
    assert!(classes.into_iter().all(styled), "{looks:?}");
}

/// Nothing is drawn to the left of the process names. The names therefore stay visible on the page
/// of `tenure lab`, which keeps the left edge of the picture in view.
#[test]
fn short_run_draws_nothing_left_of_names() {
    let records = [at(0, P1, RecordKind::Boot)];
    let svg = lay_out(&header(), &records, DiagramOptions::default()).to_svg(TimeDirection::Right);
    let unit = svg.lines().find(|it| it.contains(">time in units")).expect("a name of the axis");
    assert!(number(unit, "x") >= 80, "its middle, with room for half of it: {unit}");
    let left = svg.split("viewBox=\"").nth(1).and_then(|it| it.split(' ').next()?.parse().ok());
    let left: i64 = left.expect("a whole number");
    assert!(left >= -40, "names, and air: {left}");
}
