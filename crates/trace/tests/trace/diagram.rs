//! Space-time diagrams as text and as SVG.

use tenure_core::service::election;
use tenure_core::{Fence, Layer, ProcessId, TICKS_PER_TIME_UNIT};
use tenure_trace::diagram::{
    DiagramClock, DiagramLayout, DiagramOptions, MessageOutcome, ProcessCondition, RowLabel,
    StepCause, TimeAxis, TimeDirection, TraceWindow, lay_out,
};
use tenure_trace::{
    ClockUnit, Header, MessageRecord, Record, RecordKind, RecordSubject, Service, TraceProducer,
};

use crate::kinds::{P1, P2, P3, elected, enter, entered, exit, exited, message};

fn header(n: u32) -> Header {
    Header::new("tiny", Service::Mutex, n, TraceProducer::Simulator)
}

fn at(time: u64, who: impl Into<RecordSubject>, kind: RecordKind) -> Record {
    Record::new(time * TICKS_PER_TIME_UNIT, who, kind)
}

/// Returns a run in which P2 sends a request to P1 and receives the grant. The request of P3 is
/// lost.
fn story() -> Vec<Record> {
    vec![
        at(0, P1, RecordKind::Boot),
        at(0, P2, RecordKind::Boot),
        at(0, P3, RecordKind::Boot),
        at(0, P2, enter()),
        at(0, P2, RecordKind::Send(message(P1, "request", 1))),
        at(1, P3, enter()),
        at(1, P3, RecordKind::Send(message(P1, "request", 1))),
        at(2, P3, RecordKind::Drop(message(P1, "request", 1))),
        at(3, P1, RecordKind::Receive(message(P2, "request", 1))),
        at(3, P1, RecordKind::Send(message(P2, "grant", 1))),
        at(5, P2, RecordKind::Receive(message(P1, "grant", 1))),
        at(5, P2, entered(Fence(1, 0))),
        at(6, P2, exit()),
        at(6, P2, exited()),
        at(6, P2, RecordKind::Send(message(P1, "release", 2))),
    ]
}

fn drawn(view: DiagramOptions) -> DiagramLayout {
    lay_out(&header(3), &story(), view)
}

#[test]
fn text_diagram_shows_conditions_and_lost_messages() {
    let text = drawn(DiagramOptions::default()).to_text(TimeDirection::Down, RowLabel::Place);
    assert_eq!(
        text,
        "     P1                        P2                        P3
   0 │                         ● requests                │
   1 │                         ▒                         ● requests
   2 │×────────request─────────▒─────────────────────────▒
   3 ●◄──────request ‹0›───────▒                         ▒
   5 ├──────────grant─────────►● enters                  ▒
   6 │                         ● exits                   ▒
under way: release P2→P1
× lost   ‹k› sent at k   ▒ waits
"
    );
}

/// A message of a service that an elected leader provides belongs to the protocol, and thus to the
/// step that sends it. A message between users is a step of its own.
#[test]
fn only_messages_between_users_add_a_step() {
    for (kind, steps) in [("ask", 1), ("application", 2)] {
        let sent = MessageRecord { layer: Layer::Application, ..message(P1, kind, 1) };
        let records = vec![
            at(0, P1, RecordKind::Boot),
            at(0, P2, RecordKind::Boot),
            at(0, P2, enter()),
            at(0, P2, RecordKind::Send(sent)),
        ];
        let layout = lay_out(&header(2), &records, DiagramOptions::default());
        assert_eq!(layout.steps.len(), steps, "{kind}");
    }
}

#[test]
fn draws_one_numbered_row_per_step() {
    let text = drawn(DiagramOptions::default()).to_text(TimeDirection::Down, RowLabel::Number);
    let numbers: Vec<&str> = text.lines().skip(1).take(6).map(|line| line[..5].trim()).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn horizontal_time_draws_one_line_per_process() {
    let text = drawn(DiagramOptions::default()).to_text(TimeDirection::Right, RowLabel::Place);
    let lines: Vec<&str> = text.lines().take(6).map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "       1   2   3   4   5   6",
            "P1    ──────────────●───┬─────",
            "                ×   ▲   ▼",
            "P2    ──●▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒●███●─",
            "                │",
            "P3    ──────●▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒",
        ]
    );
    assert!(text.contains("request P3→P1 is lost"), "{text}");
}

