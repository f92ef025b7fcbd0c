//! The properties of the textbooks: what each of them judges, and by which names.

use serde_json::json;

use crate::shell::{data, said, tenure, text};

#[test]
fn starvation_freedom_is_no_bound_on_bypass() {
    let properties = "--property deadlock-freedom,starvation-freedom,bounded-bypass=1";
    for line in ["check raymond -n 3 --entries 2", "check central -n 3 --entries 0,2,2"] {
        let told = data(&format!("{line} {properties}"), 1);
        assert_eq!(told["properties"]["deadlock-freedom"], "holds", "{line}: {told}");
        assert_eq!(told["properties"]["starvation-freedom"], "holds", "{line}: {told}");
        assert_eq!(told["properties"]["bounded-bypass"], "violated", "{line}: {told}");
        assert_eq!(told["fairness"], "weak", "{line}: {told}");
    }
    data("check raymond --property starvation-freedom", 0);
}

#[test]
fn a_lock_that_deadlocks_violates_both_freedoms() {
    let line = "check maekawa -n 3 --quorums pairs --variant basic --property";
    let told = data(&format!("{line} deadlock-freedom,starvation-freedom,bounded-bypass=1"), 1);
    let judged = json!({
        "bounded-bypass": "holds",
        "deadlock-freedom": "violated",
        "starvation-freedom": "violated",
    });
    assert_eq!(told["properties"], judged);
    let shown = text(&format!("{line} deadlock-freedom"), 1);
    assert!(shown.contains("weak fairness"), "{shown}");
    assert!(shown.contains("P1, P2 and P3 wait, and no process can"), "{shown}");
}

#[test]
fn processes_that_wait_for_a_dead_coordinator_are_no_holding_run() {
    let line = "simulate central --crash 1@5 --beyond-assumptions";
    let told = data(line, 1);
    assert_eq!(told["verdicts"]["starvation-freedom"], "violated", "{told}");
    assert_eq!(told["verdicts"]["deadlock-freedom"], "violated", "{told}");
    assert!(told["blocked"].as_array().is_some_and(|blocked| blocked.len() >= 2), "{told}");
    // Cut short, such a run decides nothing.
    let cut = data(&format!("{line} --until 5.5"), 3);
    assert_eq!(cut["verdicts"]["starvation-freedom"], "incomplete", "{cut}");
    assert_eq!(cut["verdicts"]["deadlock-freedom"], "incomplete", "{cut}");
}

#[test]
fn old_names_are_refused_with_the_new_ones() {
    for (line, says) in [
        ("check central --property no-starvation", "starvation-freedom"),
        ("check central --property no-starvation", "bounded-bypass=1"),
        ("check central --property bypass", "bounded-bypass"),
        ("check central --property bypass=2", "bounded-bypass=2"),
        ("check central --property progress", "deadlock-freedom"),
        ("simulate central --property progress", "starvation-freedom"),
        ("simulate central --property no-starvation", "bounded-bypass=1"),
        ("check chang-roberts --property starvation-freedom", "does not judge chang-roberts"),
    ] {
        said(&tenure(line), 2, says);
    }
    data("check chang-roberts -n 2 --property progress", 0);
}

#[test]
fn first_come_first_served_is_the_order_of_requests() {
    let told = data("check lamport -n 2 --property fifo", 0);
    assert_eq!(told["properties"], json!({ "order": "holds" }));
    let help = text("check --help", 0);
    assert!(help.contains("First come, first served (FIFO)"), "{help}");
    assert!(help.contains("weak fairness"), "{help}");
}

#[test]
fn a_simulation_takes_the_bypass_that_it_prints() {
    let line = "simulate central -n 3 --entries 4 --latency exp:8 --seed 1 --runs 20 --property";
    let measured = data(&format!("{line} bounded-bypass"), 0);
    assert!(measured["bypass_max"].is_u64(), "{measured}");
    let judged = data(&format!("{line} bounded-bypass=1"), 1);
    assert!(judged["summary"]["violated"]["bounded-bypass"].as_u64() > Some(0), "{judged}");
    let ring = data("simulate token-ring -n 3 --entries 4 --latency exp:8", 0);
    assert_eq!(ring["verdicts"]["bounded-bypass"], "holds", "the card promises it: {ring}");
}

#[test]
fn every_refusal_says_what_happens_before_what_the_card_says() {
    for (line, says) in [
        ("check bully -n 2 --lose 1", "bully: messages are lost, and its card says: "),
        ("simulate token-ring --lose 0.1", "token-ring: messages are lost, and its card says: "),
        ("check ricart-agrawala -n 2 --crash 1", "a process crashes, and its card says: "),
    ] {
        said(&tenure(line), 2, says);
    }
}
