//! Properties written as expressions: expressions that are accepted, and errors with carets.

use std::sync::Arc;

use serde_json::json;
use tenure_core::service::mutex::Command;
use tenure_core::{Judgement, Layer, ProcessId, Service};
use tenure_trace::property::{
    ExpressionError, ExpressionProperty, PropertyJudge, TemporalOperator, Vocabulary, order_by_step,
};
use tenure_trace::{ClockUnit, MessageRecord, Record, RecordKind};

use crate::kinds::{P1, P2, exit, exited, message};

/// Returns a vocabulary of three processes with a lock, two messages and a state.
fn vocabulary() -> Vocabulary {
    let message = |name: &'static str| {
        RecordKind::Send(MessageRecord {
            message: name.into(),
            layer: Layer::Mutex,
            ..MessageRecord::between_users(ProcessId(1), 0, 1)
        })
    };
    let state = |phase| {
        let state = json!({
            "type": "RicartAgrawala",
            "clock": 3,
            "phase": phase,
            "deferred": ["P2"],
            "requests": [0, 1, 2],
        });
        RecordKind::State(state)
    };
    let waiting = json!({"type": "Waiting", "request": "(3, P1)", "awaited": ["P2", "P3"]});
    let kinds = [message("request"), message("reply"), state(json!("Idle")), state(waiting)];
    let records = kinds.map(|kind| Record::new(0, ProcessId(0), kind));
    let mut vocabulary = Vocabulary::new(3, Service::Mutex);
    vocabulary.learn(&records);
    vocabulary
}

fn parse(form: TemporalOperator, text: &str) -> Result<ExpressionProperty, ExpressionError> {
    ExpressionProperty::parse(form, text, &vocabulary())
}

/// Wrong expressions with their errors. An element contains the form of the property, and then the
/// parts of the error: the problem, the expression, the carets below the wrong part, and the
/// remedy. Carets count letters, not bytes.
const ERRORS: [(TemporalOperator, &str, &str, &str, &str); 13] = [
    (
        TemporalOperator::Never,
        "unknown predicate `insde`",
        "insde(P1) & inside(P3)",
        "^^^^^",
        "nearest: inside; predicates: asks, requested, enters, exits, inside, waiting, crashed, \
         fence, suspects, sent, in_flight, state, count",
    ),
    (
        TemporalOperator::Never,
        "unknown process P4",
        "inside(P1) & inside(P4)",
        "                    ^^",
        "the group is P1 to P3",
    ),
    (
        TemporalOperator::Never,
        "unknown process p1",
        "inside(p1)",
        "       ^^",
        "a process is written P1",
    ),
    (
        TemporalOperator::Always,
        "expected a condition, found a number",
        "count(p: inside(p)) & inside(P1)",
        "^^^^^^^^^^^^^^^^^^^",
        "compare it, as in <= 1",
    ),
    (
        TemporalOperator::Always,
        "expected a number, found a condition",
        "inside(P1) <= 1",
        "^^^^^^^^^^",
        "count(p: …) counts processes that meet a condition",
    ),
    (
        TemporalOperator::Never,
        "state(P1) has no field `phse`",
        "state(P1).phse = Waiting",
        "          ^^^^",
        "nearest: phase; fields: clock, deferred, phase, requests",
    ),
    (
        TemporalOperator::Never,
        "unknown value `Wating`",
        "state(p).phase = Wating",
        "                 ^^^^^^",
        "nearest: Waiting; values: Idle, Waiting",
    ),
    (
        TemporalOperator::Never,
        "unknown value `idle`",
        "state(p).phase = idle",
        "^^^^^^^^^^^^^^^^^^^^^",
        "nearest: Idle; values: Idle, Waiting",
    ),
    (
        TemporalOperator::Never,
        "unknown message `replay`",
        "in_flight(replay, p, _) > 1",
        "          ^^^^^^",
        "nearest: reply; messages: reply, request",
    ),
    (
        TemporalOperator::Always,
        "expected ')' or an operator",
        "!(inside(P1) & inside(P2)",
        "                         ^",
        "",
    ),
    (
        TemporalOperator::LeadsTo,
        "expected '~>' between two conditions",
        "waiting(p) => inside(p)",
        "^^^^^^^^^^^^^^^^^^^^^^^",
        "'~>' stands once, between the two sides of --leads-to 'waiting(p) ~> inside(p)'",
    ),
    (
        TemporalOperator::Never,
        "`leads` needs leaders, which the algorithm does not have",
        "leads(p) & crashed(p)",
        "^^^^^",
        "predicates: asks, requested, enters, exits, inside, waiting, crashed, fence, \
         suspects, sent, in_flight, state, count",
    ),
    (
        TemporalOperator::Never,
        "unexpected character '§'",
        "inside(p) § waiting(p)",
        "          ^",
        "operators: & | ! => = != < <= > >= in + - ~>",
    ),
];

