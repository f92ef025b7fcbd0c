//! Tests of the properties that textbooks define: their meaning and their names.

use serde_json::json;

use crate::shell::{assert_fails_with, data, tenure, text};

#[test]
fn starvation_freedom_does_not_bound_bypass() {
    let properties = "--property deadlock-freedom,starvation-freedom,bounded-bypass=1";
    for line in ["check raymond -n 3 --entries 2", "check central -n 3 --entries 0,2,2"] {
        let report = data(&format!("{line} {properties}"), 1);
        assert_eq!(report["properties"]["deadlock-freedom"], "holds", "{line}: {report}");
        assert_eq!(report["properties"]["starvation-freedom"], "holds", "{line}: {report}");
        assert_eq!(report["properties"]["bounded-bypass"], "violated", "{line}: {report}");
        assert_eq!(report["fairness"], "weak", "{line}: {report}");
    }
    data("check raymond --property starvation-freedom", 0);
}

#[test]
fn deadlock_violates_both_liveness_properties() {
    let line = "check maekawa -n 3 --quorums pairs --variant basic --property";
    let report = data(&format!("{line} deadlock-freedom,starvation-freedom,bounded-bypass=1"), 1);
    let checked = json!({
        "bounded-bypass": "holds",
        "deadlock-freedom": "violated",
        "starvation-freedom": "violated",
    });
    assert_eq!(report["properties"], checked);
    let shown = text(&format!("{line} deadlock-freedom"), 1);
    assert!(shown.contains("weak fairness"), "{shown}");
    assert!(shown.contains("P1, P2 and P3 wait, and no process can"), "{shown}");
}

#[test]
fn crashed_coordinator_violates_liveness() {
    let line = "simulate central --crash 1@5 --beyond-assumptions";
    let report = data(line, 1);
    assert_eq!(report["verdicts"]["starvation-freedom"], "violated", "{report}");
    assert_eq!(report["verdicts"]["deadlock-freedom"], "violated", "{report}");
    assert!(report["blocked"].as_array().is_some_and(|blocked| blocked.len() >= 2), "{report}");
    // A run that stops at time 5.5 is too short to decide liveness.
    let cut = data(&format!("{line} --until 5.5"), 3);
    assert_eq!(cut["verdicts"]["starvation-freedom"], "incomplete", "{cut}");
    assert_eq!(cut["verdicts"]["deadlock-freedom"], "incomplete", "{cut}");
}

#[test]
fn every_requested_property_of_a_simulation_is_judged() {
    for (line, property, verdict) in [
        ("central -n 4", "local-mutual-exclusion", "holds"),
        ("central -n 4", "mutual-exclusion-strict", "holds"),
        ("central -n 4 --property at-most-k", "mutual-exclusion", "holds"),
        ("k-mutex -n 4 --hold 50", "local-mutual-exclusion", "violated"),
        ("k-mutex -n 4 --hold 50", "mutual-exclusion-strict", "violated"),
        ("k-mutex -n 4 --hold 50", "fencing", "violated"),
    ] {
        let status = i32::from(verdict == "violated");
        let report = data(&format!("simulate {line} --property {property}"), status);
        assert_eq!(report["verdicts"][property], verdict, "{line} --property {property}: {report}");
    }
}

#[test]
fn old_names_are_refused_with_the_new_ones() {
    for (line, message) in [
        ("check central --property no-starvation", "starvation-freedom"),
        ("check central --property no-starvation", "bounded-bypass=1"),
        ("check central --property bypass", "bounded-bypass"),
        ("check central --property bypass=2", "bounded-bypass=2"),
        ("check central --property progress", "deadlock-freedom"),
        ("simulate central --property progress", "starvation-freedom"),
        ("simulate central --property no-starvation", "bounded-bypass=1"),
        ("check chang-roberts --property starvation-freedom", "does not apply to chang-roberts"),
    ] {
        assert_fails_with(&tenure(line), 2, message);
    }
    data("check chang-roberts -n 2 --property progress", 0);
}

#[test]
fn first_come_first_served_follows_the_request_order() {
    let report = data("check lamport -n 2 --property fifo", 0);
    assert_eq!(report["properties"], json!({ "order": "holds" }));
    let help = text("check --help", 0);
    assert!(help.contains("First come, first served (FIFO)"), "{help}");
    assert!(help.contains("doorway is the step that issues the request"), "{help}");
    // A request for a leased lock enters the queue only when its session has a key, so another
    // request may overtake it.
    let later = data("check leased -n 2 --property order", 1);
    assert_eq!(later["properties"], json!({ "order": "violated" }));
    assert!(help.contains("weak fairness"), "{help}");
}

#[test]
fn simulation_accepts_the_bypass_that_it_prints() {
    let line = "simulate central -n 3 --entries 4 --latency exp:8 --seed 1 --runs 20 --property";
    let measured = data(&format!("{line} bounded-bypass"), 0);
    assert!(measured["bypass_max"].is_u64(), "{measured}");
    let checked = data(&format!("{line} bounded-bypass=1"), 1);
    assert!(checked["summary"]["violated"]["bounded-bypass"].as_u64() > Some(0), "{checked}");
    let ring = data("simulate token-ring -n 3 --entries 4 --latency exp:8", 0);
    assert_eq!(ring["verdicts"]["bounded-bypass"], "holds", "the card promises it: {ring}");
}

#[test]
fn rejections_name_the_fault_before_the_card() {
    for (line, message) in [
        ("check bully -n 2 --lose 1", "bully: messages are lost, and its card says: "),
        ("simulate token-ring --lose 0.1", "token-ring: messages are lost, and its card says: "),
        ("check ricart-agrawala -n 2 --crash 1", "a process crashes, and its card says: "),
    ] {
        assert_fails_with(&tenure(line), 2, message);
    }
}
