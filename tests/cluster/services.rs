//! A lock service and its clients as processes: `tenure run --service`.

use serde_json::Value;

use crate::running::judged;
use crate::strace::can_slow_disks;
use crate::waiting::place;

/// What came of a run of three members and four clients with these faults: every promise is kept,
/// and no update is lost.
#[track_caller]
fn kept(faults: &str) -> Value {
    let result = judged(&format!("--service 3 --clients 4 {faults} --duration 3s"), 0);
    let verdicts = result["verdicts"].as_object().unwrap();
    assert_eq!(verdicts.len(), 7);
    assert!(verdicts.values().all(|verdict| verdict == "holds"), "{result:#}");
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
    result
}

#[test]
fn a_service_keeps_its_promises_while_its_leader_is_killed_and_comes_back() {
    let _place = place();
    let result = kept("--kill leader@700ms --restart leader@1500ms");
    assert_eq!(result["kills"], 1);
    assert!(result["entries"].as_u64() > Some(0), "{result:#}");
    assert_eq!(result["counter"]["expected"], result["counter"]["found"], "{result:#}");
    assert!(result["failover_ms"]["max"].is_number(), "{result:#}");
}

#[test]
fn a_member_that_is_stopped_and_one_that_leaves_take_nothing_with_them() {
    let _place = place();
    let faults = "--pause 1@500ms..1s --leave leader@1500ms --restart leader@2s --duration 3s";
    let result = judged(&format!("--service 3 --clients 3 {faults}"), 0);
    assert_eq!(result["violations"], 0, "{result:#}");
    assert_eq!(result["counter"]["lost"], 0, "{result:#}");
}

#[test]
fn a_leader_that_is_cut_off_from_the_others_takes_nothing_with_it() {
    let _place = place();
    let result = kept("--partition leader@500ms..1700ms");
    assert_eq!(result["partitions"].as_array().map(Vec::len), Some(1), "{result:#}");
    assert!(result["entries"].as_u64() > Some(0), "{result:#}");
    // Nobody asks for votes before 250 ms without a heartbeat, and those are 50 ms apart at most.
    // Those who wait hand the lock on, each of four once: whoever leaves waits for a leader.
    let longest = result["longest_gap_ms"].as_f64();
    assert!(longest > Some(100.0), "nobody is let in until the next one leads: {result:#}");
}

#[test]
fn a_leader_whose_disk_is_full_ends_and_takes_nothing_with_it() {
    let _place = place();
    let result = kept("--full-disk leader@500ms..1500ms");
    let notes = result["notes"].to_string();
    assert!(notes.contains("could not write, and ended with exit status: 4"), "{result:#}");
}

#[test]
fn values_that_were_acknowledged_are_at_each_member_after_all_were_killed() {
    let _place = place();
    let result = kept("--values 256K --snapshot-after 50 --kill all@1s --restart all@1300ms");
    let of = |name: &str| result["values"][name].as_u64().unwrap();
    assert!(of("acknowledged") > 0 && of("acknowledged") <= of("put"), "{result:#}");
    assert!(of("bytes") > of("acknowledged"), "{result:#}");
    // Each key, asked of each of three, in two ways.
    assert_eq!(of("read_in_the_end") % 6, 0, "{result:#}");
    assert!(of("read_in_the_end") > 0, "{result:#}");
}

#[test]
fn a_disk_that_is_slow_takes_its_time_and_nothing_else() {
    let _place = place();
    if !can_slow_disks() {
        eprintln!("skipped: needs strace");
        return;
    }
    kept("--slow-disk leader@300ms..1500ms --kill leader@800ms --restart leader@1s --values 1M");
    let slow = "--slow-disk 1@100ms..2500ms --slow-flush 300ms";
    let result = judged(&format!("--service 1 --clients 2 {slow} --duration 3s"), 0);
    assert_eq!(result["faults"], 1);
    assert!(result["latency_ms"]["max"].as_f64() >= Some(300.0), "{result:#}");
}

#[test]
fn without_the_lock_of_the_service_updates_are_lost() {
    let _place = place();
    let result = judged("--service 1 --clients 8 --no-lock --duration 3s", 1);
    assert!(result["counter"]["lost"].as_i64() > Some(0), "{result:#}");
    assert_eq!(result["lock"], false);
}
