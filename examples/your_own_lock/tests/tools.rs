//! What a lock of one's own gets: every tool, by the program of this example.

use std::path::Path;
use std::process::Command;

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

#[test]
fn real_processes_lose_no_update_under_it() {
    let folder = folder();
    let words = ["doorkeeper", "none lost", "violations          none"];
    assert_says(folder.path(), "run --mutex doorkeeper --nodes 3 --entries 20", 0, &words);
}

#[test]
fn a_name_that_nobody_has_is_refused_here_as_everywhere() {
    assert_says(folder().path(), "simulate doorkeper", 2, &["doorkeper"]);
}
