//! Timeouts follow from the known bounds on latency, step and drift, unless a user sets them.

use crate::shell::{data, said, tenure, text};

/// The largest number of messages of one election in many runs.
#[track_caller]
fn most_messages(line: &str) -> f64 {
    data(line, 0)["summary"]["messages"]["total"]["max"].as_f64().expect("a figure")
}

/// T1 on the fastest clock outlasts T on the slowest, so no process starts twice.
#[test]
fn bully_sends_no_more_messages_where_clocks_drift() {
    let line = "simulate bully -n 5 --down 5 --initiators 1 --drift 0.9 --latency 1..4 --runs 2000";
    assert!(most_messages(line) <= 20.0);
    for (size, drift) in [(3, "0.65"), (4, "0.95"), (5, "0.7")] {
        let n = f64::from(size);
        let line = format!(
            "simulate bully -n {size} --down {size} --initiators 1 --drift {drift} --latency 1..4 \
             --step 0..1 --runs 400"
        );
        assert!(most_messages(&line) <= n * (n - 1.0), "{line}");
    }
}

/// The negative control: with T1 for clocks that do not drift, processes start again in vain.
#[test]
fn bully_starts_again_if_t1_is_too_short() {
    let drifting =
        "simulate bully -n 5 --down 5 --initiators 1 --drift 0.9 --latency 1..4 --runs 400";
    assert!(most_messages(&format!("{drifting} --timeout coordinator=400")) > 20.0);
    let steady = "simulate bully -n 5 --down 5 --initiators 1 --latency 1..4 --runs 50";
    assert!(most_messages(steady) <= 20.0);
    assert!(most_messages(&format!("{steady} --timeout coordinator=5")) > 20.0);
    // While nothing fails, the card bounds the cost, so the run is a violation.
    let line = "simulate bully -n 5 --initiators 1 --latency 1..4 --timeout coordinator=1";
    let told = data(line, 1);
    assert_eq!(told["verdicts"]["cost"], "violated", "{told}");
    let replay = told["violations"][0]["replay"].as_str().expect("a command");
    assert!(replay.contains(" --timeout coordinator=1"), "{replay}");
    let again = replay.strip_prefix("tenure ").expect("a command line");
    assert_eq!(data(again, 1)["verdicts"]["cost"], "violated", "{replay}");
}

/// The highest is dead, so the answer timeout and one message are the time of an election.
#[test]
fn answer_timeout_decides_how_long_an_election_takes() {
    let time = |more: &str| {
        let line = format!("simulate bully -n 3 --down 3 --initiators 2 --latency 1{more}");
        data(&line, 0)["finished_at"].as_f64()
    };
    assert_eq!(time(""), Some(3.5));
    assert_eq!(time(" --timeout answer=7"), Some(8.0));
}

/// The interval after which a silent leader is suspected.
#[test]
fn suspect_after_delays_the_election() {
    let line = "simulate bully -n 5 --crash 5@10 --until 80";
    let shown = |more: &str| {
        let shown = text(&format!("{line}{more}"), 0);
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(shown("").contains("election time 5.5 "));
    assert!(shown(" --suspect-after 30").contains("election time 33.5 "));
    // The command that makes a run again has the option.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    text(&format!("{line} --suspect-after 30 --trace {}", path.display()), 0);
    let trace = std::fs::read_to_string(path).expect("a trace");
    assert!(trace.contains("simulate bully -n 5 --suspect-after 30 --crash 5@10"), "{trace}");
    let idle = tenure("simulate lamport -n 2 --suspect-after 30");
    assert!(String::from_utf8_lossy(&idle.stderr).contains("--suspect-after"), "{idle:?}");
}

/// In the checker's synchronous time a timer fires when it is due.
#[test]
fn check_explores_the_timeout_that_is_set() {
    for latency in ["1", "0..2", "1..3"] {
        let line = format!("check bully -n 3 --initiators 1 --latency {latency} --property cost");
        assert_eq!(data(&line, 0)["properties"]["cost"], "holds", "{line}");
    }
    let short = "check bully -n 3 --initiators 1 --latency 0..2 --property cost";
    let short = format!("{short} --timeout coordinator=1");
    assert_eq!(data(&short, 1)["properties"]["cost"], "violated");
    let idle = tenure("check raft -n 2 --timeout election=5 --max-states 1000");
    let told = String::from_utf8_lossy(&idle.stderr);
    assert!(told.contains("--timeout"), "timers fire at any time: {told}");
}

#[test]
fn cards_list_the_timeouts_and_no_others_are_accepted() {
    let shown = text("list bully", 0);
    assert!(shown.contains("answer 2.5: T:") && shown.contains("coordinator 13.5: T1:"), "{shown}");
    for (line, says) in [
        ("simulate bully --timeout answr=5", "invalid timeout 'answr' for bully: expected answer"),
        ("simulate lamport --timeout x=5", "invalid timeout 'x' for lamport: expected none"),
        ("check bully --timeout answr=5", "invalid timeout 'answr' for bully"),
        ("simulate bully --timeout answer", "invalid timeout 'answer': expected NAME=5"),
    ] {
        said(&tenure(line), 2, says);
    }
    for (name, timeout) in [
        ("raft", "election=20..30"),
        ("raft", "heartbeat=2"),
        ("coordinated:raft", "entry-lease=8"),
        ("lease", "entry-expiry=12"),
        ("raft-log", "election=20..30"),
        ("fifo:bully", "resend=5"),
        ("fifo:bully", "answer=50"),
        ("restarting-chang-roberts", "restart=40"),
        ("mutex-from-election:bully", "answer=3"),
    ] {
        let ended = tenure(&format!("simulate {name} -n 3 --timeout {timeout}"));
        assert_eq!(ended.status.code(), Some(0), "{name} {timeout}: {ended:?}");
    }
}
