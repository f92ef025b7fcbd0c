//! Scenarios and questions of the race for a counter, and of the algorithms that only the checker
//! runs: locks in shared memory, and generals of whom some lie.

use serde_json::json;

use crate::question_results::answer;
use crate::scenarios::observed;
use crate::shell::{tenure, text};

#[test]
fn race() {
    let observed = observed("race");
    assert_eq!(observed["schedules_by_final_value"], json!({"4": 9, "5": 2, "6": 9}));
    assert_eq!(observed["schedules_by_final_value_under_a_lock"], json!({"5": 2}));
    assert_eq!(observed["orders_by_final_value_of_the_record"], json!({"4": 2, "5": 2, "6": 2}));
    assert_eq!(observed["by_final_value_under_a_lock"], json!({"5": 2}));
}

#[test]
fn locks_in_shared_memory() {
    let observed = observed("peterson-lock");
    assert_eq!(
        (&observed["states"], &observed["without_a_turn_one_inside"]),
        (&json!(67), &json!("holds"))
    );
}

#[test]
fn bakery() {
    let bounded = observed("bakery")["both_enter_or_both_wait_one_inside"].clone();
    assert_eq!(bounded, json!(["violated", "holds"]));
}

#[test]
fn test_and_set() {
    assert_eq!(observed("test-and-set")["every_process_enters"], "violated");
}

#[test]
fn byzantine_generals() {
    let observed = observed("byzantine-generals");
    assert_eq!(observed["messages_of_four_generals_and_one_liar"], 9);
    assert_eq!(observed["three_generals_the_order_of_a_loyal_commander"], "violated");
}

#[test]
fn flags_or_tickets_make_a_lock_in_shared_memory() {
    let observed = answer("Q-63");
    assert_eq!((observed.one("the_bakery"), observed.one("steps")), ("holds".into(), 9.into()));
    assert_eq!(observed.one("test_and_set"), "violated");
}

#[test]
fn agreement_among_liars_needs_more_than_three_for_each() {
    let observed = answer("Q-64");
    assert_eq!(observed.one("the_same_order"), "holds");
    assert_eq!(
        (observed.one("three_generals"), observed.one("steps")),
        ("violated".into(), 5.into())
    );
}

#[test]
fn server_record_races_like_a_variable() {
    let observed = answer("Q-04");
    assert_eq!(observed.one("orders_by_final_value"), json!({ "4": 2, "5": 2, "6": 2 }));
    assert_eq!(observed.one("orders_by_final_value_with_the_lock"), json!({ "5": 2 }));
}

#[test]
fn more_clients_lose_more_updates() {
    let observed = answer("Q-05");
    assert_eq!(
        (observed.one("orders"), observed.one("orders_that_end_in_3")),
        (90.into(), 6.into())
    );
    assert_eq!(observed.one("orders_by_final_value_with_the_lock"), json!({ "3": 6 }));
    assert_eq!(observed.one("among_100"), 3);
}

#[test]
fn exclusive_resources_need_mutual_exclusion() {
    let observed = answer("Q-06");
    assert_eq!((observed.one("orders_with_the_lock"), observed.one("steps")), (2.into(), 2.into()));
    assert_eq!(observed.one("at_most_two_print"), "holds");
}

#[test]
fn outcomes_of_the_race() {
    let observed = answer("Q-33");
    assert_eq!(observed.one("schedules_by_final_value"), json!({ "4": 9, "5": 2, "6": 9 }));
    assert_eq!(observed.one("schedules_by_final_value_under_a_lock"), json!({ "5": 2 }));
}

#[test]
fn counterexample_is_a_trace_that_names_its_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("both.ndjson");
    let line = "check peterson-lock -n 2 --variant turn-first";
    text(&format!("{line} --trace {}", path.display()), 1);
    let verified = text(&format!("trace verify {}", path.display()), 1);
    assert!(verified.contains("mutual-exclusion at"), "{verified}");
    let shown = text(&format!("trace show {} --kind memory", path.display()), 0);
    assert_eq!(shown.lines().count(), 7, "{shown}");
    assert!(shown.contains("P1 writes TURN[1] := 1"), "{shown}");
    let refused = tenure(&format!("trace replay {}", path.display()));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains(&format!("repeat `tenure {line}`")), "{message}");
}