#[test]
fn text_lines_fit_a_terminal() {
    for size in [1, 2, 7, 30, 33, 100] {
        let all = (0..size).map(ProcessId);
        let mut records: Vec<Record> = all.clone().map(|it| at(0, it, RecordKind::Boot)).collect();
        records.extend(all.clone().map(|it| at(1, it, enter())));
        for (time, to) in (2..).zip(all.clone().skip(1)) {
            let name = "a-message-with-a-name-of-some-length";
            records.push(at(time, P1, RecordKind::Send(message(to, name, u64::from(to.0)))));
            records.push(at(time + 1, to, RecordKind::Receive(message(P1, name, u64::from(to.0)))));
        }
        for clock in [DiagramClock::None, DiagramClock::Lamport, DiagramClock::Vector] {
            let view = DiagramOptions { clock, ..DiagramOptions::default() };
            let layout = lay_out(&header(size), &records, view);
            for direction in [TimeDirection::Down, TimeDirection::Right] {
                let text = layout.to_text(direction, RowLabel::Place);
                let widest = text.lines().map(|line| line.chars().count()).max();
                assert!(
                    widest.is_some_and(|it| it <= 100),
                    "{size} processes, {widest:?}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn causal_scale_uses_longest_chain() {
    let layout = drawn(DiagramOptions { scale: TimeAxis::Causal, ..DiagramOptions::default() });
    let ranks: Vec<u64> = layout.steps.iter().map(|step| step.axis_order.1).collect();
    assert_eq!(ranks, [0, 0, 1, 1, 2, 3], "two requests, a loss, a receipt, the grant, the exit");
    let places: Vec<u32> = (0..6).map(|step| layout.axis_position(step)).collect();
    assert_eq!(places, [0, 0, 100, 100, 200, 300]);
}

#[test]
fn time_scale_is_monotonic_with_minimum_distance() {
    let mut records = story();
    records.push(at(900, P3, RecordKind::Timer("Again".into())));
    let layout = lay_out(&header(3), &records, DiagramOptions::default());
    let places: Vec<u32> = (0..7).map(|step| layout.axis_position(step)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(places[6] - places[5] <= 300, "a long pause is cut short: {places:?}");
    let both = |one: usize, other: usize| places[other] - places[one];
    assert!(both(3, 4) >= 100 && both(4, 5) >= 100, "{places:?}");
}

#[test]
fn clocks_count_steps() {
    let clock = |clock, step: usize| {
        drawn(DiagramOptions { clock, ..DiagramOptions::default() }).clock_label(step)
    };
    assert_eq!(clock(DiagramClock::None, 4), "");
    assert_eq!(clock(DiagramClock::Lamport, 3), "2", "P1 knows of P2's first step");
    assert_eq!(clock(DiagramClock::Lamport, 4), "3");
    assert_eq!(clock(DiagramClock::Vector, 3), "[1,1,0]");
    assert_eq!(clock(DiagramClock::Vector, 4), "[1,2,0]", "and of no step of P3");
}

#[test]
fn window_includes_earlier_conditions_and_messages() {
    let window = TraceWindow { record_numbers: Some(9..=12), ..TraceWindow::default() };
    let layout =
        drawn(DiagramOptions { window, clock: DiagramClock::Lamport, ..DiagramOptions::default() });
    assert_eq!(
        (layout.record_count, layout.shown_records, layout.is_cut_off),
        (15, Some((9, 12)), true)
    );
    let request = &layout.arrows[0];
    assert_eq!(
        (request.sent_in_step, request.ended_in_step, request.outcome),
        (None, Some(0), MessageOutcome::Arrives)
    );
    let waits = layout.spans.iter().find(|span| span.at == P3).unwrap();
    assert_eq!((waits.condition, waits.from, waits.until), (ProcessCondition::Waiting, None, None));
    assert_eq!(layout.clock_label(0), "2", "clocks know what happened before the window");
    assert_eq!(layout.steps[0].number, Some(4), "and so do numbers");
    assert_eq!(layout.caption(), "tiny, 3 processes, events 9 to 12 of 15");
    let window =
        TraceWindow { from: Some(4_000_000), to: Some(5_000_000), ..TraceWindow::default() };
    let layout = drawn(DiagramOptions { window, ..DiagramOptions::default() });
    assert_eq!(layout.shown_records, Some((11, 12)));
}

/// A step whose first records lie before the window is one step: no clock counts it twice.
#[test]
fn window_can_begin_inside_step() {
    let clock = DiagramClock::Lamport;
    let whole = drawn(DiagramOptions { clock, ..DiagramOptions::default() });
    let window = TraceWindow { record_numbers: Some(5..=15), ..TraceWindow::default() };
    let layout = drawn(DiagramOptions { window, clock, ..DiagramOptions::default() });
    assert_eq!((whole.steps.len(), layout.steps.len()), (6, 6));
    for step in 0..6 {
        assert_eq!(layout.clock_label(step), whole.clock_label(step), "step {step}");
    }
    let numbers: Vec<_> = layout.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers[0], None, "the step has its number before the window");
    assert!(layout.steps.iter().zip(&whole.steps).skip(1).all(|(it, all)| it.number == all.number));
}

/// A step of a process that is not drawn never appears on the lifeline of another process.
#[test]
fn text_omits_steps_of_processes_that_are_not_drawn() {
    let last = ProcessId(59);
    let mut records: Vec<Record> = (0..60).map(|it| at(0, ProcessId(it), enter())).collect();
    records.push(at(1, last, RecordKind::Send(message(P1, "request", 1))));
    records.push(at(2, P1, RecordKind::Receive(message(last, "request", 1))));
    records.push(at(3, last, RecordKind::Crash));
    let layout = lay_out(&header(60), &records, DiagramOptions::default());
    let down = layout.to_text(TimeDirection::Down, RowLabel::Place);
    let drawn = down.lines().next().expect("a line of names").matches('P').count();
    assert!(drawn < 60 && down.contains(&format!("{drawn} of 60 processes are drawn")), "{down}");
    let marks = |text: &str| text.matches('●').count() + text.matches('×').count();
    assert_eq!(marks(&down), drawn + 1, "one request of each, and one message arrives: {down}");
    let right = layout.to_text(TimeDirection::Right, RowLabel::Place);
    assert!(!right.contains("P60 crashes") && right.contains("request P60→P1"), "{right}");
}

#[test]
fn first_token_sender_had_it_from_start() {
    let records = [
        at(0, P1, RecordKind::Boot),
        at(0, P2, RecordKind::Boot),
        at(1, P1, RecordKind::Timer("Pass".into())),
        at(1, P1, RecordKind::Send(message(P2, "token", 1))),
        at(2, P2, RecordKind::Receive(message(P1, "token", 1))),
        at(3, P2, RecordKind::Crash),
    ];
    let layout = lay_out(&header(2), &records, DiagramOptions::default());
    let held: Vec<_> =
        layout.spans.iter().filter(|span| span.condition == ProcessCondition::Token).collect();
    let spans: Vec<_> = held.iter().map(|span| (span.at, span.from, span.until)).collect();
    assert_eq!(spans, [(P1, None, Some(0)), (P2, Some(1), Some(2))]);
    assert!(layout.arrows[0].carries_token);
    assert!(
        layout.spans.iter().any(|span| span.at == P2 && span.condition == ProcessCondition::Down)
    );
}

#[test]
fn leader_keeps_crown_until_it_learns_of_another() {
    let elect = || RecordKind::Command(election::Command::Elect.into());
    let records = [
        at(0, P1, elect()),
        at(0, P1, elected(P1, 1)),
        at(3, P1, RecordKind::Timer("Late".into())),
        at(3, P1, elected(P2, 2)),
    ];
    let layout = lay_out(&header(2), &records, DiagramOptions::default());
    let led =
        layout.spans.iter().find(|span| span.condition == ProcessCondition::Leading(1)).unwrap();
    assert_eq!((led.from, led.until), (Some(0), Some(1)));
    let text = layout.to_text(TimeDirection::Down, RowLabel::Place);
    assert!(text.contains("● elects, leads (term 1)"), "{text}");
    assert!(text.contains("● timer late, P2 leads"), "{text}");
    let svg = layout.to_svg(TimeDirection::Right);
    assert!(svg.contains(">elects, term 1</text>") && svg.contains("class=\"crown\""), "{svg}");
}

#[test]
fn partition_is_shaded_until_it_heals() {
    let records = [
        at(0, P1, enter()),
        at(1, RecordSubject::Parent, RecordKind::Partition(vec![vec![P1], vec![P2, P3]])),
        at(2, P2, enter()),
        at(3, RecordSubject::Parent, RecordKind::Heal),
        at(4, P3, enter()),
    ];
    for scale in [TimeAxis::Time, TimeAxis::Causal] {
        let layout =
            lay_out(&header(3), &records, DiagramOptions { scale, ..DiagramOptions::default() });
        let region = &layout.partition_spans[0];
        assert_eq!((region.from, region.until), (Some(1), Some(3)));
        let along: Vec<u32> = (0..5).map(|step| layout.axis_position(step)).collect();
        assert!(along.is_sorted_by(|one, other| one < other), "{along:?}");
        let svg = layout.to_svg(TimeDirection::Right);
        assert_eq!((svg.matches("\"side0\"").count(), svg.matches("\"side1\"").count()), (1, 2));
        assert!(svg.contains(">partition P1 | P2 P3</text>"), "{svg}");
    }
}

#[test]
fn duplicate_message_is_drawn_twice() {
    let mut records = story();
    records.insert(5, at(0, P2, RecordKind::Duplicate(message(P1, "request", 1))));
    records.push(at(8, P1, RecordKind::Receive(message(P2, "request", 1))));
    let layout = lay_out(&header(3), &records, DiagramOptions::default());
    let is_it = |from, outcome| {
        let requests = layout.arrows.iter().filter(|it| it.message == "request");
        requests.filter(|it| it.from == from && it.outcome == outcome).count()
    };
    assert_eq!((is_it(P2, MessageOutcome::Arrives), is_it(P3, MessageOutcome::Lost)), (2, 1));
    assert!(layout.steps.iter().any(|step| matches!(step.cause, StepCause::Duplicates(_))));
}

#[test]
fn svg_is_deterministic_with_integers_and_description() {
    for direction in [TimeDirection::Down, TimeDirection::Right] {
        let [svg, again] = [0, 1].map(|_| drawn(DiagramOptions::default()).to_svg(direction));
        assert_eq!(svg, again);
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\""));
        let (title, description) = ("tiny, 3 processes", "P2 enters. P2 exits.");
        assert!(svg.contains(&format!("<title id=\"title\">{title}</title>")), "{svg}");
        assert!(svg.contains(&format!(" {description}</desc>")), "{svg}");
        assert!(svg.contains("prefers-color-scheme:dark"));
        let body = svg.split("</defs>").nth(1).unwrap();
        let attributes = body.split('"').skip(1).step_by(2);
        assert!(attributes.clone().all(|it| !it.contains('.')), "numbers are whole");
        for tag in ["g", "text", "title"] {
            let opened = body.matches(&format!("<{tag}>")).count()
                + body.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, body.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}

/// A kind of message has the same color in every window of a run. The legend lists the kinds if the
/// window contains several.
#[test]
fn message_kind_looks_the_same_in_every_window() {
    for direction in [TimeDirection::Down, TimeDirection::Right] {
        let svg = drawn(DiagramOptions::default()).to_svg(direction);
        let explained = |kind: &str| {
            let (suffix, mut lines) = (format!(">{kind}</text>"), svg.lines());
            lines.any(|it| it.contains("\"small\"") && it.ends_with(&suffix))
        };
        assert!(["request", "grant", "release"].into_iter().all(explained), "{svg}");
        assert_eq!(svg.matches("class=\"arrow kind1\"").count(), 2, "in the picture and below it");
        assert!(svg.contains("url(#head1)") && svg.contains("id=\"head1\""), "{svg}");
        let window = TraceWindow { record_numbers: Some(10..=12), ..TraceWindow::default() };
        let grant = drawn(DiagramOptions { window, ..DiagramOptions::default() }).to_svg(direction);
        assert_eq!(grant.matches("class=\"arrow kind1\"").count(), 1, "no legend: {grant}");
    }
}

#[test]
fn names_are_escaped_for_xml() {
    let records = [at(0, P1, RecordKind::Note("a < b & c > d".into()))];
    let svg = lay_out(&header(1), &records, DiagramOptions::default()).to_svg(TimeDirection::Right);
    assert!(svg.contains(">a &lt; b &amp; c &gt; d</text>"), "{svg}");
}

#[test]
fn every_picture_marks_mutual_exclusion_violation() {
    let records = |second: u64| {
        vec![
            at(0, P1, RecordKind::Boot),
            at(0, P2, RecordKind::Boot),
            at(1, P1, enter()),
            at(2, P2, enter()),
            at(3, P1, entered(Fence(1, 0))),
            at(second, P2, entered(Fence(2, 0))),
            at(5, P1, exited()),
        ]
    };
    let laid_out = |second| {
        let mut records = records(second);
        records.sort_by_key(|record| record.time);
        lay_out(&header(2), &records, DiagramOptions::default())
    };
    let layout = laid_out(4);
    let [mark] = &layout.violation_marks[..] else { panic!("{:?}", layout.violation_marks) };
    assert_eq!(mark.conflicting_processes, [P1, P2]);
    assert_eq!(layout.steps[mark.step].time, 4 * TICKS_PER_TIME_UNIT);
    assert_eq!(
        layout.steps[mark.conflict_end_step.expect("P1 leaves")].time,
        5 * TICKS_PER_TIME_UNIT
    );
    let text = layout.to_text(TimeDirection::Down, RowLabel::Place);
    assert!(text.contains("\n   4✗"), "{text}");
    assert!(text.ends_with("{P1, P2} are inside\n"), "{text}");
    let svg = layout.to_svg(TimeDirection::Right);
    assert_eq!(svg.matches("class=\"violation\"").count(), 2, "{svg}");
    assert_eq!(svg.matches("class=\"violation-step\"").count(), 1, "{svg}");
    assert!(svg.contains("✗ mutual-exclusion violated"), "{svg}");

    let layout = laid_out(6);
    assert_eq!(layout.violation_marks, [], "one after the other");
    assert!(!layout.to_text(TimeDirection::Down, RowLabel::Place).contains('✗'));
    assert!(!layout.to_svg(TimeDirection::Right).contains("class=\"violation-step\""));
}

/// A step of a real node takes time. In this trace, the violation occurs later than the start of
/// the step that causes it. The diagram must mark this step.
#[test]
fn marks_violating_step_of_real_node() {
    let mut header = header(2);
    header.clock = ClockUnit::Nanosecond;
    let received = RecordKind::Receive(message(P1, "reply", 1));
    let records = [
        at(1, P1, enter()),
        at(1, P2, enter()),
        at(2, P1, RecordKind::Send(message(P2, "reply", 1))),
        at(3, P1, entered(Fence(1, 0))),
        at(4, P2, received),
        Record { time: 4 * TICKS_PER_TIME_UNIT + 70, ..at(4, P2, entered(Fence(2, 0))) },
        at(5, P1, exit()),
        at(5, P1, exited()),
    ];
    let layout = lay_out(&header, &records, DiagramOptions::default());
    let [mark] = &layout.violation_marks[..] else { panic!("{:?}", layout.violation_marks) };
    assert_eq!(
        (mark.conflicting_processes.as_slice(), layout.steps[mark.step].at),
        (&[P1, P2][..], Some(P2))
    );
}
