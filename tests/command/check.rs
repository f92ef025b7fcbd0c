//! What `tenure check` promises beyond its verdicts: it can be interrupted, and both scopes of an
//! order are judged in one go.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::shell::{handles, said};

fn tenure(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(arguments.split_whitespace()).output().expect("the command starts")
}

fn json(output: &Output) -> Value {
    let err = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {err}"))
}

#[test]
fn a_trace_that_violates_nothing_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let simulated = tenure(&format!("simulate central -n 3 --trace {}", path.display()));
    assert_eq!(simulated.status.code(), Some(0), "{simulated:?}");
    let refused = tenure(&format!("trace replay {}", path.display()));
    assert_eq!(refused.status.code(), Some(2));
    let says = String::from_utf8_lossy(&refused.stderr);
    assert!(says.contains("violates nothing"), "{says}");
}

#[test]
fn both_scopes_of_the_order_are_judged_in_one_go() {
    let scopes = "order,order-with-messages,mutual-exclusion";
    let line = format!("check central -n 3 --entries 0,1,1 --app-messages 1 --property {scopes}");
    let checked = tenure(&format!("{line} --format json"));
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let told = json(&checked);
    assert_eq!(told["properties"]["order"], "holds");
    assert_eq!(told["properties"]["order-with-messages"], "violated");
    assert_eq!(told["properties"]["mutual-exclusion"], "holds");
    assert_eq!(told["counterexample"]["length"], 6);
}

/// Whoever says nothing but a name is told what to try next, and what it costs.
#[test]
fn a_check_of_which_nothing_was_said_names_the_next() {
    let text = |line: &str| String::from_utf8(tenure(line).stdout).expect("text");
    let bare = text("check central");
    let next = bare.lines().find(|line| line.contains("next:")).expect("the next command");
    assert!(next.contains("next: `tenure check central -n 4`, "), "{next}");
    let states = next.split('(').nth(1).and_then(|rest| rest.split([',', ')']).next());
    let expected: u64 = states.and_then(|states| states.parse().ok()).expect("a number");
    let larger = json(&tenure("check central -n 4 --format json"))["states"].as_u64();
    let larger = larger.expect("a number of states");
    assert!((expected / 2..expected * 10).contains(&larger), "{expected} expected, {larger} found");
    for said in ["check central -n 2", "check central --lose 1 --beyond-assumptions"] {
        assert!(!text(said).contains("next:"), "{said}");
    }
}

/// Rows of a table of hundreds of checks can be had alone.
#[test]
fn rows_of_the_table_of_faults_can_be_had_alone() {
    let names = |line: &str| {
        let data = json(&tenure(&format!("{line} --format json")));
        let rows = data["algorithms"].as_array().expect("rows").clone();
        rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let some = names("compare mutex --faults --only token-ring,central");
    assert_eq!(some, ["central", "token-ring"]);
    assert_eq!(names("compare election --runs 2 --only lelann"), ["lelann"]);
    let strange = tenure("compare mutex --faults --only centrall");
    assert_eq!(strange.status.code(), Some(2));
    let says = String::from_utf8_lossy(&strange.stderr).into_owned();
    assert!(says.contains("--only centrall is no row") && says.contains("central,"), "{says}");
}

#[test]
fn no_line_of_a_report_is_longer_than_a_hundred_columns() {
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
fn whoever_interrupts_a_check_is_told_what_is_known() {
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
        // It takes hours.
        handles(child.id(), signal);
        sleep(Duration::from_secs(2));
        kill(&child, signal);
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(3), "{ended:?}");
        let told = json(&ended);
        assert_eq!(told["verdict"], "incomplete");
        assert_eq!(told["properties"][property], "incomplete");
        assert_eq!(told["limit"], "stopped");
        assert!(told["states"].as_u64().is_some_and(|states| states > 0));
    }
}