#[test]
fn error_points_at_place_and_names_remedy() {
    for (form, problem, text, carets, remedy) in ERRORS {
        let error = parse(form, text).expect_err(text).to_string();
        let expected = format!("{problem}\n  {text}\n  {carets}\n  {remedy}");
        assert_eq!(error, expected.trim_end(), "{text}");
    }
}

#[test]
fn other_errors_have_places() {
    let cases = [
        ("", 0..0),
        ("inside(P1) &", 12..12),
        ("inside", 0..6),
        ("inside(P1, P2)", 0..14),
        ("P1", 0..2),
        ("1 < 2 < 3", 6..7),
        ("(inside(P1)) inside(P2)", 13..19),
        ("forall P1: inside(P1)", 7..9),
        ("exists p inside(p)", 9..15),
        ("inside(P1) = 3", 0..14),
        ("state(P1)", 0..9),
        ("state(P1).clock.more = 1", 16..20),
        ("99999999999999999999 < 1", 0..20),
        ("inside(P1) ~> inside(P2)", 0..24),
        ("forall a, b, c, d, e: a != e", 19..20),
        ("forall a, b: exists c: count(d, e: d != e) > 1", 32..33),
    ];
    for (text, span) in cases {
        let error = parse(TemporalOperator::Never, text).expect_err(text);
        assert_eq!(error.span(), span, "{text}: {error}");
    }
}

