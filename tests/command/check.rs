//! Tests of `tenure check`: warnings, limits, interrupts and rejected options. Some tests also run
//! other commands that must behave in the same way.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::killed::Killed;
use crate::shell::{assert_fails_with, assert_refused, data, handles, has_computed, tenure, text};

/// Runs a command line that writes a trace. Returns the folder of the trace, and the path of the
/// trace.
#[track_caller]
fn traced(line: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let output = tenure(&format!("{line} --trace {}", path.display()));
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    (folder, path)
}

#[test]
fn replay_rejects_a_trace_without_a_violation() {
    let (_folder, path) = traced("simulate central -n 3");
    assert_refused(&format!("trace replay {}", path.display()), &["violates no property"]);
}

#[test]
fn both_scopes_of_the_order_are_checked_in_one_search() {
    let scopes = "order,order-with-messages,mutual-exclusion";
    let line = format!("check central -n 3 --entries 0,1,1 --app-messages 1 --property {scopes}");
    let report = data(&line, 1);
    assert_eq!(report["properties"]["order"], "holds");
    assert_eq!(report["properties"]["order-with-messages"], "violated");
    assert_eq!(report["properties"]["mutual-exclusion"], "holds");
    assert_eq!(report["counterexample"]["length"], 6);
}

/// A check without options names a command for a larger group, and estimates its number of states.
#[test]
fn check_without_options_names_the_next_command() {
    let bare = text("check central", 0);
    let next = bare.lines().find(|line| line.contains("next:")).expect("the next command");
    assert!(next.contains("next: `tenure check central -n 4`, "), "{next}");
    let states = next.split('(').nth(1).and_then(|rest| rest.split([',', ')']).next());
    let expected: u64 = states.and_then(|states| states.parse().ok()).expect("a number");
    let larger = data("check central -n 4", 0)["states"].as_u64().expect("a number of states");
    assert!((expected / 2..expected * 10).contains(&larger), "{expected} expected, {larger} found");
    for (line, status) in
        [("check central -n 2", 0), ("check central --lose 1 --beyond-assumptions", 1)]
    {
        assert!(!text(line, status).contains("next:"), "{line}");
    }
}

/// `tenure compare --faults` makes a table of faults, which takes hundreds of checks. The option
/// `--only` limits the table to the rows of some algorithms.
#[test]
fn fault_matrix_can_be_limited_to_selected_rows() {
    let names = |line: &str| {
        let rows = data(line, 0)["algorithms"].as_array().expect("rows").clone();
        rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let some = names("compare mutex --faults --only token-ring,central");
    assert_eq!(some, ["central", "token-ring"]);
    assert_eq!(names("compare election --runs 2 --only lelann"), ["lelann"]);
    assert_refused(
        "compare mutex --faults --only centrall",
        &["unknown algorithm 'centrall' for --only", "central,"],
    );
}

#[test]
fn reports_fit_in_a_hundred_columns() {
    for check in [
        "maekawa -n 3 --quorums pairs --variant basic --property starvation-freedom",
        "ricart-agrawala -n 4 --entries 1,1,0,0 --variant reply-while-inside",
        "chang-roberts -n 5 --lose 1 --beyond-assumptions --property agreement,progress,validity",
    ] {
        let checked = tenure(&format!("check {check}"));
        let text = String::from_utf8(checked.stdout).expect("text");
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|longest| (20..=100).contains(&longest)), "{check}:\n{text}");
    }
}

/// Starts a check that takes hours. Sends a signal after the search has begun, and returns the JSON
/// output of the check.
#[track_caller]
fn interrupted(arguments: &str, signal: Signal) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    let line = format!("check {arguments} --format json --max-memory 4G");
    let output = Stdio::piped;
    command.args(line.split(' ')).stdin(Stdio::null()).stdout(output()).stderr(output());
    let child = Killed(command.spawn().expect("the command starts"));
    handles(child.id(), signal);
    has_computed(child.id());
    kill(&child, signal);
    let ended = child.wait_with_output();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    serde_json::from_slice(&ended.stdout).expect("JSON")
}

#[test]
fn interrupted_check_prints_partial_results() {
    let log = "raft-log -n 3 --crash 1 --recover 1 --lose 1";
    for (signal, algorithm, property) in [
        (Signal::INT, "ricart-agrawala -n 5 --entries 3", "mutual-exclusion"),
        (Signal::TERM, log, "log-matching"),
    ] {
        let report = interrupted(algorithm, signal);
        assert_eq!(report["verdict"], "incomplete");
        assert_eq!(report["properties"][property], "incomplete");
        assert_eq!(report["limit"], "stopped");
        assert!(report["states"].as_u64().is_some_and(|states| states > 0));
    }
}

