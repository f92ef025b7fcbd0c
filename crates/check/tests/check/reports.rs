//! Tests of the output of a check. A check can print JSON, a run or a diagram, and can write a
//! trace.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_algorithms::mutex::Central;
use tenure_check::Check;
use tenure_core::Property;
use tenure_core::monitors::{MutualExclusion, RequestOrder};
use tenure_trace::{Judgement, RecordKind, Trace, merge, verify, verify_files};

use crate::by_service::with;
use crate::catalogue::safe_and_live;
use crate::textbook::{Mistake, Textbook};

fn wrong() -> Check<Textbook> {
    safe_and_live(Check::with_protocol_config(2, Mistake::NoTieBreakReply).fifo())
}

#[test]
fn serializes_report_as_json() {
    let report = wrong().run();
    let mut json: Value = serde_json::to_value(&report).expect("serializable report");
    assert!(json["seconds"].is_f64());
    json["seconds"] = json!(0.1);
    let steps = [
        "P1 asks to enter",
        "P2 asks to enter",
        "P2 receives request from P1",
        "P1 receives request from P2",
        "P2 receives reply from P1",
        "P1 receives reply from P2",
    ];
    let counterexample = json["counterexample"].clone();
    assert_eq!(counterexample["property"], "mutual-exclusion");
    assert_eq!(counterexample["length"], 6);
    let found = counterexample["steps"].as_array().unwrap().iter().filter_map(Value::as_str);
    let found: BTreeSet<&str> = found.collect();
    assert_eq!(found, BTreeSet::from(steps), "the six steps in one of several orders");
    assert_eq!(json["counterexamples"][0], counterexample);
    let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let wanted = "algorithm counterexample counterexamples depth fairness n properties reduction \
        seconds states transitions verdict";
    assert_eq!(keys.join(" "), wanted);
    assert_eq!(json["algorithm"], "textbook");
    assert_eq!(json["verdict"], "violated");
    let judged = json!({"mutual-exclusion": "violated", "starvation-freedom": "holds"});
    assert_eq!(json["properties"], judged);
    assert_eq!(json["reduction"], "none");
}

#[test]
fn reports_declared_bounds_that_pruned_states() {
    let check = Check::<Textbook>::new(2).in_flight_per_link(1).always(MutualExclusion::new());
    let report = check.request_limits(2).run();
    let json = serde_json::to_value(&report).expect("serializable report");
    assert_eq!(json["bounds"], json!({"in_flight": 1}));
    assert_eq!(json["verdict"], "holds");
    assert!(report.to_string().contains("holds within 1 message on a link"), "{report}");
}

#[test]
fn prints_run_and_diagram() {
    let report = Check::<Textbook>::new(2)
        .request_limits([1, 0])
        .max_losses(1)
        .check_starvation_freedom()
        .run();
    let found = report.counterexample("starvation-freedom").expect("a request is lost");
    let run = "   1 P1 asks to enter\n   2 request from P1 to P2 is lost\n";
    assert_eq!(found.run.to_string(), run);
    let diagram = "     P1                        P2\n   \
        1 ● requests                │\n   \
        2 ▒─────────request────────×│\n\
        × lost   ▒ waits\n";
    assert_eq!(found.diagram(), diagram);
    let wide = Check::<Textbook>::new(9)
        .request_limits(1)
        .max_losses(1)
        .check_starvation_freedom()
        .max_states(50_000);
    for found in &wide.run().counterexamples {
        assert!(found.diagram().lines().all(|line| line.chars().count() <= 100));
    }
}

#[test]
fn counterexample_trace_has_same_judgement() {
    let report = wrong().run();
    let found = report.counterexample("mutual-exclusion").expect("mutual exclusion is violated");
    let folder = tempfile::tempdir().expect("a folder for the trace");
    let path = folder.path().join("counterexample.ndjson");
    found.save(&path).expect("the trace is written");
    let trace = Trace::read(&path).expect("the trace is read");
    assert_eq!(trace.records.len(), found.trace.records.len());
    let verification = verify_files(&[&path]).expect("the trace is with_properties");
    let with_properties = verification.properties.get(&Property::MutualExclusion);
    assert!(
        with_properties.is_some_and(|with_properties| *with_properties != Judgement::Holds),
        "{verification:?}"
    );
}

#[test]
fn trace_carries_causality_of_its_property() {
    let central = tenure_algorithms::mutex::central::Config::default();
    let check = with::<Central>(3, central).request_limits([0, 1, 1]).max_application_messages(1);
    let report = check.always(RequestOrder::new()).run();
    let found = report.counterexample("order").expect("violated property");
    let merged = merge(vec![found.trace.clone()]).expect("one trace is one");
    let verification = verify(&merged);
    assert!(verification.contradictions == 0 && verification.unmatched == 0, "{verification:?}");
    let order = verification.properties.get(&Property::FirstComeFirstServed);
    assert_eq!(order, Some(&Judgement::Violated), "{verification:?}");
}

#[test]
fn trace_records_lost_message_as_drop() {
    let report = Check::<Textbook>::new(2)
        .request_limits([1, 0])
        .max_losses(1)
        .check_starvation_freedom()
        .run();
    let found = report.counterexample("starvation-freedom").expect("a request is lost");
    let kinds: Vec<&str> = found.trace.records.iter().map(|record| record.kind.name()).collect();
    let context = ["boot", "state", "boot", "state", "command", "send", "state", "drop", "end"];
    assert_eq!(kinds, context);
    let dropped = found.trace.records.iter().find_map(|record| match &record.kind {
        RecordKind::Drop(message_record) => Some(message_record.number),
        _ => None,
    });
    assert_eq!(dropped, Some(1));
}