/// An engine refuses what the card excludes, whatever its name.
#[test]
fn what_the_card_excludes_is_refused_unless_wanted() {
    for (line, says) in [
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
        let told = String::from_utf8_lossy(&refused.stderr);
        assert_eq!((refused.status.code(), told.lines().count()), (Some(2), 1), "{line}: {told}");
        assert!(told.contains(says) && told.contains("add --beyond-assumptions"), "{told}");
        let beyond = tenure(&format!("check {line} --beyond-assumptions"));
        assert_ne!(beyond.status.code(), Some(2), "{line}");
    }
}

/// What makes no difference is said so, and changes neither the result nor the status.
#[test]
fn an_option_without_effect_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let file = path.display();
    let traced = format!("simulate raymond -n 3 --tree path --states --trace {file}");
    assert!(tenure(&traced).stderr.is_empty());
    for (line, says) in [
        ("check lamport -n 2 --tree star", "--tree has no effect on lamport"),
        ("simulate lamport --tree star", "--tree has no effect on lamport"),
        ("simulate central --quorums fpp --k 2", "--quorums has no effect on central"),
        ("check lamport -n 2 --initiators 1", "--initiators has no effect on lamport"),
        ("check bully -n 2 --entries 2", "--entries has no effect on bully"),
        ("check lamport -n 2 --latency 1", "--latency has no effect on lamport"),
        ("check lamport -n 2 --term-max 5", "--term-max has no effect on lamport"),
        ("check bully -n 2 --recover 1", "--recover has no effect on bully"),
        ("simulate bully --recover 3@5", "--recover has no effect on bully"),
        ("compare election --coordinator 2 --runs 1", "--coordinator has no effect on any"),
        (&format!("trace show {file} --kind crash"), "this trace has nothing of the kind crash"),
        (&format!("trace show {file} --process resource"), "nothing of the resource"),
        (&format!("trace diagram {file} --fields nosuch"), "--fields nosuch has no effect"),
    ] {
        let output = tenure(line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.contains(says), "{line}: {told}");
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

/// What would hide everything, or be written as something else than its name says, is refused.
#[test]
fn what_is_not_there_cannot_be_shown_nor_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let (file, picture) = (path.display(), folder.path().join("a.png"));
    assert!(tenure(&format!("simulate raymond -n 3 --tree path --trace {file}")).stderr.is_empty());
    for (line, says) in [
        (format!("trace show {file} --kind nosuch"), "no such kind; it has boot, command,"),
        (format!("trace show {file} --kind event,nosuch"), "--kind nosuch"),
        (format!("trace show {file} --process 9"), "the processes of this trace are P1 to P3"),
        (
            format!("trace diff {file} {file} --process 9"),
            "the processes of this trace are P1 to P3",
        ),
        (format!("trace diagram {file} --from 50 --to 20"), "--from is later than --to"),
        (format!("trace verify {file} {file}"), "a trace is given twice"),
        (format!("compare election --runs 1 --plot {}", picture.display()), ".svg or .html"),
    ] {
        said(&tenure(&line), 2, says);
    }
    assert!(!picture.exists());
}

/// Five take longer than anybody waits, and more memory than there is.
#[test]
fn a_check_without_options_ends() {
    for (line, size) in [("lamport", 3), ("chang-roberts --ids 2,1", 2)] {
        let checked = tenure(&format!("check {line} --format json"));
        assert_eq!(checked.status.code(), Some(0), "{checked:?}");
        assert_eq!(json(&checked)["n"], size);
    }
}

/// What is built upon a ring sends along it; what is built tells everybody.
#[test]
fn a_composition_upon_a_ring_is_not_bound_to_it() {
    for name in ["mutex-from-election:chang-roberts", "election-from-mutex:token-ring"] {
        let told = tenure(&format!("check {name} -n 3"));
        let says = String::from_utf8_lossy(&told.stdout);
        assert_eq!(told.status.code(), Some(0), "{name}: {says}");
    }
}

