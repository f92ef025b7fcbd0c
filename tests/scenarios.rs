//! The worked examples of `tenure scenario`: each holds, and each fails when one thing is changed.

use std::process::{Command, Output};

use serde_json::{Value, json};
use tenure_claims::claims;

fn tenure(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(line.split_whitespace()).output().expect("the command starts")
}

#[track_caller]
fn data(line: &str, status: i32) -> Value {
    let output = tenure(&format!("{line} --format json"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{line}: {told}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// A scenario that holds, and does not when one thing about it is changed: what was seen.
#[track_caller]
fn seen(line: &str) -> Value {
    let told = data(&format!("scenario {line}"), 0);
    assert_eq!(told["holds"], true, "{line}: {told}");
    let broken = data(&format!("scenario {line} --broken"), 1);
    assert_eq!(broken["holds"], false, "{line}: {broken}");
    assert_ne!(broken["observed"], told["observed"], "{line}");
    assert_eq!(broken["expected"], told["expected"], "{line}");
    told["observed"].clone()
}

fn names() -> Vec<String> {
    let list = data("scenario", 0);
    let name = |it: &Value| it["name"].as_str().expect("a name").to_owned();
    list.as_array().expect("a list").iter().map(name).collect()
}

#[test]
fn the_list_has_a_name_a_source_and_a_sentence_for_each() {
    for scenario in data("scenario", 0).as_array().expect("a list") {
        let keys: Vec<_> = scenario.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["name", "says", "source"]);
    }
    let text = String::from_utf8(tenure("scenario").stdout).expect("text");
    for name in names() {
        assert!(text.lines().any(|line| line == name), "{name}");
    }
}

/// Whoever adds a scenario writes a test of it, here.
#[test]
fn every_scenario_has_a_test() {
    let tests = include_str!("scenarios.rs");
    for name in names() {
        // As itself, or followed by options.
        let tested = ["\"", " "].iter().any(|end| tests.contains(&format!("(\"{name}{end}")));
        assert!(tested, "there is no test of {name}");
    }
}

#[test]
fn what_does_not_exist_is_refused_with_what_was_meant() {
    for (line, says) in [
        ("scenario rcae", "nearest are race"),
        ("scenario race -n 3", "race takes --start, and not -n"),
        ("scenario two-generals --min 5 --max 3", "swap them"),
        ("scenario central-empty -n 1", "give 3 to"),
        ("scenario -n 3", "belongs to a scenario"),
    ] {
        let output = tenure(line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{line}: {told}");
        assert!(told.contains(says) && output.stdout.is_empty(), "{line}: {told}");
    }
}

#[claims("I-06", "W-01")]
#[test]
fn two_generals() {
    let seen_by_default = seen("two-generals");
    assert_eq!(seen_by_default["who_leads"], json!([1, 1, 2]));
    let wider = seen("two-generals --min 1 --max 5 --seeds 50");
    assert_eq!(
        (&wider["skew_of_the_fastest"], &wider["skew_of_the_slowest"]),
        (&json!(0.0), &json!(4.0))
    );
}

#[claims("W-02", "W-03", "W-04")]
#[test]
fn race() {
    let seen = seen("race");
    assert_eq!(seen["schedules_by_final_value"], json!({"4": 9, "5": 2, "6": 9}));
    assert_eq!(seen["schedules_by_final_value_under_a_lock"], json!({"5": 2}));
}

#[claims("W-05")]
#[test]
fn central_empty() {
    assert_eq!(seen("central-empty")["messages"], 3);
    assert_eq!(seen("central-empty -n 9")["entries_in_order"], json!([2]));
}

#[claims("W-06")]
#[test]
fn central_queue() {
    let seen = seen("central-queue");
    assert_eq!((&seen["entries_in_order"], &seen["messages"]), (&json!([2, 6, 1]), &json!(9)));
}

#[claims("I-34")]
#[test]
fn ring_idle_cost() {
    assert_eq!(seen("ring-idle-cost -n 3")["messages_while_somebody_is_inside"], 0);
}

#[claims("I-33")]
#[test]
fn ring_lap() {
    assert_eq!(seen("ring-lap -n 4")["messages"], 5);
}

#[claims("I-35")]
#[test]
fn ring_delays() {
    for n in [2, 5] {
        assert_eq!(seen(&format!("ring-delays -n {n}"))["messages_per_entry"], n);
    }
}

#[claims("I-36")]
#[test]
fn ring_faults() {
    assert_eq!(seen("ring-faults")["a_duplicated_token_two_inside"], "violated");
}
