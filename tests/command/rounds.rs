//! Synchronous rounds: scenarios, questions, and the options of the command.

use serde_json::{Map, json};

use crate::question_results::answer;
use crate::scenarios::observed;
use crate::shell::{assert_fails_with, data, tenure};

#[test]
fn floodset() {
    let observed = observed("floodset");
    assert_eq!((&observed["messages"], &observed["rounds"]), (&json!(36), &json!(3.0)));
    assert_eq!(observed["f_rounds_agreement"], "violated");
}

#[test]
fn time_slice() {
    let observed = observed("time-slice -n 9");
    assert_eq!(observed["messages"], 9);
    assert_eq!(observed["short_phases"], "violated");
}

#[test]
fn variable_speeds() {
    let observed = observed("variable-speeds");
    assert_eq!(observed["time_slice_n_messages"], 32.0);
}

#[test]
fn consensus_takes_one_round_more_than_crashes() {
    let facts = answer("Q-53");
    assert_eq!(facts.one("agreement_in_f_rounds"), "violated");
    assert_eq!(
        (facts.one("one_crash"), facts.one("two_crashes")),
        ("holds".into(), "violated".into())
    );
}

#[test]
fn synchronous_ring_needs_few_messages_and_much_time() {
    let facts = answer("Q-54");
    assert_eq!(facts.one("time_slice"), 32.0);
    assert_eq!(facts.one("identifier_10_with_speeds"), 3075.0);
}

#[test]
fn rounds_last_as_long_as_the_longest_latency() {
    let finished = |line: &str| data(line, 0)["finished_at"].as_f64();
    assert_eq!(finished("simulate time-slice -n 4"), Some(4.0));
    assert_eq!(finished("simulate time-slice -n 4 --latency 1..9 --timeout round=9"), Some(36.0));
    let late = "simulate floodset -n 2 --latency 1..9 --timeout round=4 --runs 50";
    let violated = data(late, 1)["summary"]["violated"].as_object().map(Map::len);
    assert!(violated > Some(0), "late messages are missing in their round");
}

#[test]
fn crash_while_sending_loses_a_part_of_the_broadcast() {
    let line = "simulate floodset -n 6 --crash 1@sending:1 --runs 40";
    let lost = |seed: u32| {
        let run = data(&format!("simulate floodset -n 6 --crash 1@sending:1 --seed {seed}"), 0);
        run["faults"]["crash"]["injected"].clone()
    };
    assert_eq!(data(line, 0)["summary"]["violated"], json!({}));
    assert!((1..5).all(|seed| lost(seed) == 1));
}

#[test]
fn environments_other_than_rounds_are_refused() {
    for (line, message) in [
        ("simulate floodset --timing asynchronous", "needs synchronous rounds"),
        ("check time-slice --timing synchronous", "needs synchronous rounds"),
        ("simulate floodset --drift 0.1", "a drift is not possible in synchronous rounds"),
        ("simulate floodset --step 1", "a duration of steps is not possible"),
        ("simulate coordinated:time-slice", "time-slice needs synchronous rounds"),
    ] {
        assert_fails_with(&tenure(line), 2, message);
    }
    let warned = String::from_utf8(tenure("check floodset --latency 0..1").stderr).expect("text");
    assert!(warned.contains("--latency has no effect on floodset"), "{warned}");
}
