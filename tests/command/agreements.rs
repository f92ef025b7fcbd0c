//! The worked examples of agreement and of its companions.

use crate::scenarios::seen;
use serde_json::json;

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
}
