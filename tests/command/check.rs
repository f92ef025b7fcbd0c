//! `tenure check` besides its verdicts: it can be interrupted, and it checks both scopes of an
//! order in one search.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::shell::{assert_fails_with, handles, is_concise};

fn tenure(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(arguments.split_whitespace()).output().expect("the command starts")
}

fn json(output: &Output) -> Value {
    let err = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {err}"))
}

#[test]
fn replay_rejects_a_trace_without_a_violation() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let simulated = tenure(&format!("simulate central -n 3 --trace {}", path.display()));
    assert_eq!(simulated.status.code(), Some(0), "{simulated:?}");
    let refused = tenure(&format!("trace replay {}", path.display()));
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("violates no property"), "{message}");
}

#[test]
fn both_scopes_of_the_order_are_checked_in_one_search() {
    let scopes = "order,order-with-messages,mutual-exclusion";
    let line = format!("check central -n 3 --entries 0,1,1 --app-messages 1 --property {scopes}");
    let checked = tenure(&format!("{line} --format json"));
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let report = json(&checked);
    assert_eq!(report["properties"]["order"], "holds");
    assert_eq!(report["properties"]["order-with-messages"], "violated");
    assert_eq!(report["properties"]["mutual-exclusion"], "holds");
    assert_eq!(report["counterexample"]["length"], 6);
}

/// Without options, a check names a next command and its cost.
#[test]
fn check_without_options_names_the_next_command() {
    let text = |line: &str| String::from_utf8(tenure(line).stdout).expect("text");
    let bare = text("check central");
    let next = bare.lines().find(|line| line.contains("next:")).expect("the next command");
    assert!(next.contains("next: `tenure check central -n 4`, "), "{next}");
    let states = next.split('(').nth(1).and_then(|rest| rest.split([',', ')']).next());
    let expected: u64 = states.and_then(|states| states.parse().ok()).expect("a number");
    let larger = json(&tenure("check central -n 4 --format json"))["states"].as_u64();
    let larger = larger.expect("a number of states");
    assert!((expected / 2..expected * 10).contains(&larger), "{expected} expected, {larger} found");
    for line in ["check central -n 2", "check central --lose 1 --beyond-assumptions"] {
        assert!(!text(line).contains("next:"), "{line}");
    }
}

/// Selected rows of a table of hundreds of checks can be computed alone.
#[test]
fn fault_matrix_can_be_limited_to_selected_rows() {
    let names = |line: &str| {
        let data = json(&tenure(&format!("{line} --format json")));
        let rows = data["algorithms"].as_array().expect("rows").clone();
        rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let some = names("compare mutex --faults --only token-ring,central");
    assert_eq!(some, ["central", "token-ring"]);
    assert_eq!(names("compare election --runs 2 --only lelann"), ["lelann"]);
    let unknown = tenure("compare mutex --faults --only centrall");
    assert_eq!(unknown.status.code(), Some(2));
    let message = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(
        message.contains("unknown algorithm 'centrall' for --only") && message.contains("central,"),
        "{message}"
    );
}

#[test]
fn reports_fit_in_a_hundred_columns() {
    for check in [
        "maekawa -n 3 --quorums pairs --variant basic --property starvation-freedom",
        "ricart-agrawala -n 4 --variant reply-while-inside --property mutual-exclusion",
        "chang-roberts -n 5 --lose 1 --beyond-assumptions --property agreement,progress,validity",
    ] {
        let checked = tenure(&format!("check {check}"));
        let text = String::from_utf8(checked.stdout).expect("text");
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|longest| (20..=100).contains(&longest)), "{check}:\n{text}");
    }
}

#[test]
fn interrupted_check_prints_partial_results() {
    let log = "raft-log -n 3 --crash 1 --recover 1 --lose 1";
    for (signal, algorithm, property) in [
        (Signal::INT, "ricart-agrawala -n 5 --entries 3", "mutual-exclusion"),
        (Signal::TERM, log, "log-matching"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        let line = format!("check {algorithm} --format json --max-memory 4G");
        let output = Stdio::piped;
        command.args(line.split(' ')).stdin(Stdio::null()).stdout(output()).stderr(output());
        let child = command.spawn().expect("the command starts");
        // This check takes hours.
        handles(child.id(), signal);
        sleep(Duration::from_secs(2));
        kill(&child, signal);
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(3), "{ended:?}");
        let report = json(&ended);
        assert_eq!(report["verdict"], "incomplete");
        assert_eq!(report["properties"][property], "incomplete");
        assert_eq!(report["limit"], "stopped");
        assert!(report["states"].as_u64().is_some_and(|states| states > 0));
    }
}

/// An engine rejects an environment that the card excludes, independent of the option name.
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
        let refused = tenure(&format!("check {line}"));
        let report = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(
            (refused.status.code(), report.lines().count()),
            (Some(2), 1),
            "{line}: {report}"
        );
        assert!(
            report.contains(message) && report.contains("add --beyond-assumptions"),
            "{report}"
        );
        let beyond = tenure(&format!("check {line} --beyond-assumptions"));
        assert_ne!(beyond.status.code(), Some(2), "{line}");
    }
}

