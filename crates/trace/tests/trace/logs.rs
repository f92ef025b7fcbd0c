//! Pictures of logs.

use tenure_core::ProcessId;
use tenure_core::service::log::{Content, Entry, Event, Payload};
use tenure_trace::diagram::{DiagramPage, ReplicatedLogDiagram, ReplicatedLogMoment, TraceWindow};
use tenure_trace::{Header, Record, RecordKind, RecordedEvent, Service, TraceProducer};

fn header() -> Header {
    Header::new("raft-log", Service::Log, 3, TraceProducer::Simulator)
}

fn event(time: u64, at: u32, event: Event) -> Record {
    let kind = RecordKind::Event(RecordedEvent::Agreement(event.into()));
    Record::new(time * 1_000_000, ProcessId(at), kind)
}

fn entry(term: u64) -> Entry {
    Entry { term, content: Content::Payload(Payload::from(term)) }
}

fn stored(time: u64, at: u32, index: u64, term: u64) -> Record {
    event(time, at, Event::Stored { index, entry: entry(term) })
}

/// Returns a run in which P1 leads and has `entries` entries. The last entry has term 12, and all
/// earlier entries are committed. P2 has two entries, and P3 is down.
fn story(entries: u64) -> Vec<Record> {
    let mut records = vec![event(0, 0, Event::Leading { term: 1 })];
    for index in 1..=entries {
        records.push(stored(index, 0, index, if index == entries { 12 } else { 1 }));
    }
    for index in 1..entries {
        records.push(event(entries, 0, Event::Committed { index, entry: entry(1) }));
    }
    records.extend([stored(entries, 1, 1, 1), stored(entries, 1, 2, 2)]);
    records.push(Record::new(entries * 1_000_000, ProcessId(2), RecordKind::Crash));
    records
}

fn text(entries: u64, columns: usize) -> String {
    ReplicatedLogDiagram::from_records(&header(), &story(entries), &[]).to_text(columns, false)
}

#[test]
fn boxes_show_terms_and_commit_index() {
    assert_eq!(
        text(3, 80),
        "           1    2    3\n\
         P1 leads │ 1  │ 1  ║ 12 │\n\
         P2       │ 1  │ 2  │\n\
         P3 down\n\
         ║ committed up to here, as far as each process knows\n"
    );
}

#[test]
fn long_logs_show_their_ends() {
    for columns in [60, 80] {
        let text = text(40, columns);
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
        let leader = text.lines().nth(1).unwrap_or_default();
        assert!(leader.starts_with("P1 leads … │ 1  │"), "{text}");
        assert!(leader.ends_with("│ 1  ║ 12 │"), "{text}");
        assert!(text.contains("P2       … ends at 2\n"), "{text}");
        assert!(text.contains(" earlier entries\n"), "{text}");
    }
}

#[test]
fn colors_change_no_letter() {
    let picture = ReplicatedLogDiagram::from_records(&header(), &story(3), &[]);
    let coloured = picture.to_text(80, true);
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    for part in coloured.split('\u{1b}') {
        plain.push_str(if part.starts_with('[') { part.split_once('m').unwrap().1 } else { part });
    }
    assert_eq!(plain, picture.to_text(80, false));
}

#[test]
fn moments_are_drawn_in_run_order() {
    let moments = [ReplicatedLogMoment::AtTime(2_000_000), ReplicatedLogMoment::AtTime(1_000_000)];
    let text =
        ReplicatedLogDiagram::from_records(&header(), &story(3), &moments).to_text(80, false);
    let captions: Vec<&str> = text.lines().filter(|line| line.starts_with("at ")).collect();
    assert_eq!(captions, ["at 1 units", "at 2 units"]);
    let first = ReplicatedLogDiagram::from_records(
        &header(),
        &story(3),
        &[ReplicatedLogMoment::AfterRecord(2)],
    );
    assert!(first.to_text(80, false).contains("P1 leads │ 1 │\n"));
    assert!(
        ReplicatedLogDiagram::from_records(
            &header(),
            &story(3),
            &[ReplicatedLogMoment::AfterRecord(1)]
        )
        .is_empty()
    );
}

#[test]
fn picture_is_deterministic_and_has_description() {
    let svg = ReplicatedLogDiagram::from_records(&header(), &story(3), &[]).to_svg(24);
    assert_eq!(svg, ReplicatedLogDiagram::from_records(&header(), &story(3), &[]).to_svg(24));
    assert!(svg.contains("P1 leads and has 1 1 12, committed 2;"), "{svg}");
    assert_eq!(svg.matches("class=\"entry safe").count(), 2);
    assert_eq!(svg.matches("class=\"entry t").count(), 3);
    let long = ReplicatedLogDiagram::from_records(&header(), &story(40), &[]).to_svg(24);
    assert_eq!(long.matches("class=\"entry").count(), 24);
    assert!(long.contains("… 16 earlier entries"), "{long}");
}

#[test]
fn long_term_stays_in_its_box() {
    let drawn = |term| {
        let records = [stored(1, 0, 1, term)];
        ReplicatedLogDiagram::from_records(&header(), &records, &[]).to_svg(24)
    };
    assert!(drawn(999).contains("class=\"term\"") && drawn(999).contains(">999</text>"));
    for (term, description) in [(1_234, "1234"), (123_456, "…456")] {
        let svg = drawn(term);
        let description = format!(">{description}</text>");
        let line = svg.lines().find(|line| line.contains("class=\"term says\""));
        assert!(line.is_some_and(|line| line.ends_with(&description)), "{svg}");
    }
}

#[test]
fn page_has_log_changes_and_initial_logs() {
    let page = |window| {
        let mut page = DiagramPage::new(&header(), window);
        story(3).iter().for_each(|record| page.add_record(record));
        let mut bytes = Vec::new();
        page.write_html(None, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (_, rest) = text.split_once("id=\"trace\">").unwrap();
        let data: serde_json::Value =
            serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        data["logs"].clone()
    };
    let whole = page(TraceWindow::default());
    assert_eq!(whole["row"][0], 0);
    assert_eq!(whole["terms"][3], serde_json::json!([12]));
    let cut = page(TraceWindow { record_numbers: Some(4..=9), ..TraceWindow::default() });
    assert_eq!((&cut["row"][0], &cut["terms"][0]), (&(-1).into(), &serde_json::json!([1, 1])));
    assert_eq!((&cut["row"][1], &cut["stays"][1]), (&0.into(), &2.into()));
}

/// The times of moments count from the start of the run, even if the first record is later.
#[test]
fn virtual_times_count_from_the_start_of_the_run() {
    let picture = |time: u64| {
        let moments = [ReplicatedLogMoment::AtTime(time * 1_000_000)];
        ReplicatedLogDiagram::from_records(&header(), &[stored(150, 0, 1, 1)], &moments)
    };
    assert!(picture(149).is_empty());
    assert!(!picture(150).is_empty());
}
