//! Tests of timeouts. By default, the timeouts are computed from the bounds on latency, step
//! duration and clock drift. Options can set other timeouts.

use crate::shell::{assert_fails_with, data, tenure, text};

/// Executes the runs of a command line. Returns the number of messages in the run with the most
/// messages.
#[track_caller]
fn most_messages(line: &str) -> f64 {
    data(line, 0)["summary"]["messages"]["total"]["max"].as_f64().expect("a figure")
}

/// With drifting clocks, the bully algorithm sends no more messages than without drift. T is the
/// timeout for an answer, and T1 is the timeout for the announcement that follows. T1 measured by
/// the fastest clock is longer than T measured by the slowest clock. The announcement therefore
/// arrives before T1 expires, and no process starts a second election.
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

/// Control experiment: the timeout T1 is too short for the drift of the clocks. T1 limits the wait
/// for the announcement of a leader. Processes start unnecessary elections, and send more messages.
#[test]
fn bully_starts_again_if_t1_is_too_short() {
    let drifting =
        "simulate bully -n 5 --down 5 --initiators 1 --drift 0.9 --latency 1..4 --runs 400";
    assert!(most_messages(&format!("{drifting} --timeout coordinator=400")) > 20.0);
    let steady = "simulate bully -n 5 --down 5 --initiators 1 --latency 1..4 --runs 50";
    assert!(most_messages(steady) <= 20.0);
    assert!(most_messages(&format!("{steady} --timeout coordinator=5")) > 20.0);
    // Without faults the card bounds the cost, so the run is a violation.
    let line = "simulate bully -n 5 --initiators 1 --latency 1..4 --timeout coordinator=1";
    let report = data(line, 1);
    assert_eq!(report["verdicts"]["cost"], "violated", "{report}");
    let replay = report["violations"][0]["replay"].as_str().expect("a command");
    assert!(replay.contains(" --timeout coordinator=1"), "{replay}");
    let again = replay.strip_prefix("tenure ").expect("a command line");
    assert_eq!(data(again, 1)["verdicts"]["cost"], "violated", "{replay}");
}

/// Simulates elections after the highest process has crashed. The time to elect a leader then
/// equals the answer timeout plus the latency of one message.
#[test]
fn answer_timeout_determines_the_time_to_elect() {
    let time = |more: &str| {
        let line = format!("simulate bully -n 3 --down 3 --initiators 2 --latency 1{more}");
        data(&line, 0)["finished_at"].as_f64()
    };
    assert_eq!(time(""), Some(3.5));
    assert_eq!(time(" --timeout answer=7"), Some(8.0));
}

