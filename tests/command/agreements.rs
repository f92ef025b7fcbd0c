//! Tests of scenarios on agreement and related services.

use crate::question_results::assert_answers;
use crate::scenarios::assert_observed;
use crate::shell::{data, tenure};
use serde_json::{Value, json};

#[test]
#[ignore = "long: 7 s"]
fn scenarios_of_agreement() {
    assert_observed(&json!({
        "paxos": {
            "messages": 20,
            "any_value_steps": 11,
            "without_a_majority_progress": "violated",
        },
        "chandra-toueg": {
            "p2_s_events": ["decides 3"],
            "a_wrong_suspicion_agreement": "holds",
        },
        "snapshot": {
            "the_picture_might_have_been": "holds",
            "where_messages_overtake": "violated",
            "markers": 20,
            "reports": 4,
        },
        "barrier": {
            "messages_of_a_round_of_8": 24,
            "of_9": 36,
            "all_arrive_before_one_exits": "holds",
        },
        "termination": {
            "announced_when_all_is_done": "holds",
            "eventually_announced": "holds",
        },
        "central-detection": {
            "all_acquire_in_every_schedule": "holds",
            "late_reports": "violated",
            "two_phases": "violated",
            "one_phase": "holds",
        },
        "membership": { "one_view_of_each_number": "holds", "without_a_majority": "violated" },
        "renaming": {
            "no_two_have_one_name": "holds",
            "no_name_is_above_n_t": "holds",
            "without_asking_unique_names": "violated",
            "without_asking_steps": 2,
        },
    }));
}

#[test]
fn scenarios_of_broadcast_and_logs() {
    assert_observed(&json!({
        "reliable-broadcast": {
            "messages": 16,
            "messages_uniformly": 20,
            "after_one_delay_p2_delivers": [],
            "after_two_p2_delivers": ["delivers item 1 of P1"],
        },
        "causal-broadcast": {
            "causes_first": "holds",
            "sender_order_only_causes_first": "violated",
            "steps": 4,
        },
        "atomic-broadcast": {
            "without_consensus_steps": 4,
            "without_consensus_total_order": "violated",
        },
        "raft-log": {
            "one_history": "holds",
            "a_shorter_log_leads": "violated",
            "idle_vote_requests": 4,
            "idle_messages_of_the_leader": 380,
            "both_request_leader": 1,
            "p4_is_down_p1_s_events": ["NotCaughtUp"],
            "p4_is_up_p1_s_events": ["4"],
            "the_new_one": ["commits 4: members P1,P2,P4 of term 1"],
        },
    }));
}

/// Simulates algorithms with messages that take one unit of time each. The measured delay of an
/// algorithm equals the delay that its paper states.
#[test]
fn agreement_delays_match_the_theory() {
    let table = data("compare agreement -n 5 --runs 3", 0);
    let rows = table["algorithms"].as_array().expect("rows");
    let services: Vec<&Value> = rows.iter().map(|row| &row["offers"]).collect();
    for service in ["consensus", "broadcast", "snapshot", "barrier", "renaming"] {
        assert!(services.contains(&&json!(service)), "{service}: {services:?}");
    }
    for (name, delay) in [
        ("paxos", 5.0),
        ("chandra-toueg", 4.0),
        ("reliable-broadcast", 1.0),
        ("atomic-broadcast", 21.0),
        ("chandy-lamport", 3.0),
        ("dissemination-barrier", 3.0),
    ] {
        let row = rows.iter().find(|row| row["name"] == name).expect("a row");
        assert_eq!(row["agreement_time"]["mean"], delay, "{name}");
        assert!(row["theory"]["delay"].is_string() && row["broken"] == json!([]), "{row}");
    }
    let report = tenure("compare agreement -n 5 --runs 3 --only paxos").stdout;
    assert!(String::from_utf8(report).expect("it is text").contains("consensus"));
}

#[test]
fn fault_matrix_of_agreements_has_a_verdict_per_fault() {
    let only = "--only chandra-toueg,reliable-broadcast,dissemination-barrier";
    let matrix = data(&format!("compare agreement --faults {only}"), 0);
    let cell = |row: usize, fault: &str| {
        let faults = matrix["faults"].as_array().expect("columns");
        let place = faults.iter().position(|it| it == fault).expect("a column");
        matrix["algorithms"][row]["cells"][place].clone()
    };
    let verdict = |row: usize, fault: &str| cell(row, fault)["verdict"].clone();
    let crash = "a process crashes at any moment";
    assert_eq!(verdict(1, crash), "ok");
    assert_eq!(verdict(2, crash), "blocked");
    assert_eq!(verdict(2, "a message arrives twice"), "ok");
    assert_eq!(verdict(1, "timeouts are wrong"), "none", "it has none");
    // In a group of two, no majority remains after a crash. The algorithm may then block, although
    // it is correct.
    assert_eq!(verdict(0, crash), "blocked");
    assert_eq!(cell(0, crash)["without_majority"], true);
    assert_eq!(cell(2, crash)["without_majority"], json!(null), "it needs all of them");
}

#[test]
fn card_lists_the_properties_of_its_service() {
    let report = String::from_utf8(tenure("list stable-vectors").stdout).expect("it is text");
    let properties = report.lines().find(|line| line.trim_start().starts_with("properties"));
    assert_eq!(properties, Some("  properties progress, unique-names, small-names"));
}

#[test]
#[ignore = "long: 35 s"]
fn phantom_deadlocks_and_causal_order() {
    assert_answers(&json!({
        "Q-61": { "late_reports": "violated", "the_same_names": "violated", "two_tables": "holds" },
        "Q-62": { "causal_order": "holds", "one_order": "violated" },
    }));
}

#[test]
fn replay_commands_of_agreements_have_no_ineffective_options() {
    let lossy = "simulate paxos -n 3 --lose 0.9 --until 100 --beyond-assumptions";
    let report = data(lossy, 1);
    let replay = report["violations"][0]["replay"].as_str().expect("a command");
    assert!(!replay.contains("--hold"), "{replay}");
    let again = tenure(replay.strip_prefix("tenure ").expect("a command of tenure"));
    assert_eq!((again.status.code(), &*String::from_utf8_lossy(&again.stderr)), (Some(1), ""));
    // Users of resources and of bottles hold them for a time.
    for algorithm in ["central-detection", "drinking-philosophers"] {
        let end = |hold: &str| {
            let report = data(&format!("simulate {algorithm} -n 3 --hold {hold}"), 0);
            report["finished_at"].as_f64().expect("a time")
        };
        assert!(end("0") < end("20"), "{algorithm}");
    }
}

#[test]
fn workloads_of_agreements_are_as_reported() {
    let messages = |options: &str| {
        let output = tenure(&format!("simulate causal-broadcast -n 3 --format json {options}"));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let warning = String::from_utf8(output.stderr).expect("text");
        (report["messages"]["total"].clone(), warning)
    };
    let silent = String::new();
    assert_eq!(messages("--hot 2:3"), (json!(10), silent.clone()));
    assert_eq!(messages(""), (json!(6), silent));
    let ignored = "tenure: --sequential has no effect on causal-broadcast\n".to_owned();
    assert_eq!(messages("--sequential 3"), (json!(6), ignored));
}
