//! Tests of synchronous rounds: scenarios, questions, and the options of the command.

use serde_json::{Map, json};

use crate::question_results::assert_answers;
use crate::scenarios::assert_observed;
use crate::shell::{assert_fails_with, data, tenure};

#[test]
fn scenarios_and_questions_of_rounds() {
    assert_observed(&json!({
        "floodset": { "messages": 36, "rounds": 3.0, "f_rounds_agreement": "violated" },
        "time-slice -n 9": { "messages": 9, "short_phases": "violated" },
        "variable-speeds": { "time_slice_n_messages": 32.0 },
    }));
    assert_answers(&json!({
        "Q-53": {
            "agreement_in_f_rounds": "violated",
            "one_crash": "holds",
            "two_crashes": "violated",
        },
        "Q-54": { "time_slice": 32.0, "identifier_10_with_speeds": 3075.0 },
    }));
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
        ("check time-slice -n 2 --ids 0,1", "time-slice expects positive identifiers"),
        ("simulate floodset --drift 0.1", "a drift is not possible in synchronous rounds"),
        ("simulate floodset --step 1", "a duration of steps is not possible"),
        ("simulate coordinated:time-slice", "time-slice needs synchronous rounds"),
    ] {
        assert_fails_with(&tenure(line), 2, message);
    }
    let warned = String::from_utf8(tenure("check floodset --latency 0..1").stderr).expect("text");
    assert!(warned.contains("--latency has no effect on floodset"), "{warned}");
}