#[test]
fn accepts_the_language() {
    let texts = [
        "inside(P1) & inside(P3)",
        "inside(p) && inside(q) && p != q",
        "!(waiting(p) -> inside(p)) | false",
        "forall p, q: inside(p) & inside(q) => p = q",
        "count(p: inside(p)) + 1 <= 2 - count(p, q: p != q & inside(p))",
        "exists p: state(p).phase = Waiting & state(p).clock > 3",
        "q in state(p).phase.awaited",
        "state(p).requests[q] >= -1 & state(p).requests[0] = 0",
        "sent(request) & sent(reply, p) & sent(reply, _, q)",
        "in_flight(request, P1, P2) = 1",
        "fence(p) < fence(q) & suspects(p, q) & crashed(q)",
        "state(p).deferred = None",
        "(inside(p)) = (state(p).phase = Idle)",
        "(forall a, b, c, d: a = d) | (exists a, b, c, d: a != d)",
    ];
    for text in texts {
        parse(TemporalOperator::Never, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    parse(TemporalOperator::LeadsTo, "waiting(p) ~> inside(p) | crashed(p)")
        .expect("a leads-to property");
}

#[test]
fn any_text_is_parsed_without_panic() {
    let parts = ["inside", "(", ")", "p", "P1", "&", "!", "count", ":", "1", "~>", ".", "[", "é"];
    let mut texts = vec![String::new()];
    for _ in 0..3 {
        let longer = |text: &String| parts.map(|part| format!("{text}{part} "));
        texts = texts.iter().flat_map(longer).collect();
        for text in &texts {
            let _ = parse(TemporalOperator::LeadsTo, text).map_err(|error| error.to_string());
        }
    }
    let deep = "!(".repeat(1000);
    assert!(parse(TemporalOperator::Never, &deep).is_err());
}

/// Returns true if an expression is true in some state of a run of three processes. In this run, P1
/// requests the lock and does not enter.
fn is_true_at_request(text: &str) -> bool {
    let property = parse(TemporalOperator::Never, text).expect("a valid expression");
    let mut judge = PropertyJudge::new(&[Arc::new(property)], 3, Service::Mutex, &[]);
    for process in (0..3).map(ProcessId) {
        judge.apply_record(&Record::new(0, process, RecordKind::Boot));
    }
    let request = RecordKind::Command(Command::Enter.into());
    judge.apply_record(&Record::new(1, ProcessId(0), request));
    judge.finish(true)[0].judgement == Judgement::Violated
}

#[test]
fn evaluates_chains_of_many_operands() {
    let joined = |operand: &str, operator: &str| vec![operand; 10_000].join(operator);
    let cases = [
        (joined("waiting(P1)", " & "), true),
        (joined("waiting(P1)", " & ") + " & waiting(P2)", false),
        (joined("waiting(P2)", " | "), false),
        (joined("waiting(P2)", " | ") + " | waiting(P1)", true),
        (joined("1", " + ") + " = 10000", true),
        (joined("1", " + ") + " = 9999", false),
        (joined("1", " - ") + " = -9998", true),
        ("7 - 2 + 1 = 6 & 7 - (2 + 1) = 4 & 7 - (2 - 1) = 6".to_owned(), true),
        ("waiting(P2) & waiting(P2) | waiting(P1)".to_owned(), true),
        ("waiting(P2) & (waiting(P2) | waiting(P1))".to_owned(), false),
    ];
    for (text, expected) in cases {
        let end = &text[text.len().saturating_sub(40)..];
        assert_eq!(is_true_at_request(&text), expected, "{end}");
    }
}

#[test]
fn rejects_paths_of_many_steps() {
    // This vocabulary has no sample of a state, so any field is accepted.
    let vocabulary = Vocabulary::new(3, Service::Mutex);
    let parse = |steps: String| {
        let text = format!("state(P1){steps} = 1");
        ExpressionProperty::parse(TemporalOperator::Never, &text, &vocabulary)
    };
    parse(".next".repeat(64)).expect("at most 64 steps");
    for step in [".next", "[0]", ".next[P1]"] {
        let error = parse(step.repeat(1_000)).expect_err("more than 64 steps");
        assert_eq!(error.problem(), "too deeply nested");
    }
}

#[test]
fn evaluates_nested_comparisons_of_conditions() {
    const LEVELS: usize = 60;
    let nested = |innermost: &str| {
        format!("{}{innermost}{}", "(".repeat(LEVELS), " = waiting(P1))".repeat(LEVELS))
    };
    assert!(is_true_at_request(&nested("waiting(P1)")));
    // A comparison is true if both sides are false.
    assert!(is_true_at_request("waiting(P2) = inside(P1)"));
    assert!(!is_true_at_request("(waiting(P1) = inside(P1)) & waiting(P1)"));
}

#[test]
fn real_step_contains_all_its_effects() {
    let receive = RecordKind::Receive(message(P1, "request", 1));
    let heartbeat = MessageRecord { layer: Layer::Detector, ..message(P2, "heartbeat", 2) };
    let records = [
        (P1, RecordKind::Boot),
        (P2, RecordKind::Boot),
        (ProcessId(2), RecordKind::Boot),
        (P1, exit()),
        (P2, receive),
        (P1, RecordKind::Send(message(P2, "reply", 1))),
        (P2, RecordKind::Send(message(P1, "request", 1))),
        (P1, exited()),
        (P1, RecordKind::Send(heartbeat)),
    ];
    let records = (0..).zip(records).map(|(time, (at, kind))| Record::new(time, at, kind));
    let records: Vec<Record> = records.collect();
    let is_true = |text: &str| {
        let property = Arc::new(parse(TemporalOperator::Never, text).expect("a valid expression"));
        let judge = PropertyJudge::new(&[property], 3, Service::Mutex, &[]);
        let mut judge = judge.with_clock_unit(ClockUnit::Nanosecond);
        for record in order_by_step(&records, ClockUnit::Nanosecond) {
            judge.apply_record(record);
        }
        judge.finish(true)[0].judgement == Judgement::Violated
    };
    assert!(is_true("exits(P1) & sent(reply, P1)"));
    assert!(is_true("sent(request, P2)"));
    assert!(!is_true("exits(P1) & sent(request)"), "another process sends the request");
    let place = |kind: &RecordKind| {
        let ordered = order_by_step(&records, ClockUnit::Nanosecond);
        ordered.iter().position(|record| record.kind == *kind)
    };
    assert_eq!((place(&exited()), place(&records[8].kind)), (Some(5), Some(8)));
}
