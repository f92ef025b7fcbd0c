//! Tests of figures over many runs. `tenure simulate` prints in how many runs each figure was
//! measured and each verdict was reached.

use std::process::Command;

use serde_json::Value;

use crate::shell::{assert_fails_with, data, tenure, text};

/// Options of short runs. Most of these runs end before the first entry.
const SHORT: &str =
    "simulate ricart-agrawala -n 3 --entries 1 --latency 1..9 --until 9 --seed 1 --runs 20";

/// Options of long runs. In most of these runs, including the first one, every process enters
/// before the run ends.
const LONG: &str =
    "simulate ricart-agrawala -n 3 --entries 1 --latency 1..9 --until 26 --seed 1 --runs 20";

#[test]
fn table_is_printed_although_its_plot_cannot_be_written() {
    let shown = text("compare mutex --only central --runs 2 --plot /nonexistent/locks.svg", 4);
    assert!(shown.contains("central"), "{shown}");
}

#[test]
fn unmeasured_figures_are_null() {
    let summary = &data(SHORT, 3)["summary"];
    let entry = &summary["delays"]["entry"]["max"];
    assert_eq!(entry["count"], 3, "{summary}");
    assert!(entry["min"].as_f64() > Some(1.0), "a request takes two messages: {entry}");
    assert!(summary["delays"]["synchronisation"].is_null(), "no handover: {summary}");
    assert_eq!(summary["messages"]["total"]["count"], 20);
    let shown = text(SHORT, 3);
    assert!(shown.contains("in 3 of 20 runs: messages per entry"), "{shown}");

    let elected = &data("simulate raft -n 3 --until 30 --seed 1 --runs 40", 3)["summary"];
    let time = &elected["election_time"];
    assert_eq!(time["count"], 38, "{time}");
    assert!(time["min"].as_f64() > Some(1.0), "{time}");
}

/// A figure that was measured in one of several runs has a mean, but no deviation and no confidence
/// interval.
#[test]
fn figure_of_one_run_has_no_interval() {
    let line = SHORT.replace("--seed 1 --runs 20", "--seed 4 --runs 2");
    let summary = &data(&line, 3)["summary"];
    let entry = &summary["delays"]["entry"]["max"];
    assert_eq!((&entry["count"], &entry["mean"]), (&1.into(), &entry["max"]), "{summary}");
    assert!(entry["confidence"].is_null() && entry["stddev"].is_null(), "{entry}");
    assert!(summary["messages"]["total"]["confidence"].is_array(), "{summary}");
    let shown = text(&line, 3);
    let row = shown.lines().find(|line| line.contains("delays entry max")).expect("a row");
    assert_eq!(row.split_whitespace().filter(|cell| *cell == "–").count(), 2, "{row}");
}

/// Theory measures delays in message delays, and the simulation measures them in units of time.
/// Some figures of theory also have a condition, such as "under load". The output states the unit
/// and the condition.
#[test]
fn theory_of_delays_has_its_unit_and_condition() {
    let shown = text("simulate lamport --latency 5 --entries 1,0,0,0,0", 0);
    let row = |shown: &str, name: &str| {
        let row = shown.lines().find(|line| line.trim_start().starts_with(name));
        row.expect("a row").to_owned()
    };
    let entry = row(&shown, "delay at entry");
    assert!(entry.ends_with("mean 10, at most 10; theory in message delays: 2 without contention"));
    let far = text("simulate raymond -n 8 --tree path --entries 1,0,0,0,0,0,0,1", 0);
    let delay = row(&far, "synchronisation");
    assert!(delay.ends_with("mean 13, at most 13; theory in message delays: 1…D under load"));
    let alone = row(&text("simulate edge-chasing", 0), "synchronisation");
    assert!(alone.ends_with("theory in message delays: 2…4 (alone)"), "{alone}");
}

#[test]
fn run_without_entries_is_within_the_theory() {
    for more in ["", " --runs 3"] {
        let shown = text(&format!("simulate ricart-agrawala -n 3 --until 1{more}"), 3);
        assert!(shown.contains("no entries; card: 2(N−1)"), "{shown}");
        assert!(!shown.contains("outside") && !shown.contains("0 per entry"), "{shown}");
    }
}

#[test]
fn table_names_what_the_run_lacks() {
    let shown = text("simulate bully --down 1,2,3,4,5", 0);
    assert!(shown.contains("no elections; card: N−1"), "{shown}");
    assert!(shown.contains("none by 5 (including crashed processes)"), "{shown}");
    let shown = text("simulate raft --partition 1@1..", 0);
    assert!(shown.contains("by 4, none by 1\n"), "no process crashed: {shown}");
    let shown = text("simulate central --hold 900000000000 --entries 50", 3);
    assert!(shown.contains("ended at            4611686018427: maximum time"), "{shown}");
    let output = tenure("simulate k-mutex -n 5 --k 9");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("--k 9 has the effect of --k 5"), "{message}");
}

#[test]
fn outcomes_are_in_the_order_of_processes() {
    let shown = text("simulate echo", 0);
    let rows = shown.lines().filter_map(|line| line.split_once(": is the root"));
    let processes: Vec<&str> = rows.filter_map(|(start, _)| start.split(' ').next_back()).collect();
    assert_eq!(processes, ["P1", "P2", "P3", "P4", "P5"], "{shown}");
}

