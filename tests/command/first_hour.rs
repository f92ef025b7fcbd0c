//! The first hour of somebody new, in ten lines.
//!
//! - A node whose list of addresses is longer than those of its peers is never let in:
//!   `cluster::identity`.
//! - Whoever interrupts is told what is known, and nothing else: here, in `check` and in `simulate`
//!   of this folder (`whoever_interrupts_…`, `an_interrupted_run_…`).
//! - `tenure check NAME` with nothing else ends, or stops by itself: here.
//! - What is almost right is answered in a line, with the nearest: `doubtful`.
//! - A node with nothing to do says little: `cluster`.
//! - A leader that is asked to go is followed at once: `cluster`.
//! - A lock of one's own has every tool: `tools` of `examples/your_own_lock`.
//! - A picture shows what went wrong: `pictures` of `tests/browser`.
//! - Nothing is wider than the terminal: here.
//! - A cut makes both sides suspect each other: here, and on real nodes `cluster::partition`.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::shell::{data, handles, tenure, text};

/// A line under way.
fn start(line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(line.split(' ')).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

#[test]
fn what_is_cut_short_finds_nothing() {
    let lines = [
        "compare mutex --faults",
        "compare election --runs 100000",
        "simulate lamport -n 9 --entries 9 --runs 1000000",
    ];
    let mut under_way = lines.map(start);
    under_way.iter().for_each(|child| handles(child.id(), Signal::INT));
    sleep(Duration::from_secs(1));
    for (line, child) in lines.iter().zip(&mut under_way) {
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
        kill_process(pid, Signal::INT).expect("it is under way");
        let (mut told, mut says) = (String::new(), String::new());
        child.stdout.take().expect("a pipe").read_to_string(&mut told).expect("text");
        child.stderr.take().expect("a pipe").read_to_string(&mut says).expect("text");
        let status = child.wait().expect("it ends").code();
        assert_eq!(status, Some(3), "{line}: {told}{says}");
        for word in ["✗", "VIOLATED", "BROKEN"] {
            assert!(!told.contains(word), "{line}: {told}");
        }
    }
}

/// These filled the memory of a laptop, when they were left alone.
#[test]
fn a_check_that_would_go_on_for_hours_stops_when_it_is_told_to_and_says_what_it_covered() {
    for name in ["raft", "coordinated:bully"] {
        let told = text(&format!("check {name} -n 4 --max-time 300ms"), 3);
        assert!(told.contains("stopped: ") && told.contains("within depth"), "{told}");
    }
}

/// Every name, with nothing else but this: it ends, or stops and says so, and nothing is found.
fn any_name_ends_or_stops(limit: &str) {
    let all = data("list", 0);
    let names = all.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 70, "{names:?}");
    let each = |names: &[&str]| {
        for name in names {
            let output = tenure(&format!("check {name} {limit}"));
            let (told, status) = (String::from_utf8_lossy(&output.stdout), output.status.code());
            assert!(matches!(status, Some(0 | 3)), "{name}: {told}");
            assert_eq!(status == Some(3), told.contains("stopped: "), "{name}: {told}");
            assert!(!told.contains('✗'), "{name}: {told}");
        }
    };
    std::thread::scope(|scope| {
        for half in names.chunks(names.len().div_ceil(2)) {
            scope.spawn(move || each(half));
        }
    });
}

/// That it has limits of its own when nothing is said, half of the memory and a minute before
/// somebody who waits, is a test of the options of `check`.
#[test]
fn a_check_of_any_name_ends_or_stops_by_itself() {
    any_name_ends_or_stops("--max-states 3000");
}

#[test]
#[ignore = "some minutes"]
fn a_check_of_any_name_goes_as_far_as_it_comes_in_a_while_and_finds_nothing() {
    any_name_ends_or_stops("--max-time 20s");
}

#[test]
fn a_cut_makes_both_sides_suspect_each_other() {
    let line = "check coordinated:bully -n 3 --partition 1 --beyond-assumptions \
                --property mutual-exclusion";
    assert_eq!(data(line, 1)["properties"]["mutual-exclusion"], "violated");
    let told = data("simulate majority -n 3 --partition 1@1..100 --beyond-assumptions", 0);
    let order: Vec<u64> = told["entries"]["order"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it.as_u64())
        .collect();
    assert_eq!(order.last(), Some(&1), "{told:#}");
    assert_eq!(order.len(), 3, "{told:#}");
}

/// What a line prints on a screen of sixty columns.
fn narrowly(line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    let words = line.split_whitespace();
    let output = command.args(words).env("COLUMNS", "60").stdin(Stdio::null()).output();
    let output = output.expect("the command starts");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("t");
    let trace = trace.display();
    narrowly(&format!("simulate bully -n 4 --crash 4@3 --trace {trace}"));
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
        let told = lines.iter().map(|line| (line, scope.spawn(move || narrowly(line))));
        for (line, told) in told.collect::<Vec<_>>() {
            let told = told.join().expect("it ends");
            let too_wide = told.lines().filter(|it| it.chars().count() > 60);
            wide.extend(too_wide.map(|it| format!("{line}: {it}")));
        }
    });
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}