/// `--suspect-after` sets the time until a crashed leader is suspected. The election begins only
/// after this time.
#[test]
fn suspect_after_delays_the_election() {
    let line = "simulate bully -n 5 --crash 5@10 --until 80";
    let shown = |more: &str| {
        let shown = text(&format!("{line}{more}"), 0);
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(shown("").contains("time to elect 5.5 "));
    assert!(shown(" --suspect-after 30").contains("time to elect 33.5 "));
    // The command that reproduces a run contains the option.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    text(&format!("{line} --suspect-after 30 --trace {}", path.display()), 0);
    let trace = std::fs::read_to_string(path).expect("a trace");
    assert!(trace.contains("simulate bully -n 5 --suspect-after 30 --crash 5@10"), "{trace}");
    let idle = tenure("simulate lamport -n 2 --suspect-after 30");
    assert!(String::from_utf8_lossy(&idle.stderr).contains("--suspect-after"), "{idle:?}");
}

/// `check` derives timeouts from the bound on the duration of a step, like `simulate`. In
/// asynchronous time the bound has no effect.
#[test]
fn check_derives_timeouts_from_bound_on_steps() {
    let line = |more: &str, status| {
        let line = "check bully -n 2 --initiators 1 --latency 0..1 --property one-leader-at-a-time";
        data(&format!("{line}{more}"), status)["properties"]["one-leader-at-a-time"].clone()
    };
    assert_eq!(line(" --timeout answer=3", 0), "holds", "steps take no time");
    assert_eq!(line(" --step 0..1 --timeout answer=3", 1), "violated");
    assert_eq!(line(" --step 0..1", 0), "holds");
    let idle = tenure("check central -n 2 --step 1");
    let report = String::from_utf8_lossy(&idle.stderr);
    assert!(report.contains("--step"), "steps take no time in asynchronous time: {report}");
    assert_fails_with(&tenure("check bully --step 2..1"), 2, "expected the smaller number first");
}

/// In a check in synchronous time, a timer fires after the timeout that the user gives. In
/// asynchronous time it may fire at any time.
#[test]
fn check_uses_the_given_timeout() {
    for latency in ["1", "0..2", "1..3"] {
        let line = format!("check bully -n 3 --initiators 1 --latency {latency} --property cost");
        assert_eq!(data(&line, 0)["properties"]["cost"], "holds", "{line}");
    }
    let short = "check bully -n 3 --initiators 1 --latency 0..2 --property cost";
    let short = format!("{short} --timeout coordinator=1");
    assert_eq!(data(&short, 1)["properties"]["cost"], "violated");
    let idle = tenure("check raft -n 2 --timeout election=5 --max-states 1000");
    let report = String::from_utf8_lossy(&idle.stderr);
    assert!(report.contains("--timeout"), "timers fire at any time: {report}");
}

/// With timeouts that do not account for a large clock drift, a check finds a violation. With the
/// timeouts that follow from the bound on drift, it finds none.
#[test]
fn check_covers_clock_drift_within_its_bound() {
    for (name, short) in [
        ("lease", "entry-lease=9 --timeout entry-expiry=10"),
        ("leased", "session-validity=9 --timeout session-ttl=10"),
    ] {
        let line = |more: &str| {
            let line = format!(
                "check {name} -n 2 --entries 1 --timing synchronous --latency 0 --partition 2 \
                 --property mutual-exclusion{more}"
            );
            let status = i32::from(more.contains("0.2 --timeout"));
            data(&line, status)["properties"]["mutual-exclusion"].clone()
        };
        assert_eq!(line(&format!(" --timeout {short}")), "holds", "{name}: no drift");
        let within = format!(" --drift 0.05 --timeout {short}");
        assert_eq!(line(&within), "holds", "{name}: the drift of the card");
        let beyond = format!(" --drift 0.2 --timeout {short}");
        assert_eq!(line(&beyond), "violated", "{name}: beyond it");
        assert_eq!(line(" --drift 0.2"), "holds", "{name}: timeouts follow from the bound");
    }
}

#[test]
fn lease_of_a_session_covers_the_drift() {
    let line = "simulate leased -n 3 --entries 5 --hold 30 --runs 20 --drift 0.2";
    let violations =
        |more: &str, status| data(&format!("{line}{more}"), status)["verdicts"].clone();
    assert_eq!(violations("", 0)["mutual-exclusion"], "holds");
    let list = text("list leased", 0);
    assert!(list.contains("session-ttl 10: ") && list.contains("session-validity 9: "), "{list}");
}

#[test]
fn only_timeouts_of_the_card_are_accepted() {
    let shown = text("list bully", 0);
    assert!(shown.contains("answer 2.5: T:") && shown.contains("coordinator 13.5: T1:"), "{shown}");
    for (line, message) in [
        ("simulate bully --timeout answr=5", "invalid timeout 'answr' for bully: expected answer"),
        ("simulate lamport --timeout x=5", "invalid timeout 'x' for lamport: expected none"),
        ("simulate leased --timeout ttl=5", "invalid timeout 'ttl' for leased: expected session-"),
        (
            "simulate leased --timeout session-ttl=5..6",
            "invalid range for the timeout 'session-ttl': expected one duration",
        ),
        (
            "simulate floodset --timeout round=1..3",
            "invalid range for the timeout 'round': expected one duration",
        ),
        ("check bully --timeout answr=5", "invalid timeout 'answr' for bully"),
        (
            "simulate bully --timeout answer",
            "invalid value 'answer' for '--timeout <NAME=D>': expected NAME=5",
        ),
    ] {
        assert_fails_with(&tenure(line), 2, message);
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
        ("leased", "session-ttl=12"),
        ("leased", "session-renewal=2"),
        ("leased", "leader-change=20..30"),
        ("fifo:leased", "commit=0..2"),
        ("election-from-mutex:leased", "session-validity=9.5"),
    ] {
        let ended = tenure(&format!("simulate {name} -n 3 --timeout {timeout}"));
        assert_eq!(ended.status.code(), Some(0), "{name} {timeout}: {ended:?}");
    }
}
