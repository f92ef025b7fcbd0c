//! Tests of partitions that isolate the leader. They examine the accesses to the resource from both
//! sides of the partition.

use serde_json::Value;

use crate::running::run_report;
use crate::waiting::cluster_slot;

/// Executes a run of three nodes whose leader is isolated for some seconds, and returns the report.
fn run_with_isolated_leader(seconds: u32, more: &str) -> Value {
    let (end, duration) = (1 + seconds, 2 + seconds);
    let line =
        format!("-n 3 --partition leader@1s..{end}s --duration {duration}500ms --hold 5ms {more}");
    let result = run_report(&line, 0);
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
    assert_eq!(result["partitions"][0]["ms"], f64::from(seconds) * 1000.0, "{result:#}");
    assert_eq!(result["crashes"], 0, "a fault that is asked for is the only one: {result:#}");
    result
}

/// Executes a run in which the other nodes elect a leader while theirs is isolated. On a loaded
/// machine, this takes long. Returns the report and two leaders: the new one, and the isolated one.
#[track_caller]
fn run_with_two_leaders(more: &str) -> (Value, [u64; 2]) {
    for seconds in [3, 20] {
        let result = run_with_isolated_leader(seconds, more);
        let elections = result["elections"].as_array().unwrap();
        let heir = elections.iter().find(|election| election["cause"] == "partition");
        let Some(heir) = heir else { continue };
        let leaders = [&heir["leader"], &result["partitions"][0]["side"][0]];
        let leaders = leaders.map(|it| it.as_u64().unwrap());
        return (result, leaders);
    }
    panic!("no election during a partition of 20 seconds");
}

#[test]
fn fences_protect_the_counter_from_partitioned_bullies() {
    let _slot = cluster_slot();
    let (result, [heir, cut_off]) = run_with_two_leaders("--election bully");
    assert_ne!(heir, cut_off);
    let late = result["refused"].as_u64() > Some(0) || result["overlaps"].as_u64() > Some(0);
    assert!(late, "both sides go on: {result:#}");
}

#[test]
fn isolated_majority_leader_causes_no_overlaps() {
    let _slot = cluster_slot();
    let (result, [heir, cut_off]) = run_with_two_leaders("--election raft");
    assert_ne!(heir, cut_off);
    assert_eq!([&result["refused"], &result["overlaps"]], [0, 0], "{result:#}");
}

#[test]
fn lock_by_permissions_waits_for_the_end_of_a_partition() {
    let _slot = cluster_slot();
    let result = run_with_isolated_leader(3, "--mutex ricart-agrawala");
    assert!(result["latency_ms"]["max"].as_f64() > Some(2_800.0), "{result:#}");
    assert_eq!(result["verdicts"]["starvation-freedom"], "holds", "{result:#}");
    assert_eq!([&result["refused"], &result["overlaps"]], [0, 0], "{result:#}");
}