#[test]
fn a_check_that_stops_says_how_far_it_came_and_what_goes_on() {
    // What several threads have in memory at once depends on their pace, and so does the depth.
    let line = "check lamport -n 4 --max-memory 20M --threads 1";
    let stopped = tenure(&format!("{line} --format json"));
    assert_eq!(stopped.status.code(), Some(3), "{stopped:?}");
    let told = json(&stopped);
    assert_eq!((&told["verdict"], &told["limit"]), (&"incomplete".into(), &"memory".into()));
    let text = String::from_utf8(tenure(line).stdout).expect("text");
    assert!(told["depth"].as_u64() > Some(0), "{told}");
    let depth = text.split("within depth ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(depth.is_some_and(|depth| depth.parse::<u64>().is_ok()), "{text}");
    assert!(text.contains("no step violates anything"), "{text}");
    assert!(text.ends_with("  --max-memory allows more; smaller searches: -n 3\n"), "{text}");
}

#[test]
fn more_threads_than_any_machine_serves_are_refused() {
    for line in ["check lamport -n 2 --threads 100000", "simulate lamport --threads 100000"] {
        let refused = tenure(line);
        let says = String::from_utf8_lossy(&refused.stderr);
        assert_eq!((refused.status.code(), says.lines().count()), (Some(2), 1), "{says}");
        assert!(says.contains("write 1 to 1024"), "{says}");
    }
}

fn kill(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("not 0");
    kill_process(pid, signal).expect("it still runs");
}

/// What was cut short is no evidence: nothing that was not found is told as found.
#[test]
fn whoever_interrupts_many_checks_is_told_after_which() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["question", "--all"]).stdin(Stdio::null());
        let output = Stdio::piped;
        let mut child = command.stdout(output()).stderr(output()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut told = vec![lines.next().expect("a first line").expect("text")];
        kill(&child, signal);
        told.extend(lines.map(|line| line.expect("text")));
        let ended = child.wait_with_output().expect("it ends");
        let says = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(3), "{told:?} {says}");
        let last = told.last().and_then(|line| line.split(' ').next()).expect("an id");
        assert_eq!(says, format!("tenure: interrupted after {last}\n"));
        assert!(told.iter().all(|line| line.contains('✓')), "{told:?}");
    }
}

#[test]
fn what_is_too_large_to_be_read_is_said_with_the_option_that_reads_it() {
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
        let says = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(says.contains(&format!("--{option}")) && says.lines().count() == 1, "{says}");
    }
    let read = tenure(&format!("{line} --longest-line 8K --most-processes 3"));
    assert_eq!(read.status.code(), Some(0), "{read:?}");
}

#[test]
fn a_trace_is_drawn_exported_and_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let file = path.display();
    assert!(tenure(&format!("simulate token-ring -n 3 --trace {file}")).status.success());
    let told = |arguments: &str| {
        let output = tenure(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = told(&format!("trace diagram {file} --clock vector"));
    assert!(text.contains("token") && text.contains("enters"), "{text}");
    let svg = told(&format!("trace diagram {file} --as svg --scale causal --direction down"));
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    let page = told(&format!("trace diagram {file} --as html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    let log = told(&format!("trace export {file} --as shiviz"));
    let logged = folder.path().join("run.log");
    fs::write(&logged, log).expect("a file");
    let back = told(&format!("trace import {} --from shiviz", logged.display()));
    assert_eq!(back, fs::read_to_string(&path).expect("a trace"), "to the byte");
    assert!(told(&format!("trace export {file} --as mermaid")).starts_with("sequenceDiagram"));
    let spans: Value = serde_json::from_str(&told(&format!("trace export {file} --as otel")))
        .expect("spans are JSON");
    assert_eq!(spans["resourceSpans"].as_array().map(Vec::len), Some(3));
    for wrong in ["--events 9..3", "--from soon", "--events 5000..6000", "--as png"] {
        let refused = tenure(&format!("trace diagram {file} {wrong}"));
        assert_eq!(refused.status.code(), Some(2), "{wrong}: {refused:?}");
        assert_eq!(String::from_utf8_lossy(&refused.stderr).lines().count(), 1, "{wrong}");
    }
}
