//! Tests that all tools of Tenure work for a lock that a user defines.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[path = "../../../crates/web/tests/support/mod.rs"]
mod support;

/// Runs the program with this command line in a folder. Returns its output and its exit status.
fn run(folder: &Path, line: &str) -> (String, Option<i32>) {
    let program = Command::new(env!("CARGO_BIN_EXE_your-own-lock"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("the program runs");
    let output = [program.stdout, program.stderr].concat();
    (String::from_utf8(output).expect("UTF-8 output"), program.status.code())
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[track_caller]
fn assert_output(folder: &Path, line: &str, status: i32, words: &[&str]) {
    let (output, ended) = run(folder, line);
    assert_eq!(ended, Some(status), "{line}: {output}");
    for wanted in words {
        assert!(output.contains(wanted), "{line} does not print `{wanted}`: {output}");
    }
}

#[test]
fn it_is_listed_simulated_and_compared() {
    let (folder, here) = (folder(), "doorkeeper");
    assert_output(folder.path(), "list", 0, &[here, "ricart-agrawala"]);
    assert_output(folder.path(), "list doorkeeper", 0, &["second-key", "of your own"]);
    let simulated = ["mutual-exclusion", "messages", "entry"];
    assert_output(folder.path(), "simulate doorkeeper -n 4 --entries 3", 0, &simulated);
    assert_output(folder.path(), "compare mutex -n 3", 0, &[here, "central"]);
}

#[test]
fn checker_finds_its_mistake_and_replays_it() {
    let folder = folder();
    let check =
        |line: &str, status, words: &[&str]| assert_output(folder.path(), line, status, words);
    check("check doorkeeper -n 3 --entries 2", 0, &["mutual-exclusion         holds"]);
    let drawn = ["mutual-exclusion violated after", "◄", "█"];
    let line = "check doorkeeper -n 2 --variant second-key --trace found.ndjson";
    check(line, 1, &drawn);
    for over in ["simulator", "tcp"] {
        let line = format!("trace replay found.ndjson --over {over}");
        check(&line, 1, &["mutual-exclusion violated again"]);
    }
    check("trace diagram found.ndjson --as svg", 0, &["<svg"]);
    check("trace diagram found.ndjson --as html", 0, &["<html"]);
    check("simulate doorkeeper -n 3 --variant second-key --entries 2 --hold 2", 1, &["VIOLATED"]);
}

#[test]
fn all_tools_judge_its_own_property() {
    let folder = folder();
    let check =
        |line: &str, status, words: &[&str]| assert_output(folder.path(), line, status, words);
    check("simulate doorkeeper -n 3", 0, &["request-before-entry"]);
    check("check central -n 2", 0, &["request-before-entry     holds"]);
    let named = "--property request-before-entry";
    let line = format!("check doorkeeper -n 2 --duplicate 1 --beyond-assumptions {named}");
    let found = ["request-before-entry violated after", "entered without a request"];
    check(&format!("{line} --trace found.ndjson"), 1, &found);
    check("trace verify found.ndjson", 1, &["request-before-entry  violated"]);
    check("trace replay found.ndjson", 1, &["request-before-entry violated again"]);
}

/// The program in the README of the crate `tenure` is complete and short. A doctest compiles it.
#[test]
fn readme_program_has_at_most_thirty_lines() {
    let page = include_str!("../../../crates/cli/README.md");
    let program = page.split("```").find(|part| part.contains("tenure::main("));
    let program = program.expect("a program").lines().skip(1);
    let lines = program.filter(|line| !line.trim().is_empty()).count();
    assert!((20..=30).contains(&lines), "{lines} lines");
}

/// A running program, which is killed when this value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn lab_steps_through_it() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_your-own-lock"));
    program.args(["lab", "doorkeeper", "-n", "2", "--port", "0"]).stdout(Stdio::piped());
    let mut lab = Running(program.spawn().expect("the program runs"));
    let mut line = String::new();
    let pipe = lab.0.stdout.as_mut().expect("a pipe");
    BufReader::new(pipe).read_line(&mut line).expect("the lab prints its URL");
    let address = line.trim().trim_start_matches("http://").split('/').next();
    let address = address.and_then(|it| it.parse().ok()).expect("an address");
    let body = r#"{"words": "doorkeeper -n 2"}"#;
    let opened = support::send(address, "POST /api/sessions", body);
    assert_eq!(opened.status, 200, "{}", opened.body);
    let (_, rest) = opened.body.split_once("\"session\":\"").expect("a session");
    let session = rest.split('"').next().expect("its name");
    let step = format!("POST /api/sessions/{session}/step");
    let ended = support::send(address, &step, r#"{"until": "end"}"#);
    assert!(ended.body.contains("\"entries\":2"), "{}", ended.body);
}

/// Command lines in the output begin with the name of this program, not with `tenure`.
#[test]
fn output_names_this_program_only() {
    let folder = folder();
    let violated = "simulate doorkeeper -n 3 --variant second-key --entries 2 --hold 2";
    for (line, status, expected) in [
        ("list", 0, "`your-own-lock list NAME`"),
        ("list doorkeeper", 0, "your-own-lock check doorkeeper --variant second-key"),
        (violated, 1, "again: your-own-lock simulate doorkeeper"),
        ("simulate doorkeper", 2, "doorkeeper"),
        ("", 2, "Usage: your-own-lock"),
        ("--help", 0, "Usage: your-own-lock"),
    ] {
        let (output, ended) = run(folder.path(), line);
        assert_eq!(ended, Some(status), "{line}: {output}");
        let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.contains(expected), "{line} does not print `{expected}`: {output}");
        assert!(!output.contains("tenure "), "{line} names another program: {output}");
    }
}

/// Runs `simulate` and asserts that its output contains the predicted and the measured number of
/// messages. Runs `run` and asserts that its output states the messages per entry for all processes
/// except the coordinator.
#[test]
fn card_and_prediction_are_compared_with_measurements() {
    let folder = folder();
    let words = ["2.25 per entry", "expected: exactly 2.25"];
    assert_output(folder.path(), "simulate doorkeeper -n 4 --entries 3", 0, &words);
    let line = "run --mutex doorkeeper --nodes 3 --entries 20";
    assert_output(folder.path(), line, 0, &["at other processes than the coordinator"]);
}

#[test]
fn reliable_channel_survives_losses() {
    let folder = folder();
    let line = "simulate fifo:doorkeeper -n 3 --entries 2 --lose 0.2 --duplicate 0.2";
    assert_output(folder.path(), line, 0, &["mutual-exclusion", "starvation-freedom"]);
    let line = "check fifo:doorkeeper -n 2 --lose 1";
    assert_output(folder.path(), line, 0, &["mutual-exclusion         holds"]);
}

#[test]
fn real_processes_lose_no_update() {
    let folder = folder();
    let words = ["doorkeeper", "lost updates              0", "violations                none"];
    assert_output(folder.path(), "run --mutex doorkeeper --nodes 3 --entries 20", 0, &words);
}

#[test]
fn unknown_name_is_rejected_with_suggestions() {
    let expected = ["'doorkeper'", "nearest are doorkeeper, fifo:doorkeeper"];
    assert_output(folder().path(), "simulate doorkeper", 2, &expected);
}
