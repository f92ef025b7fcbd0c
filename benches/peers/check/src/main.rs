//! Tenure's checker compared with stateright on the same protocol: `cargo run --release` in this
//! folder.
//!
//! Each tool runs in its own process, with one thread and mutual exclusion as its only property.
//! Tenure's checker also runs with a progress property, for which it keeps all edges. Both tools
//! must count the same states, so this is a differential test, too.

mod group;
#[path = "../../../../crates/check/tests/check/textbook.rs"]
#[allow(dead_code, reason = "the benchmark uses the correct protocol only")]
mod textbook;

use std::process::Command;

use stateright::{Checker, Model};
use tenure_check::Check;
use tenure_core::monitors::MutualExclusion;

use group::Lock;
use textbook::Textbook;

/// Measurements of one tool.
struct Figures {
    states: f64,
    transitions: f64,
    cpu_seconds: f64,
    bytes: f64,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [tool, size, entries] = words.as_slice() {
        let number = |word: &str| word.parse().expect("a number");
        return run(tool, number(size), number(entries));
    }
    println!(
        "{:<14}{:<22}{:>10}{:>12}{:>8}{:>14}{:>9}",
        "", "Ricart–Agrawala, fifo", "states", "transitions", "CPU s", "states/CPU s", "B/state"
    );
    for (size, entries) in [(3, 2), (3, 3), (4, 1)] {
        let tools = ["stateright", "tenure-check", "and-progress"];
        let [theirs, ours, with_progress] = tools.map(|tool| {
            let figures = measured(tool, size, entries);
            println!(
                "{tool:<14}{:<22}{:>10}{:>12}{:>8.2}{:>14.0}{:>9.0}",
                format!("n={size}, entries {entries}"),
                figures.states,
                figures.transitions,
                figures.cpu_seconds,
                figures.states / figures.cpu_seconds,
                figures.bytes / figures.states
            );
            figures
        });
        assert_eq!(theirs.states, ours.states, "both explore the same states");
        assert_eq!(theirs.transitions, ours.transitions, "and the same transitions");
        println!(
            "{:<14}{:.1} times the states per CPU second, {:.1} with progress; {:.2} of the memory",
            "",
            theirs.cpu_seconds / ours.cpu_seconds,
            theirs.cpu_seconds / with_progress.cpu_seconds,
            ours.bytes / theirs.bytes
        );
    }
}

/// Runs one tool in this process and prints its measurements for [`measured`].
fn run(tool: &str, size: u32, entries: u32) {
    let before = (cpu_seconds(), resident_bytes("VmRSS:"));
    let (states, transitions) = match tool {
        "stateright" => {
            let checker = Lock { size, entries }.checker().threads(1).spawn_bfs().join();
            checker.assert_properties();
            (checker.unique_state_count() as u64, checker.state_count() as u64)
        }
        _ => {
            let check = Check::<Textbook>::of(size).entries(entries).fifo().threads(1);
            let check = check.always(MutualExclusion::new());
            let check = if tool == "and-progress" { check.starvation_free() } else { check };
            let report = check.run();
            report.assert_holds();
            (report.states, report.transitions)
        }
    };
    let cpu_seconds = cpu_seconds() - before.0;
    let bytes = resident_bytes("VmHWM:") - before.1;
    println!("{states} {transitions} {cpu_seconds} {bytes}");
}

fn measured(tool: &str, size: u32, entries: u32) -> Figures {
    let this = std::env::current_exe().expect("the path of this program");
    let output = Command::new(this)
        .args([tool, &size.to_string(), &entries.to_string()])
        .output()
        .expect("this program starts again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("measurements are text");
    let figures: Vec<f64> =
        text.split_whitespace().map(|word| word.parse().expect("a measurement")).collect();
    let [states, transitions, cpu_seconds, bytes] = figures[..] else {
        panic!("expected four measurements, got {text}")
    };
    Figures { states, transitions, cpu_seconds: cpu_seconds.max(0.01), bytes }
}

/// Returns the CPU time of all threads, in steps of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Returns the resident memory, current (`VmRSS:`) or peak (`VmHWM:`).
fn resident_bytes(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    let kilobytes = found.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) * 1024.0
}
