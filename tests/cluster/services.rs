//! Tests of `tenure run --service`, which runs a lock service and its clients as processes.

use serde_json::Value;

use crate::running::run_report;
use crate::strace::can_slow_disks;
use crate::waiting::cluster_slot;

/// Executes a run with three members, four clients and these faults, and returns the report.
/// Asserts that all properties hold and that no update is lost.
#[track_caller]
fn run_with_faults(faults: &str) -> Value {
    let duration = if faults.contains("--duration") { "" } else { "--duration 3s" };
    let result = run_report(&format!("--service 3 --clients 4 {faults} {duration}"), 0);
    let verdicts = result["verdicts"].as_object().unwrap();
    assert_eq!(verdicts.len(), 7);
    assert!(verdicts.values().all(|verdict| verdict == "holds"), "{result:#}");
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
    result
}

#[test]
fn service_tolerates_a_killed_and_restarted_leader() {
    let _slot = cluster_slot();
    let result = run_with_faults("--kill leader@700ms --restart leader@1500ms");
    assert_eq!(result["kills"], 1);
    assert!(result["entries"].as_u64() > Some(0), "{result:#}");
    assert_eq!(result["counter"]["expected"], result["counter"]["found"], "{result:#}");
    assert!(result["failover_ms"]["max"].is_number(), "{result:#}");
}

#[test]
fn service_tolerates_stopped_and_leaving_members() {
    let _slot = cluster_slot();
    let faults = "--pause 1@500ms..1s --leave leader@1500ms --restart leader@2s --duration 3s";
    let result = run_report(&format!("--service 3 --clients 3 {faults}"), 0);
    assert_eq!(result["violations"], 0, "{result:#}");
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
}

#[test]
fn service_tolerates_an_isolated_leader() {
    let _slot = cluster_slot();
    // A busy machine may have no leader yet when the partition begins.
    let runs = ["--partition leader@500ms..1700ms", "--partition leader@8s..9s --duration 12s"];
    let is_partitioned = |it: &Value| it["partitions"].as_array().is_some_and(|it| it.len() == 1);
    let result = runs.into_iter().map(run_with_faults).find(is_partitioned).expect("a partition");
    assert!(result["entries"].as_u64() > Some(0), "{result:#}");
    // An election starts 250 ms after the last heartbeat, and heartbeats are at most 50 ms apart.
    // So there is no leader for at least 200 ms. In this time, only clients that already wait may
    // receive the lock, once each.
    let longest = result["longest_gap_ms"].as_f64();
    assert!(longest > Some(100.0), "no entry before the next leader: {result:#}");
}

#[test]
fn service_tolerates_a_leader_with_a_full_disk() {
    let _slot = cluster_slot();
    let result = run_with_faults("--full-disk leader@500ms..1500ms");
    let notes = result["notes"].to_string();
    assert!(notes.contains("could not write, and ended with exit status: 4"), "{result:#}");
}

#[test]
fn acknowledged_values_remain_after_all_members_are_killed() {
    let _slot = cluster_slot();
    let result =
        run_with_faults("--values 256K --snapshot-after 50 --kill all@1s --restart all@1300ms");
    let of = |name: &str| result["values"][name].as_u64().unwrap();
    assert!(of("acknowledged") > 0 && of("acknowledged") <= of("put"), "{result:#}");
    assert!(of("bytes") > of("acknowledged"), "{result:#}");
    // Each key is read six times: in two ways at each of three members.
    assert_eq!(of("read_in_the_end") % 6, 0, "{result:#}");
    assert!(of("read_in_the_end") > 0, "{result:#}");
}

#[test]
fn service_tolerates_slow_disks() {
    let _slot = cluster_slot();
    if !can_slow_disks() {
        return;
    }
    run_with_faults(
        "--slow-disk leader@300ms..1500ms --kill leader@800ms --restart leader@1s --values 1M",
    );
    let slow = "--slow-disk 1@100ms..2500ms --slow-flush 300ms";
    let result = run_report(&format!("--service 1 --clients 2 {slow} --duration 3s"), 0);
    assert_eq!(result["faults"], 1);
    assert!(result["latency_ms"]["max"].as_f64() >= Some(300.0), "{result:#}");
}

#[test]
fn updates_are_lost_without_the_service_lock() {
    let _slot = cluster_slot();
    let result = run_report("--service 1 --clients 8 --no-lock --duration 3s", 1);
    assert!(result["counter"]["lost"].as_i64() > Some(0), "{result:#}");
    assert_eq!(result["lock"], false);
}
