//! The worked examples of agreement and of its companions.

use crate::scenarios::seen;
use crate::shell::{data, tenure};
use serde_json::{Value, json};

#[test]
fn paxos() {
    let seen = seen("paxos");
    assert_eq!((&seen["messages"], &seen["any_value_steps"]), (&json!(20), &json!(11)));
    assert_eq!(seen["without_a_majority_progress"], "violated");
}

#[test]
fn chandra_toueg() {
    let seen = seen("chandra-toueg");
    assert_eq!(seen["p2_is_told"], json!(["decides 3"]));
    assert_eq!(seen["a_wrong_suspicion_agreement"], "holds");
}

#[test]
fn reliable_broadcast() {
    let seen = seen("reliable-broadcast");
    assert_eq!((&seen["messages"], &seen["messages_uniformly"]), (&json!(16), &json!(20)));
    assert_eq!(seen["after_one_delay_p2_delivers"], json!([]));
    assert_eq!(seen["after_two_p2_delivers"], json!(["delivers item 1 of P1"]));
}

#[test]
fn atomic_broadcast() {
    let seen = seen("atomic-broadcast");
    assert_eq!(seen["without_consensus_steps"], 4);
    assert_eq!(seen["without_consensus_total_order"], "violated");
}

#[test]
fn snapshot() {
    let seen = seen("snapshot");
    assert_eq!(seen["the_picture_might_have_been"], "holds");
    assert_eq!(seen["where_messages_overtake"], "violated");
    assert_eq!((&seen["markers"], &seen["reports"]), (&json!(20), &json!(4)));
}

#[test]
fn barrier() {
    let seen = seen("barrier");
    let messages = (&seen["messages_of_a_round_of_8"], &seen["of_9"]);
    assert_eq!(messages, (&json!(24), &json!(36)));
    assert_eq!(seen["all_come_before_one_leaves"], "holds");
}

#[test]
fn termination() {
    let seen = seen("termination");
    assert_eq!(seen["announced_when_all_is_done"], "holds");
    assert_eq!(seen["announced_in_the_end"], "holds");
}

#[test]
fn membership() {
    let seen = seen("membership");
    assert_eq!(seen["one_view_of_each_number"], "holds");
    assert_eq!(seen["without_a_majority"], "violated");
}

#[test]
fn renaming() {
    let seen = seen("renaming");
    assert_eq!(seen["no_two_have_one_name"], "holds");
    assert_eq!(seen["no_name_is_above_n_t"], "holds");
    assert_eq!(seen["nobody_asked_unique_names"], "violated");
    assert_eq!(seen["nobody_asked_steps"], 2);
}

#[test]
fn raft_log() {
    let seen = seen("raft-log");
    assert_eq!(seen["one_history"], "holds");
    assert_eq!(seen["a_shorter_log_leads"], "violated");
    assert_eq!(seen["idle_votes_that_were_asked_for"], 4);
    assert_eq!(seen["idle_messages_of_the_leader"], 380);
    assert_eq!(seen["both_ask_who_leads"], 1);
    assert_eq!(seen["p4_is_down_p1_is_told"], json!(["NotCaughtUp"]));
    assert_eq!(seen["p4_is_there_p1_is_told"], json!(["4"]));
    let changed = "commits 4: members P1,P2,P4 of term 1";
    assert_eq!(seen["the_new_one"], json!([changed]));
}

/// Messages of one unit each: what the papers say of delays is what is measured.
#[test]
fn agreements_are_compared_with_their_delays_beside_those_of_theory() {
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
    let told = tenure("compare agreement -n 5 --runs 3 --only paxos").stdout;
    assert!(String::from_utf8(told).expect("it is text").contains("consensus"));
}

#[test]
fn what_one_fault_does_to_an_agreement_is_a_table_too() {
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
    // Of two of whom one crashes, no majority is left: that is no fault of the algorithm.
    assert_eq!(verdict(0, crash), "blocked");
    assert_eq!(cell(0, crash)["without_majority"], true);
    assert_eq!(cell(2, crash)["without_majority"], json!(null), "it needs all of them");
}

#[test]
fn a_card_says_by_what_its_service_is_judged() {
    let told = String::from_utf8(tenure("list stable-vectors").stdout).expect("it is text");
    let judged = told.lines().find(|line| line.trim_start().starts_with("judged by"));
    assert_eq!(judged, Some("  judged by  progress, unique-names, small-names"));
}