/// Interrupts the same search four times, each time at a different moment. Every report must state
/// that the search was stopped.
#[test]
fn interrupted_measurement_is_incomplete() {
    for _ in 0..4 {
        let report = interrupted("raft-log -n 3 --measure messages", Signal::INT);
        assert_eq!(report[0]["limit"], "stopped", "{report}");
    }
}

#[test]
fn check_rejects_an_environment_outside_the_card() {
    for (line, message) in [
        (
            "lamport -n 2 --channel reordered",
            "the channels reorder, and its card says: needs channels in order",
        ),
        (
            "bully -n 2 --timing asynchronous",
            "the timing asked for is weaker, and its card says: needs synchronous timing",
        ),
        ("token-ring -n 2 --lose 1", "messages are lost, and its card says"),
        ("token-ring -n 2 --duplicate 1", "messages are duplicated, and its card says"),
        ("ricart-agrawala -n 2 --crash 1", "a process crashes, and its card says"),
        ("lamport -n 2 --down 2", "a process is down from the start, and its card says"),
        ("coordinated:bully -n 2 --partition 1", "a partition loses messages, and its card says"),
    ] {
        assert_refused(&format!("check {line}"), &[message, "add --beyond-assumptions"]);
        let beyond = tenure(&format!("check {line} --beyond-assumptions"));
        assert_ne!(beyond.status.code(), Some(2), "{line}");
    }
}

/// An option without effect causes a warning. It changes neither the result nor the exit status.
#[test]
fn option_without_effect_is_a_warning() {
    let (_folder, path) = traced("simulate raymond -n 3 --tree path --states");
    let file = path.display();
    for (line, message) in [
        ("check lamport -n 2 --tree star", "--tree has no effect on lamport"),
        ("simulate lamport --tree star", "--tree has no effect on lamport"),
        ("simulate central --quorums fpp --k 2", "--quorums has no effect on central"),
        ("check lamport -n 2 --initiators 1", "--initiators has no effect on lamport"),
        ("check bully -n 2 --entries 2", "--entries has no effect on bully"),
        ("check lamport -n 2 --latency 1", "--latency has no effect on lamport"),
        ("check lamport -n 2 --term-max 5", "--term-max has no effect on lamport"),
        ("check bully -n 2 --recover 1", "--recover has no effect on bully"),
        ("simulate bully --recover 3@5", "--recover has no effect on bully"),
        (
            "compare election --coordinator 2 --runs 1",
            "--coordinator has no effect on these algorithms",
        ),
        (&format!("trace show {file} --kind crash"), "this trace has no events of the kind crash"),
        (&format!("trace show {file} --process resource"), "no events of the resource"),
        (&format!("trace diagram {file} --fields nosuch"), "--fields nosuch has no effect"),
    ] {
        let output = tenure(line);
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && report.contains(message), "{line}: {report}");
    }
    for line in [
        "check maekawa -n 3 --quorums pairs",
        "check k-mutex -n 2 --k 1",
        "check bully -n 2 --term-max 1",
        "list lamport",
    ] {
        let output = tenure(line);
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    }
}

/// A trace command rejects an unknown kind or process in its filter, and a file name that
/// contradicts the format.
#[test]
fn trace_commands_reject_unknown_kinds_and_processes() {
    let (folder, path) = traced("simulate raymond -n 3 --tree path");
    let (file, picture) = (path.display(), folder.path().join("a.png"));
    for (line, message) in [
        (
            format!("trace show {file} --kind nosuch"),
            "unknown kind 'nosuch' for --kind: expected boot, command,",
        ),
        (format!("trace show {file} --kind event,nosuch"), "'nosuch' for --kind"),
        (format!("trace show {file} --process 9"), "expected P1 to P3"),
        (format!("trace diff {file} {file} --process 9"), "expected P1 to P3"),
        (format!("trace diagram {file} --from 50 --to 20"), "--from is later than --to"),
        (format!("trace verify {file} {file}"), "a trace was given twice"),
        (format!("compare election --runs 1 --plot {}", picture.display()), ".svg or .html"),
    ] {
        assert_fails_with(&tenure(&line), 2, message);
    }
    assert!(!picture.exists());
}

/// A check without options has at most three processes, and ends. A check of five processes would
/// need too much time and memory.
#[test]
fn check_without_options_ends() {
    for (line, size) in [("lamport", 3), ("chang-roberts --ids 2,1", 2)] {
        assert_eq!(data(&format!("check {line}"), 0)["n"], size);
    }
}

