//! Tests of scenarios and questions about the race for a counter, and about algorithms that only
//! `tenure check` runs. These algorithms are locks in shared memory, and agreement among generals
//! who may lie.

use serde_json::json;

use crate::question_results::assert_answers;
use crate::scenarios::assert_observed;
use crate::shell::{tenure, text};

#[test]
fn scenarios_of_the_race_of_shared_memory_and_of_generals() {
    assert_observed(&json!({
        "race": {
            "schedules_by_final_value": { "4": 9, "5": 2, "6": 9 },
            "schedules_by_final_value_under_a_lock": { "5": 2 },
            "orders_by_final_value_of_the_record": { "4": 2, "5": 2, "6": 2 },
            "by_final_value_under_a_lock": { "5": 2 },
        },
        "peterson-lock": { "states": 67, "without_a_turn_one_inside": "holds" },
        "bakery": { "both_enter_or_both_wait_one_inside": ["violated", "holds"] },
        "test-and-set": { "every_process_enters": "violated" },
        "byzantine-generals": {
            "messages_of_four_generals_and_one_liar": 9,
            "three_generals_the_order_of_a_loyal_commander": "violated",
        },
    }));
}

#[test]
fn questions_of_the_race_of_shared_memory_and_of_generals() {
    assert_answers(&json!({
        "Q-04": {
            "orders_by_final_value": { "4": 2, "5": 2, "6": 2 },
            "orders_by_final_value_with_the_lock": { "5": 2 },
        },
        "Q-05": {
            "orders": 90,
            "orders_that_end_in_3": 6,
            "orders_by_final_value_with_the_lock": { "3": 6 },
            "among_100": 3,
        },
        "Q-06": { "orders_with_the_lock": 2, "steps": 2, "at_most_two_print": "holds" },
        "Q-33": {
            "schedules_by_final_value": { "4": 9, "5": 2, "6": 9 },
            "schedules_by_final_value_under_a_lock": { "5": 2 },
        },
        "Q-63": { "the_bakery": "holds", "steps": 9, "test_and_set": "violated" },
        "Q-64": { "the_same_order": "holds", "three_generals": "violated", "steps": 5 },
    }));
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
