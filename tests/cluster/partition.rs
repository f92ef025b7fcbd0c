//! Tests of partitions that isolate the leader. They examine the accesses to the resource from both
//! sides of the partition.

use serde_json::Value;

use crate::running::run_report;
use crate::waiting::cluster_slot;

/// Executes a run of three nodes whose leader is isolated for a while, and returns the report. The
/// isolation is long enough for an election on a busy machine.
fn run_with_isolated_leader(more: &str) -> Value {
    let line = format!("-n 3 --partition leader@1s..4s --duration 5500ms --hold 5ms {more}");
    let result = run_report(&line, 0);
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
    assert_eq!(result["partitions"][0]["ms"], 3000.0, "{result:#}");
    assert_eq!(result["crashes"], 0, "a fault that is asked for is the only one: {result:#}");
    result
}

/// Returns two leaders: the leader that was elected during the partition, and the isolated leader.
#[track_caller]
fn leaders_of_both_sides(result: &Value) -> [u64; 2] {
    let elections = result["elections"].as_array().unwrap();
    let heir = elections.iter().find(|election| election["cause"] == "partition");
    let heir = heir.unwrap_or_else(|| panic!("an election: {result:#}"));
    [&heir["leader"], &result["partitions"][0]["side"][0]].map(|it| it.as_u64().unwrap())
}

#[test]
fn fences_protect_the_counter_from_partitioned_bullies() {
    let _slot = cluster_slot();
    let result = run_with_isolated_leader("--election bully");
    let [heir, cut_off] = leaders_of_both_sides(&result);
    assert_ne!(heir, cut_off);
    let late = result["refused"].as_u64() > Some(0) || result["overlaps"].as_u64() > Some(0);
    assert!(late, "both sides go on: {result:#}");
}

#[test]
fn isolated_majority_leader_causes_no_overlaps() {
    let _slot = cluster_slot();
    let result = run_with_isolated_leader("--election raft");
    let [heir, cut_off] = leaders_of_both_sides(&result);
    assert_ne!(heir, cut_off);
    assert_eq!([&result["refused"], &result["overlaps"]], [0, 0], "{result:#}");
}

#[test]
fn lock_by_permissions_waits_for_the_end_of_a_partition() {
    let _slot = cluster_slot();
    let result = run_with_isolated_leader("--mutex ricart-agrawala");
    assert!(result["latency_ms"]["max"].as_f64() > Some(2_800.0), "{result:#}");
    assert_eq!(result["verdicts"]["starvation-freedom"], "holds", "{result:#}");
    assert_eq!([&result["refused"], &result["overlaps"]], [0, 0], "{result:#}");
}
