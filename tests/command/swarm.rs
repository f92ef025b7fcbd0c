//! Tests of `tenure check --swarm`, which runs one search of a swarm.

use serde_json::Value;

use crate::shell::{assert_fails_with, assert_refused, data, tenure, text};

#[test]
fn member_reports_its_coverage_and_proves_nothing() {
    let all = data("check ricart-agrawala -n 2 --entries 2", 0);
    for member in ["1/2", "2/2"] {
        let line = format!("check ricart-agrawala -n 2 --entries 2 --swarm {member} --memory 1M");
        let report = data(&line, 3);
        assert_eq!(report["verdict"], "incomplete", "{report}");
        assert_eq!(report["states"], all["states"], "{report}");
        let swarm = &report["swarm"];
        assert_eq!((&swarm["bits"], &swarm["members"]), (&(8 << 20).into(), &2.into()), "{swarm}");
        assert_eq!(swarm["is_exhausted"], true, "{swarm}");
        let [set, states] = [&swarm["bits_set"], &all["states"]].map(Value::as_u64);
        let (set, states) = (set.expect("a number"), states.expect("a number"));
        assert!((1..=3 * states).contains(&set), "{swarm}");
    }
    let shown = text("check ricart-agrawala -n 2 --swarm 1/2 --memory 1M", 3);
    assert!(shown.contains("swarm search 1/2"), "{shown}");
    assert!(shown.contains("mutual-exclusion         no violation found in"), "{shown}");
    assert!(!shown.contains("holds"), "{shown}");
}

/// Runs one search of a swarm for each faulty variant, and asserts that the search finds a
/// counterexample. Two of the counterexamples are verified and replayed as traces.
#[test]
fn mistakes_are_found_and_their_runs_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("swarm.ndjson");
    for options in [
        "ricart-agrawala --variant clock-only-strict --property mutual-exclusion",
        "lamport --variant own-request-on-top --property mutual-exclusion",
        "maekawa -n 3 --quorums pairs --variant basic --property deadlock-freedom",
        "raft -n 3 --variant forgotten-vote --crash 1 --recover 1 --term-max 1 --initiators 1 \
         --timing synchronous --latency 1 --property one-leader-per-term",
    ] {
        let line = format!("check {options} --swarm 2/8 --memory 4M --max-states 2000000");
        let report = data(&format!("{line} --trace {}", file.display()), 1);
        assert_eq!(report["verdict"], "violated", "{options}: {report}");
        assert!(report["counterexample"]["length"].as_u64() > Some(0), "{options}");
        if options.contains("mutual-exclusion") {
            text(&format!("trace verify {}", file.display()), 1);
            text(&format!("trace replay {}", file.display()), 1);
        }
    }
}

#[test]
fn own_property_is_judged_in_every_state() {
    let found = data("check central --never inside(P1) --swarm 1/1 --memory 1M", 1);
    assert_eq!(found["verdict"], "violated", "{found}");
    let absent = data("check central --never crashed(P1) --swarm 1/1 --memory 1M", 3);
    assert_eq!(absent["verdict"], "incomplete", "{absent}");
}

#[test]
fn options_of_an_exhaustive_search_are_refused() {
    for (options, message) in [
        ("--swarm 3/2", "expected I/N"),
        ("--swarm 1/2 --exact", "--exact"),
        ("--swarm 1/2 --measure messages", "--measure"),
        ("--memory 1M", "--swarm"),
        ("--swarm 1/2 --property bounded-bypass", "bypass"),
    ] {
        assert_fails_with(&tenure(&format!("check ricart-agrawala {options}")), 2, message);
    }
}

#[test]
fn table_beyond_the_memory_is_refused() {
    let line = "check central --swarm 1/1 --memory 9000000000G";
    assert_refused(line, &["cannot allocate 9663676416000000000 bytes", "--memory 256M"]);
}
