//! Nodes that keep a log, killed, stopped and cut off while clients use it: `tenure run --log`.

use serde_json::Value;

use crate::running::{ended, judged};
use crate::waiting::place;

/// A run of a log, as data, once it has ended with this status.
#[track_caller]
fn run(line: &str, code: i32) -> Value {
    judged(&format!("--log raft-log {line}"), code)
}

/// Nothing was violated or lost, and all were told of everything.
#[track_caller]
fn assert_sound(result: &Value) {
    assert_eq!(result["violations"], 0, "{result:#}");
    assert_eq!(result["counter"]["expected"], result["counter"]["found"], "{result:#}");
    assert_eq!(result["entries"]["told"].as_array().unwrap().len(), 3, "{result:#}");
    assert!(result["operations"]["answered"].as_u64() > Some(0), "{result:#}");
}

fn is_violated(result: &Value, property: &str) -> bool {
    result["verdicts"][property] == "violated"
}

#[test]
fn a_leader_of_a_log_is_killed_and_comes_back_and_nothing_is_lost() {
    let _place = place();
    let faults = "--kill leader@700ms --restart leader@1300ms --duration 2s";
    let result = run(&format!("--nodes 3 --clients 4 {faults}"), 0);
    assert_sound(&result);
    let elections = result["elections"].as_array().unwrap();
    assert!(elections.iter().any(|election| election["cause"] == "crash"), "{result:#}");
    assert_eq!(result["crashes"], 1);
}

#[test]
fn all_nodes_of_a_log_are_killed_at_once_and_nothing_is_lost() {
    let _place = place();
    let faults = "--kill all@700ms --restart all@1s --duration 2s";
    let result = run(&format!("--nodes 3 --clients 4 {faults}"), 0);
    assert_sound(&result);
    assert_eq!(result["crashes"], 3);
}

/// Nobody knows in which session: who is killed so early may come back in the same.
#[test]
fn nodes_that_are_killed_while_they_boot_come_back() {
    let _place = place();
    let faults = "--kill all@500ms --restart all@800ms --kill all@801ms --restart all@1100ms";
    let line = format!("--nodes 3 --clients 2 {faults} --duration 2s --think 5ms");
    assert_sound(&run(&line, 0));
}

/// A log of a hundred entries and a few more: whoever comes back lacks its head.
#[test]
fn a_node_that_was_away_for_long_is_caught_up_by_a_snapshot() {
    let _place = place();
    let faults = "--kill 3@300ms --restart 3@1600ms --duration 2500ms";
    let result = run(&format!("--nodes 3 --clients 8 --snapshot-after 20 {faults}"), 0);
    assert_sound(&result);
    let entries = &result["entries"];
    assert!(entries["snapshots_sent"].as_u64() > Some(0), "{result:#}");
    assert!(entries["snapshots"].as_u64() > entries["snapshots_sent"].as_u64(), "{result:#}");
    // The control: it is sent entries where the log is as long as the run.
    let faults = "--kill 3@300ms --restart 3@600ms --duration 1s";
    let result = run(&format!("--nodes 3 --clients 8 --snapshot-after 100000 {faults}"), 0);
    assert_sound(&result);
    assert_eq!(result["entries"]["snapshots"], 0, "{result:#}");
    // Nobody takes over from the leader of a run that ends.
    let last = result["elections"].as_array().unwrap().last().unwrap();
    assert_eq!(result["entries"]["terms"][1], last["term"], "{result:#}");
}

#[test]
fn a_cut_and_lost_messages_do_no_harm_to_a_log() {
    let _place = place();
    let faults = "--partition leader@500ms..1500ms --lose 0.05 --duplicate 0.05 --duration 2500ms";
    let result = run(&format!("--nodes 3 --clients 4 {faults}"), 0);
    assert_sound(&result);
    assert_eq!(result["partitions"].as_array().unwrap().len(), 1);
}

/// The control: a leader that asks nobody answers reads as of old while it is cut off.
///
/// Whether a client reads there in time is chance, more so on a loaded machine: it has to be seen
/// in one run of some.
#[test]
fn stale_reads_of_a_deposed_leader_are_found_in_what_clients_saw() {
    let _place = place();
    let mistake = "--variant lonely-read,no-check-quorum";
    let faults = "--partition leader@500ms..3500ms --duration 4s";
    let seen = (1..=8).find_map(|seed| {
        let line = format!("--log raft-log --nodes 3 --clients 8 {mistake} {faults} --seed {seed}");
        let (status, result) = ended(&line);
        assert!([0, 1].contains(&status), "{status}: {result:#}");
        (status == 1).then_some(result)
    });
    let result = seen.expect("a stale read in one of eight runs");
    assert!(is_violated(&result, "linearizable-reads"), "{result:#}");
    let says = |it: &Value| it["says"].as_str().unwrap().contains("and had asked after");
    let stale = |it: &Value| says(it) || it["says"].as_str().unwrap().contains("is stale");
    assert!(result["violated"].as_array().unwrap().iter().any(stale), "{result:#}");
}

/// The control: entries answered before their save are gone when all are killed, in some run.
#[test]
fn an_acknowledgement_before_the_save_is_found_lost_when_all_are_killed() {
    let _place = place();
    let faults = "--kill all@1500ms --restart all@1700ms --duration 2500ms";
    let seen = (3..=10).find_map(|seed| {
        let client = "--clients 1 --think 100ms --variant unsaved-entry";
        let line = format!("--log raft-log --nodes 3 {client} {faults} --seed {seed}");
        let (status, result) = ended(&line);
        assert!([0, 1].contains(&status), "{status}: {result:#}");
        (status == 1).then_some(result)
    });
    let result = seen.expect("a loss in one of eight runs");
    assert!(is_violated(&result, "durability"), "{result:#}");
}

/// A line of faults to the leader, one after the other, each with its return.
fn again_and_again(fault: &str, times: u32, every: u32) -> String {
    let one = |round: u32| {
        let at = 1_000 + round * every;
        let back = at + every / 2;
        format!("--{fault} leader@{at}ms --restart leader@{back}ms")
    };
    let faults: Vec<String> = (0..times).map(one).collect();
    format!("--duration {}ms {}", 2_000 + times * every, faults.join(" "))
}

/// Prints how long clients of a log wait when its leader is killed, and when it is asked to leave:
/// from then to the next increment or write that is answered. With election timeouts of 150 to
/// 300 ms.
#[test]
#[ignore = "measures for four minutes: cargo test -p tenure --release --test cluster -- --ignored \
            --nocapture how_long_clients_wait"]
fn how_long_clients_wait_when_a_leader_is_killed_or_leaves() {
    let _place = place();
    for (fault, times, every) in [("kill", 100, 1_600), ("leave", 20, 1_600)] {
        let line = again_and_again(fault, times, every);
        let result = run(&format!("--nodes 3 --clients 8 --think 1ms {line}"), 0);
        let of = if fault == "kill" { "failover_ms" } else { "handover_ms" };
        eprintln!("{times} times --{fault} leader: {}", result[of]);
    }
}