/// The algorithms of a composition may use different links. In this test, the inner algorithm sends
/// its messages along a ring, and the outer algorithm sends its messages to all processes. The
/// checks succeed for a lock on top of an election, and for an election on top of a lock.
#[test]
fn composition_over_a_ring_may_leave_the_ring() {
    for name in ["mutex-from-election:chang-roberts", "election-from-mutex:token-ring"] {
        text(&format!("check {name} -n 3"), 0);
    }
}

#[test]
fn stopped_check_prints_its_depth_and_a_larger_limit() {
    // With several threads, the memory and therefore the depth of the search would depend on
    // timing.
    let line = "check lamport -n 4 --max-memory 20M --threads 1";
    let report = data(line, 3);
    assert_eq!((&report["verdict"], &report["limit"]), (&"incomplete".into(), &"memory".into()));
    let text = text(line, 3);
    assert!(report["depth"].as_u64() > Some(0), "{report}");
    let depth = text.split("within depth ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(depth.is_some_and(|depth| depth.parse::<u64>().is_ok()), "{text}");
    assert!(text.contains("no step violates anything"), "{text}");
    assert!(text.ends_with("  raise --max-memory; or search less: -n 3\n"), "{text}");
}

#[test]
fn largest_group_is_checked_for_promised_properties() {
    for size in [30, 31] {
        let report = data(&format!("check ricart-agrawala -n {size} --max-states 10"), 3);
        assert_eq!(report["limit"], "states", "{report}");
    }
}

#[test]
fn too_many_threads_are_rejected() {
    for line in ["check lamport -n 2 --threads 100000", "simulate lamport --threads 100000"] {
        assert_refused(line, &["expected 1 to 1024"]);
    }
}

fn kill(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("not 0");
    kill_process(pid, signal).expect("it still runs");
}

/// Interrupts `tenure question --all`, which runs the checks of the questions in sequence. The
/// command prints the completed questions, reports no violation, and names the last completed
/// question.
#[test]
fn interrupted_question_command_names_last_completed_question() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["question", "--all"]).stdin(Stdio::null());
        let output = Stdio::piped;
        let child = command.stdout(output()).stderr(output()).spawn().expect("it starts");
        let mut child = Killed(child);
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut report = vec![lines.next().expect("a first line").expect("text")];
        kill(&child, signal);
        report.extend(lines.map(|line| line.expect("text")));
        let ended = child.wait_with_output();
        let message = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(3), "{report:?} {message}");
        let last = report.last().and_then(|line| line.split(' ').next()).expect("an id");
        assert_eq!(message, format!("tenure: interrupted after {last}\n"));
        assert!(report.iter().all(|line| line.contains('✓')), "{report:?}");
    }
}

#[test]
fn oversized_trace_names_the_option_for_the_limit() {
    let (_folder, path) = traced("simulate token-ring -n 3");
    let mut lines = fs::read_to_string(&path).expect("a trace");
    lines.insert_str(lines.len() - 2, &" ".repeat(4096));
    fs::write(&path, &lines).expect("a file");
    let line = format!("trace verify {}", path.display());
    for (option, short) in [("longest-line", "4K"), ("most-processes", "2")] {
        assert_refused(&format!("{line} --{option} {short}"), &[&format!("--{option}")]);
    }
    text(&format!("{line} --longest-line 8K --most-processes 3"), 0);
}

#[test]
fn trace_is_drawn_exported_and_read_back() {
    let (folder, path) = traced("simulate token-ring -n 3");
    let file = path.display();
    let report = |arguments: &str| {
        let output = tenure(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = report(&format!("trace diagram {file} --clock vector"));
    assert!(text.contains("token") && text.contains("enters"), "{text}");
    let svg = report(&format!("trace diagram {file} --as svg --scale causal --direction down"));
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    let page = report(&format!("trace diagram {file} --as html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    let log = report(&format!("trace export {file} --as shiviz"));
    let logged = folder.path().join("run.log");
    fs::write(&logged, log).expect("a file");
    let back = report(&format!("trace import {} --from shiviz", logged.display()));
    assert_eq!(back, fs::read_to_string(&path).expect("a trace"), "to the byte");
    assert!(report(&format!("trace export {file} --as mermaid")).starts_with("sequenceDiagram"));
    let spans: Value = serde_json::from_str(&report(&format!("trace export {file} --as otel")))
        .expect("spans are JSON");
    assert_eq!(spans["resourceSpans"].as_array().map(Vec::len), Some(3));
    for options in ["--events 9..3", "--from soon", "--events 5000..6000", "--as png"] {
        assert_refused(&format!("trace diagram {file} {options}"), &[]);
    }
}
