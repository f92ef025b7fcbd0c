//! Tests of the first use of the command, in ten cases. Each line below names a case, and the files
//! that contain its tests. The word "here" means this file.
//!
//! - A node with a longer address list than its peers is rejected: `cluster::identity`.
//! - An interrupt prints the results so far and no violation: here, `check` and `simulate`.
//! - `tenure check NAME` without options ends or stops at its limits: here.
//! - A misspelled argument is rejected in one line with the nearest name: `invalid_arguments`.
//! - An idle node logs nothing: `cluster`.
//! - A terminated leader is replaced immediately: `cluster`.
//! - Every command works with a lock from another crate: `tools` of `examples/your_own_lock`.
//! - A diagram shows the violation: `pictures` of `tests/browser`.
//! - Output fits the terminal: here.
//! - The sides of a partition suspect each other: here, and with real nodes in
//!   `cluster::partition`.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::killed::Killed;
use crate::shell::{data, handles, has_computed, tenure, text};

fn start(line: &str) -> Killed {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(line.split(' ')).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    Killed(child.expect("the command starts"))
}

#[test]
fn interrupted_commands_report_no_violations() {
    let lines = [
        "compare mutex --faults",
        "compare election --runs 100000",
        "simulate lamport -n 9 --entries 9 --runs 1000000",
    ];
    let under_way = lines.map(start);
    under_way.iter().for_each(|child| handles(child.id(), Signal::INT));
    under_way.iter().for_each(|child| has_computed(child.id()));
    for (line, child) in lines.into_iter().zip(under_way) {
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
        kill_process(pid, Signal::INT).expect("it is under way");
        let ended = child.wait_with_output();
        let report = String::from_utf8(ended.stdout).expect("text");
        let message = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(3), "{line}: {report}{message}");
        for word in ["✗", "VIOLATED", "BROKEN"] {
            assert!(!report.contains(word), "{line}: {report}");
        }
    }
}

/// A check stops at its time limit and prints how far it came. Without a limit, these checks would
/// exceed the memory of a laptop.
#[test]
fn long_check_stops_at_max_time_and_prints_its_coverage() {
    for name in ["raft", "coordinated:bully"] {
        let report = text(&format!("check {name} -n 4 --max-time 300ms"), 3);
        assert!(report.contains("stopped: ") && report.contains("within depth"), "{report}");
    }
}

/// Checks every algorithm with the option `limit`. Asserts that each check ends or stops at a
/// limit, and finds no violation.
fn assert_every_check_ends(limit: &str) {
    let all = data("list", 0);
    let names = all.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 70, "{names:?}");
    let each = |names: &[&str]| {
        for name in names {
            let output = tenure(&format!("check {name} {limit}"));
            let (report, status) = (String::from_utf8_lossy(&output.stdout), output.status.code());
            assert!(matches!(status, Some(0 | 3)), "{name}: {report}");
            assert_eq!(status == Some(3), report.contains("stopped: "), "{name}: {report}");
            assert!(!report.contains('✗'), "{name}: {report}");
        }
    };
    std::thread::scope(|scope| {
        for half in names.chunks(names.len().div_ceil(2)) {
            scope.spawn(move || each(half));
        }
    });
}

/// A check of any algorithm ends or stops at a limit. This test sets a limit on states. The default
/// limits are half of the memory and, at a terminal, one minute.
#[test]
fn check_of_every_algorithm_ends_within_its_limits() {
    assert_every_check_ends("--max-states 3000");
}

#[test]
#[ignore = "some minutes"]
fn check_of_every_algorithm_finds_nothing_in_twenty_seconds() {
    assert_every_check_ends("--max-time 20s");
}

#[test]
fn partitioned_sides_suspect_each_other() {
    let line = "check coordinated:bully -n 3 --partition 1 --beyond-assumptions \
                --property mutual-exclusion";
    assert_eq!(data(line, 1)["properties"]["mutual-exclusion"], "violated");
    let report = data("simulate majority -n 3 --partition 1@1..100 --beyond-assumptions", 0);
    let order: Vec<u64> = report["entries"]["order"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it.as_u64())
        .collect();
    assert_eq!(order.last(), Some(&1), "{report:#}");
    assert_eq!(order.len(), 3, "{report:#}");
}

/// Returns the output of a command line at a terminal that is 60 characters wide.
fn narrow_output(line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    let words = line.split_whitespace();
    let output = command.args(words).env("COLUMNS", "60").stdin(Stdio::null()).output();
    let output = output.expect("the command starts");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn output_fits_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("t");
    let trace = trace.display();
    narrow_output(&format!("simulate bully -n 4 --crash 4@3 --trace {trace}"));
    let lines = [
        "list".to_owned(),
        "list maekawa".to_owned(),
        "simulate lamport -n 5 --entries 2".to_owned(),
        "simulate raft -n 5 --runs 20 --crash 2@9".to_owned(),
        "simulate majority --partition 1@1..9 --beyond-assumptions".to_owned(),
        "simulate lamport --channel reordered --beyond-assumptions --seed 3".to_owned(),
        "check ricart-agrawala -n 2".to_owned(),
        "check ricart-agrawala -n 2 --variant clock-only-strict".to_owned(),
        "compare mutex --runs 3".to_owned(),
        "compare election --runs 3".to_owned(),
        "compare mutex --faults --only central,tolerant-ricart-agrawala".to_owned(),
        "scenario".to_owned(),
        "scenario race".to_owned(),
        "scenario bully-eight-steps".to_owned(),
        "question".to_owned(),
        "question Q-03".to_owned(),
        "question Q-19".to_owned(),
        "simulate --help".to_owned(),
        "help check".to_owned(),
        "help trace diagram".to_owned(),
        "--help".to_owned(),
        format!("trace show {trace}"),
        format!("trace verify {trace}"),
        format!("trace diagram {trace}"),
        format!("trace diagram {trace} --direction right"),
    ];
    let mut wide = Vec::new();
    std::thread::scope(|scope| {
        let report = lines.iter().map(|line| (line, scope.spawn(move || narrow_output(line))));
        for (line, report) in report.collect::<Vec<_>>() {
            let report = report.join().expect("it ends");
            let too_wide = report.lines().filter(|it| it.chars().count() > 60);
            wide.extend(too_wide.map(|it| format!("{line}: {it}")));
        }
    });
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}
