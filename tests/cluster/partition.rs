//! A network that falls into two: what each lock does on both sides, seen at the resource.

use serde_json::Value;

use crate::running::Running;
use crate::waiting::place;

/// What came of a run of three whose leader is cut off for a while.
fn cut(more: &str) -> Value {
    let line = format!(
        "run -n 3 --partition leader@1s..2500ms --duration 4s --hold 2ms --format json {more}"
    );
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut run = Running::start(&words);
    let status = run.ended();
    assert_eq!(status.code(), Some(0), "{}{}", run.said("out"), run.said("err"));
    let result: Value = serde_json::from_str(&run.said("out")).unwrap();
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
    assert_eq!(result["partitions"][0]["ms"], 1500.0, "{result:#}");
    assert_eq!(result["crashes"], 0, "a fault that is asked for is the only one: {result:#}");
    result
}

/// The leader that was elected because of the cut, and who was cut off.
#[track_caller]
fn heirs(result: &Value) -> [u64; 2] {
    let elections = result["elections"].as_array().unwrap();
    let heir = elections.iter().find(|election| election["cause"] == "partition");
    let heir = heir.unwrap_or_else(|| panic!("an election: {result:#}"));
    [&heir["leader"], &result["partitions"][0]["side"][0]].map(|it| it.as_u64().unwrap())
}

#[test]
fn each_side_of_a_cut_has_a_bully_that_grants_and_the_fences_keep_the_counter_right() {
    let _place = place();
    let result = cut("--election bully");
    let [heir, cut_off] = heirs(&result);
    assert_ne!(heir, cut_off);
    let late = result["refused"].as_u64() > Some(0) || result["overlaps"].as_u64() > Some(0);
    assert!(late, "both sides go on: {result:#}");
}

#[test]
fn of_a_leader_by_majority_that_is_cut_off_nothing_is_refused_and_nothing_overlaps() {
    let _place = place();
    let result = cut("--election raft");
    let [heir, cut_off] = heirs(&result);
    assert_ne!(heir, cut_off);
    assert_eq!([&result["refused"], &result["overlaps"]], [0, 0], "{result:#}");
}

#[test]
fn a_lock_that_asks_everybody_waits_for_the_end_of_a_cut_and_goes_on() {
    let _place = place();
    let result = cut("--mutex ricart-agrawala");
    assert!(result["latency_ms"]["max"].as_f64() > Some(1_400.0), "{result:#}");
    assert_eq!(result["verdicts"]["starvation-freedom"], "holds", "{result:#}");
    assert_eq!([&result["refused"], &result["overlaps"]], [0, 0], "{result:#}");
}
