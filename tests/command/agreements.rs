//! Scenarios of agreement and of related services.

use crate::question_results::answer;
use crate::scenarios::observed;
use crate::shell::{data, tenure};
use serde_json::{Value, json};

#[test]
fn paxos() {
    let observed = observed("paxos");
    assert_eq!((&observed["messages"], &observed["any_value_steps"]), (&json!(20), &json!(11)));
    assert_eq!(observed["without_a_majority_progress"], "violated");
}

#[test]
fn chandra_toueg() {
    let observed = observed("chandra-toueg");
    assert_eq!(observed["p2_s_events"], json!(["decides 3"]));
    assert_eq!(observed["a_wrong_suspicion_agreement"], "holds");
}

#[test]
fn reliable_broadcast() {
    let observed = observed("reliable-broadcast");
    assert_eq!((&observed["messages"], &observed["messages_uniformly"]), (&json!(16), &json!(20)));
    assert_eq!(observed["after_one_delay_p2_delivers"], json!([]));
    assert_eq!(observed["after_two_p2_delivers"], json!(["delivers item 1 of P1"]));
}

#[test]
fn causal_broadcast() {
    let observed = observed("causal-broadcast");
    assert_eq!(observed["causes_first"], "holds");
    assert_eq!(observed["sender_order_only_causes_first"], "violated");
    assert_eq!(observed["steps"], 4);
}

#[test]
fn central_detection() {
    let observed = observed("central-detection");
    assert_eq!(observed["all_acquire_in_every_schedule"], "holds");
    let phantoms = ["late_reports", "two_phases", "one_phase"];
    assert_eq!(phantoms.map(|it| observed[it].clone()), ["violated", "violated", "holds"]);
}

#[test]
fn atomic_broadcast() {
    let observed = observed("atomic-broadcast");
    assert_eq!(observed["without_consensus_steps"], 4);
    assert_eq!(observed["without_consensus_total_order"], "violated");
}

#[test]
fn snapshot() {
    let observed = observed("snapshot");
    assert_eq!(observed["the_picture_might_have_been"], "holds");
    assert_eq!(observed["where_messages_overtake"], "violated");
    assert_eq!((&observed["markers"], &observed["reports"]), (&json!(20), &json!(4)));
}

#[test]
fn barrier() {
    let observed = observed("barrier");
    let messages = (&observed["messages_of_a_round_of_8"], &observed["of_9"]);
    assert_eq!(messages, (&json!(24), &json!(36)));
    assert_eq!(observed["all_arrive_before_one_exits"], "holds");
}

#[test]
fn termination() {
    let observed = observed("termination");
    assert_eq!(observed["announced_when_all_is_done"], "holds");
    assert_eq!(observed["eventually_announced"], "holds");
}

#[test]
fn membership() {
    let observed = observed("membership");
    assert_eq!(observed["one_view_of_each_number"], "holds");
    assert_eq!(observed["without_a_majority"], "violated");
}

#[test]
fn renaming() {
    let observed = observed("renaming");
    assert_eq!(observed["no_two_have_one_name"], "holds");
    assert_eq!(observed["no_name_is_above_n_t"], "holds");
    assert_eq!(observed["without_asking_unique_names"], "violated");
    assert_eq!(observed["without_asking_steps"], 2);
}

#[test]
fn raft_log() {
    let observed = observed("raft-log");
    assert_eq!(observed["one_history"], "holds");
    assert_eq!(observed["a_shorter_log_leads"], "violated");
    assert_eq!(observed["idle_vote_requests"], 4);
    assert_eq!(observed["idle_messages_of_the_leader"], 380);
    assert_eq!(observed["both_request_leader"], 1);
    assert_eq!(observed["p4_is_down_p1_s_events"], json!(["NotCaughtUp"]));
    assert_eq!(observed["p4_is_up_p1_s_events"], json!(["4"]));
    let changed = "commits 4: members P1,P2,P4 of term 1";
    assert_eq!(observed["the_new_one"], json!([changed]));
}

/// With a latency of one unit per message, the measured delays equal those of the papers.
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
    // A group of two has no majority after a crash: the algorithm is correct.
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
fn old_edges_show_phantom_deadlocks() {
    let facts = answer("Q-61");
    assert_eq!(facts.one("late_reports"), "violated");
    assert_eq!(
        (facts.one("the_same_names"), facts.one("two_tables")),
        ("violated".into(), "holds".into())
    );
}

#[test]
fn answer_is_delivered_after_its_question() {
    let facts = answer("Q-62");
    assert_eq!(
        (facts.one("causal_order"), facts.one("one_order")),
        ("holds".into(), "violated".into())
    );
}
