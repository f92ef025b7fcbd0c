//! What a lock of one's own gets: every tool, by the program of this example.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[path = "../../../crates/web/tests/support/mod.rs"]
mod support;

/// What the program prints in this folder, and its exit status.
fn says(folder: &Path, line: &str) -> (String, Option<i32>) {
    let program = Command::new(env!("CARGO_BIN_EXE_your-own-lock"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("the program runs");
    let said = [program.stdout, program.stderr].concat();
    (String::from_utf8(said).expect("it prints text"), program.status.code())
}

/// A folder that goes with the test.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

#[track_caller]
fn assert_says(folder: &Path, line: &str, status: i32, words: &[&str]) {
    let (said, ended) = says(folder, line);
    assert_eq!(ended, Some(status), "{line}: {said}");
    for wanted in words {
        assert!(said.contains(wanted), "{line} does not say `{wanted}`: {said}");
    }
}

#[test]
fn it_is_listed_simulated_and_compared_with_those_that_are_built_in() {
    let (folder, here) = (folder(), "doorkeeper");
    assert_says(folder.path(), "list", 0, &[here, "ricart-agrawala"]);
    assert_says(folder.path(), "list doorkeeper", 0, &["second-key", "of your own"]);
    let simulated = ["mutual-exclusion", "messages", "entry"];
    assert_says(folder.path(), "simulate doorkeeper -n 4 --entries 3", 0, &simulated);
    assert_says(folder.path(), "compare mutex -n 3", 0, &[here, "central"]);
}

#[test]
fn every_schedule_of_it_is_right_and_its_mistake_is_found_drawn_and_happens_again() {
    let folder = folder();
    let check =
        |line: &str, status, words: &[&str]| assert_says(folder.path(), line, status, words);
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

/// The whole program on the front page of the crate, which is compiled there.
#[test]
fn the_program_on_the_front_page_has_at_most_thirty_lines() {
    let page = include_str!("../../../crates/cli/README.md");
    let program = page.split("```").find(|part| part.contains("tenure::main("));
    let program = program.expect("a program").lines().skip(1);
    let lines = program.filter(|line| !line.trim().is_empty()).count();
    assert!((20..=30).contains(&lines), "{lines} lines");
}

/// A program that ends with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_lab_steps_through_it() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_your-own-lock"));
    program.args(["lab", "doorkeeper", "-n", "2", "--port", "0"]).stdout(Stdio::piped());
    let mut lab = Running(program.spawn().expect("the program runs"));
    let mut told = String::new();
    let output = lab.0.stdout.as_mut().expect("a pipe");
    BufReader::new(output).read_line(&mut told).expect("the lab says where it is");
    let address = told.trim().trim_start_matches("http://").split('/').next();
    let address = address.and_then(|it| it.parse().ok()).expect("an address");
    let body = r#"{"words": "doorkeeper -n 2"}"#;
    let opened = support::ask(address, "POST /api/sessions", body);
    assert_eq!(opened.status, 200, "{}", opened.body);
    let (_, rest) = opened.body.split_once("\"session\":\"").expect("a session");
    let session = rest.split('"').next().expect("its name");
    let step = format!("POST /api/sessions/{session}/step");
    let ended = support::ask(address, &step, r#"{"until": "end"}"#);
    assert!(ended.body.contains("\"entries\":2"), "{}", ended.body);
}

/// What it prints is to be typed as it is: the program's name is not `tenure`.
#[test]
fn it_speaks_of_itself_and_of_nobody_else() {
    let folder = folder();
    let violated = "simulate doorkeeper -n 3 --variant second-key --entries 2 --hold 2";
    for (line, status, says) in [
        ("list", 0, "`your-own-lock list NAME`"),
        ("list doorkeeper", 0, "your-own-lock check doorkeeper --variant second-key"),
        (violated, 1, "again: your-own-lock simulate doorkeeper"),
        ("simulate doorkeper", 2, "your-own-lock: "),
        ("", 2, "`your-own-lock run` is the main job"),
        ("--help", 0, "Usage: your-own-lock"),
    ] {
        let (said, ended) = self::says(folder.path(), line);
        assert_eq!(ended, Some(status), "{line}: {said}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(says), "{line} does not say `{says}`: {said}");
        assert!(!said.contains("tenure "), "{line} speaks of another program: {said}");
    }
}

/// What theory says of it stands beside what was measured; so does its coordinator.
#[test]
fn its_card_and_its_formula_are_held_beside_what_it_does() {
    let folder = folder();
    let words = ["2.25 per entry", "exactly 2.25 are expected"];
    assert_says(folder.path(), "simulate doorkeeper -n 4 --entries 3", 0, &words);
    let line = "run --mutex doorkeeper --nodes 3 --entries 20";
    assert_says(folder.path(), line, 0, &["away from the coordinator"]);
}

#[test]
fn over_a_channel_made_reliable_it_survives_losses() {
    let folder = folder();
    let line = "simulate fifo:doorkeeper -n 3 --entries 2 --lose 0.2 --duplicate 0.2";
    assert_says(folder.path(), line, 0, &["mutual-exclusion", "starvation-freedom"]);
    let line = "check fifo:doorkeeper -n 2 --lose 1";
    assert_says(folder.path(), line, 0, &["mutual-exclusion         holds"]);
}

#[test]
fn real_processes_lose_no_update_under_it() {
    let folder = folder();
    let words = ["doorkeeper", "none lost", "violations          none"];
    assert_says(folder.path(), "run --mutex doorkeeper --nodes 3 --entries 20", 0, &words);
}

#[test]
fn a_name_that_nobody_has_is_refused_here_as_everywhere() {
    let says = ["`doorkeper`", "nearest are doorkeeper, fifo:doorkeeper"];
    assert_says(folder().path(), "simulate doorkeper", 2, &says);
}