/// Options without effect are warnings, and change neither the result nor the status.
#[test]
fn option_without_effect_is_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let file = path.display();
    let traced = format!("simulate raymond -n 3 --tree path --states --trace {file}");
    assert!(tenure(&traced).stderr.is_empty());
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

/// An unknown filter, or a file name that contradicts the format, is rejected.
#[test]
fn trace_commands_reject_unknown_kinds_and_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let (file, picture) = (path.display(), folder.path().join("a.png"));
    assert!(tenure(&format!("simulate raymond -n 3 --tree path --trace {file}")).stderr.is_empty());
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

/// A check of five processes would need too much time and memory.
#[test]
fn check_without_options_ends() {
    for (line, size) in [("lamport", 3), ("chang-roberts --ids 2,1", 2)] {
        let checked = tenure(&format!("check {line} --format json"));
        assert_eq!(checked.status.code(), Some(0), "{checked:?}");
        assert_eq!(json(&checked)["n"], size);
    }
}

/// A composition over a ring sends along the ring; the composition itself sends to all processes.
#[test]
fn composition_over_a_ring_may_leave_the_ring() {
    for name in ["mutex-from-election:chang-roberts", "election-from-mutex:token-ring"] {
        let report = tenure(&format!("check {name} -n 3"));
        let message = String::from_utf8_lossy(&report.stdout);
        assert_eq!(report.status.code(), Some(0), "{name}: {message}");
    }
}

#[test]
fn stopped_check_prints_its_depth_and_a_larger_limit() {
    // The memory of several threads depends on their timing, and so does the depth.
    let line = "check lamport -n 4 --max-memory 20M --threads 1";
    let stopped = tenure(&format!("{line} --format json"));
    assert_eq!(stopped.status.code(), Some(3), "{stopped:?}");
    let report = json(&stopped);
    assert_eq!((&report["verdict"], &report["limit"]), (&"incomplete".into(), &"memory".into()));
    let text = String::from_utf8(tenure(line).stdout).expect("text");
    assert!(report["depth"].as_u64() > Some(0), "{report}");
    let depth = text.split("within depth ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(depth.is_some_and(|depth| depth.parse::<u64>().is_ok()), "{text}");
    assert!(text.contains("no step violates anything"), "{text}");
    assert!(text.ends_with("  raise --max-memory; or search less: -n 3\n"), "{text}");
}

#[test]
fn too_many_threads_are_rejected() {
    for line in ["check lamport -n 2 --threads 100000", "simulate lamport --threads 100000"] {
        let refused = tenure(line);
        let message = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.contains("expected 1 to 1024"), "{message}");
    }
}

fn kill(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("not 0");
    kill_process(pid, signal).expect("it still runs");
}

/// An interrupted check does not prove a violation.
#[test]
fn interrupted_matrix_names_the_checks_done() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["question", "--all"]).stdin(Stdio::null());
        let output = Stdio::piped;
        let mut child = command.stdout(output()).stderr(output()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut report = vec![lines.next().expect("a first line").expect("text")];
        kill(&child, signal);
        report.extend(lines.map(|line| line.expect("text")));
        let ended = child.wait_with_output().expect("it ends");
        let message = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(3), "{report:?} {message}");
        let last = report.last().and_then(|line| line.split(' ').next()).expect("an id");
        assert_eq!(message, format!("tenure: interrupted after {last}\n"));
        assert!(report.iter().all(|line| line.contains('✓')), "{report:?}");
    }
}

#[test]
fn oversized_trace_names_the_option_for_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let file = path.display();
    assert!(tenure(&format!("simulate token-ring -n 3 --trace {file}")).status.success());
    let mut lines = fs::read_to_string(&path).expect("a trace");
    lines.insert_str(lines.len() - 2, &" ".repeat(4096));
    fs::write(&path, &lines).expect("a file");
    let line = format!("trace verify {file}");
    for (option, short) in [("longest-line", "4K"), ("most-processes", "2")] {
        let refused = tenure(&format!("{line} --{option} {short}"));
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            message.contains(&format!("--{option}")) && message.lines().count() == 1,
            "{message}"
        );
    }
    let read = tenure(&format!("{line} --longest-line 8K --most-processes 3"));
    assert_eq!(read.status.code(), Some(0), "{read:?}");
}

#[test]
fn trace_is_drawn_exported_and_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let file = path.display();
    assert!(tenure(&format!("simulate token-ring -n 3 --trace {file}")).status.success());
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
        let refused = tenure(&format!("trace diagram {file} {options}"));
        assert_eq!(refused.status.code(), Some(2), "{options}: {refused:?}");
        assert!(is_concise(&String::from_utf8_lossy(&refused.stderr)), "{options}");
    }
}