#[test]
fn columns_of_the_agreement_table_are_separated() {
    let shown = text("compare agreement --runs 1 -n 3", 0);
    for name in ["raft-log", "relayed-log"] {
        let row = shown.lines().find(|line| line.starts_with(name)).expect("a row");
        assert!(row.contains("  none      2 at the leader"), "{row}");
    }
    let longest = shown.lines().map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|it| it <= 100), "{shown}");
}

#[test]
fn torn_trace_is_shown_with_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    text(&format!("simulate central -n 3 --trace {}", path.display()), 0);
    let whole = std::fs::read(&path).expect("a trace");
    std::fs::write(&path, &whole[..whole.len() - 20]).expect("it is cut");
    for command in ["show", "diagram", "export --as shiviz"] {
        let (verb, options) = command.split_once(' ').unwrap_or((command, ""));
        let output = tenure(&format!("trace {verb} {options} {}", path.display()));
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(report.contains("the last line is torn"), "{command}: {report}");
        assert!(!output.stdout.is_empty(), "{command}: {output:?}");
    }
}

#[test]
fn file_with_incomplete_header_is_left_out_with_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, empty] = ["run.ndjson", "p2.ndjson"].map(|name| folder.path().join(name));
    text(&format!("simulate central -n 3 --trace {}", path.display()), 0);
    std::fs::write(&empty, r#"{"trace":"tenure","ver"#).expect("it is written");
    for command in [
        "show",
        "diagram",
        "diagram --as svg",
        "diagram --as html",
        "export --as shiviz",
        "export --as mermaid",
        "export --as otel",
    ] {
        let output = tenure(&format!("trace {command} {} {}", path.display(), empty.display()));
        let report = String::from_utf8_lossy(&output.stderr);
        assert_eq!(report.matches("the header is incomplete").count(), 1, "{command}: {report}");
        assert!(output.status.success() && !output.stdout.is_empty(), "{command}: {report}");
    }
    let alone = format!("trace diagram {}", empty.display());
    assert_fails_with(&tenure(&alone), 2, "is empty: its header is incomplete");
}

#[test]
fn shown_json_is_not_wrapped_and_has_no_invisible_characters() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    text(&format!("simulate central -n 3 --trace {}", path.display()), 0);
    let note = "blanks break long lines; \u{9b} and \u{202e} control terminals ".repeat(3);
    let record = serde_json::json!({
        "time": 1_u64 << 62, "process": "parent", "kind": "note", "data": note,
    });
    let mut trace = std::fs::read_to_string(&path).expect("a trace");
    trace.push_str(&format!("{record}\n"));
    std::fs::write(&path, trace).expect("it is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(["trace", "show", "--format", "json"]).arg(&path).env("COLUMNS", "60");
    let shown = command.output().expect("the command starts").stdout;
    let shown = String::from_utf8(shown).expect("text");
    let records: Vec<Value> =
        shown.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(records.last().expect("a record")["data"], note.as_str());
    assert!(!shown.contains(['\u{9b}', '\u{202e}']), "{shown}");
}

#[test]
fn long_runs_that_differ_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, other] = ["1", "2"].map(|seed| {
        let path = folder.path().join(seed).display().to_string();
        let line = "simulate central -n 5 --entries 120 --latency 1..3 --seed";
        text(&format!("{line} {seed} --trace {path}"), 0);
        path
    });
    let diff = data(&format!("trace diff {one} {other}"), 0);
    assert_eq!(diff["is_approximate"], false);
    assert!(diff["both"].as_u64() > Some(2500), "{}", diff["both"]);
}

#[test]
fn question_titles_are_searched_for_words() {
    let shown = text("question bully", 0);
    let (found, all) = (shown.matches("  Q-").count(), text("question", 0).matches("  Q-").count());
    assert!(found > 1 && found < all, "{shown}");
    assert!(text("question 29", 0).starts_with("Q-29"), "a number is a question");
}

#[test]
fn property_incomplete_in_some_runs_does_not_hold() {
    let shown = text(LONG, 3);
    let row = |name: &str| {
        let row = shown.lines().find(|line| line.trim_start().starts_with(name));
        row.unwrap_or_else(|| panic!("no {name} in {shown}")).to_owned()
    };
    assert!(!row("holds").contains("starvation-freedom"), "{shown}");
    assert!(row("incomplete").contains("starvation-freedom (in 8 of 20 runs)"), "{shown}");
    let report = data(LONG, 3);
    assert_eq!(report["verdicts"]["starvation-freedom"], "holds", "that of the first run");
    assert_eq!(report["summary"]["incomplete"]["starvation-freedom"], 8, "{report}");
    assert!(report["summary"]["incomplete"]["mutual-exclusion"].is_null(), "{report}");
}

#[test]
fn lock_is_not_passed_to_a_crashed_waiter() {
    // P3 is the only waiting process. It crashes before it receives the permission to enter.
    let line = "simulate tolerant-ricart-agrawala -n 3 --entries 2,0,1 --think 10 --crash 3@13.5 \
                --beyond-assumptions";
    let report = data(line, 0);
    assert_eq!(report["entries"]["order"], serde_json::json!([1, 1]), "{report}");
    assert_eq!(report["delays"]["synchronisation"]["max"], 0.0, "{report}");
}
