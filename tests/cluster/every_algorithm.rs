//! Runs every algorithm of the catalogue with five real processes, without changes to its code.

use serde_json::Value;

use crate::running::{run_report, tenure};
use crate::waiting::cluster_slot;

/// Returns the algorithms in the catalogue that provide `service` and run on real nodes. The result
/// contains the name of each algorithm, and the properties that it promises.
fn listed(service: &str) -> Vec<(String, Vec<String>)> {
    let list = tenure("list --format json").json();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    // A name with a colon is a composition of two algorithms. Of the compositions, real nodes run
    // only locks that an elected leader grants.
    let is_plain_or_coordinated =
        |name: &str| !name.contains(':') || name.starts_with("coordinated:");
    let of_service = |card: &&Value| {
        card["service"] == service && is_plain_or_coordinated(card["name"].as_str().unwrap())
    };
    let promises = |card: &Value| {
        let promised = ["promises", "clocked"].map(|kind| card["card"][kind].as_array().unwrap());
        promised.into_iter().flatten().map(text).collect::<Vec<_>>()
    };
    // Real nodes cannot run algorithms that assume common rounds.
    let is_run = |card: &&Value| of_service(card) && card["card"]["timing"] != "rounds";
    let cards = list.as_array().unwrap().iter().filter(is_run);
    cards.map(|card| (text(&card["name"]), promises(card))).collect()
}

/// Runs five nodes until each node has entered the critical section `entries` times. Asserts that
/// there are no lost updates and no violations. Returns the number of elections.
fn counts(entries: u64, line: &str) -> usize {
    // Without `--no-faults`, a node is killed at a certain time. On a loaded machine, the run may
    // last until that time.
    let report = run_report(&format!("--nodes 5 --entries {entries} --no-faults {line}"), 0);
    assert_eq!(report["crashes"], 0, "{line}: {report:#}");
    assert_eq!(report["entries"], 5 * entries, "{line}: {report:#}");
    assert_eq!(report["counter"]["lost"], 0, "{line}: {report:#}");
    assert_eq!(report["counter"]["found"], report["counter"]["expected"], "{line}: {report:#}");
    assert_ne!(report["counter"]["found"], 0, "{line}: {report:#}");
    // On a loaded machine, a lease may end before its holder has updated the counter. The holder
    // then makes no update.
    if !line.contains("lease") && !line.contains("coordinated:") {
        assert_eq!(report["counter"]["found"], 5 * entries, "{line}: {report:#}");
    }
    assert_eq!(report["violations"], 0, "{line}: {report:#}");
    report["elections"].as_array().unwrap().len()
}

/// As [`counts`], until a run has an election. Most locks do not wait for a leader, so on a loaded
/// machine a short run may end before the first election. The last run lasts for many election
/// timeouts.
fn has_election(line: &str) -> bool {
    [20, 400, 8_000].into_iter().any(|entries| counts(entries, line) > 0)
}

/// Runs the locks of the catalogue that a leader grants if `at_a_leader` is true, and all other
/// locks if it is false. Asserts that the counter is correct with each lock that promises mutual
/// exclusion, and that a lock without this promise is rejected.
fn assert_every_lock_counts(at_a_leader: bool) {
    let _slot = cluster_slot();
    let mut locks = listed("mutex");
    locks.retain(|(lock, _)| lock.contains(':') == at_a_leader);
    assert!(locks.len() >= 4, "the catalogue has more than {locks:?}");
    for (lock, promises) in locks {
        if promises.iter().any(|promise| promise == "mutual-exclusion") {
            assert!(has_election(&format!("--mutex {lock}")), "{lock}");
        } else {
            let ended = tenure(&format!("run --mutex {lock}"));
            let report = &ended.expect(2).err;
            assert!(report.contains("does not promise mutual exclusion"), "{lock}: {report}");
        }
    }
}

#[test]
#[ignore = "long: 18 s"]
fn every_lock_counts_to_a_hundred() {
    assert_every_lock_counts(false);
}

#[test]
fn every_lock_at_a_leader_counts_to_a_hundred() {
    assert_every_lock_counts(true);
}

#[test]
#[ignore = "long: 12 s"]
fn every_election_provides_a_leader_for_a_lock() {
    let _slot = cluster_slot();
    for (election, promises) in listed("election") {
        let line = format!("--mutex central --election {election}");
        // If an algorithm elects a leader per group, each process first leads a group of its own.
        // The groups merge at some time after the start.
        if promises.iter().any(|promise| promise == "one-leader-per-group") {
            counts(20, &line);
        } else {
            assert!(has_election(&line), "{election}");
        }
    }
}
