//! Tests that the WebAssembly module responds like the same code compiled for this machine.
//!
//! `TENURE_PAGE_MODULE` is the path of the module, which `cargo xtask page` builds. The module runs
//! in Node.js. The tests are skipped if the module or Node.js is missing.

#[path = "../../../tests/support/killed.rs"]
mod killed;
#[path = "../../../tests/support/skipped.rs"]
mod skipped;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::algorithms::catalogue::{AGREEMENTS, ELECTIONS, MUTEXES, composition_names};
use tenure_page::PageBackend;

use crate::killed::Killed;
use crate::skipped::report_skip;

/// Returns the path of the module. Returns `None`, and prints the reason, if the tests must be
/// skipped.
fn module() -> Option<PathBuf> {
    let Some(module) = std::env::var_os("TENURE_PAGE_MODULE") else {
        report_skip("TENURE_PAGE_MODULE, the module of `cargo xtask page`");
        return None;
    };
    if Command::new("node").arg("--version").output().is_err() {
        report_skip("node");
        return None;
    }
    Some(module.into())
}

/// Sends requests to the module. Returns the responses, and the statistics that the script prints
/// at its end, such as the number of progress reports. If `max_slices` is given, the script stops a
/// search after this number of progress reports.
fn in_module(module: &Path, requests: &[Value], max_slices: Option<u32>) -> (Vec<Value>, Value) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/module.mjs");
    let node = Command::new("node")
        .arg(script)
        .arg(module)
        .args(max_slices.map(|most| most.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut node = Killed(node.expect("node starts"));
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let mut input = node.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("node reads");
    drop(input);
    let output = node.wait_with_output();
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{report}");
    let text = String::from_utf8(output.stdout).expect("text");
    let responses = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let figures = report.lines().last().expect("figures");
    (responses.collect(), serde_json::from_str(figures).expect("JSON"))
}

fn command(line: &str) -> Value {
    json!({ "method": "POST", "path": "commands", "body": { "line": line } })
}

/// Removes measured times and bytes, which differ between runs and machines.
fn without_measurements(mut response: Value) -> Value {
    let text = response["body"]["stdout"].as_str().map(|text| {
        let is_measured = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("\"seconds\":") || line.starts_with("\"bytes\":")
        };
        text.lines().filter(|line| !is_measured(line)).collect::<Vec<_>>().join("\n")
    });
    if let Some(text) = text {
        response["body"]["stdout"] = text.into();
    }
    response
}

/// Asserts that the module responds to each request like the code on this machine. Returns the
/// responses.
fn assert_same(module: &Path, requests: &[Value]) -> Vec<Value> {
    let page = PageBackend::with_files_in_memory(|| Duration::ZERO);
    let (responses, _) = in_module(module, requests, None);
    assert_eq!(responses.len(), requests.len());
    let mut same = Vec::new();
    for (request, response) in requests.iter().zip(responses) {
        let here: Value =
            serde_json::from_str(&page.handle_json(&request.to_string())).expect("JSON");
        let there = without_measurements(response);
        assert_eq!(there, without_measurements(here), "{request}");
        same.push(there);
    }
    same
}

fn algorithms() -> Vec<&'static str> {
    [MUTEXES, ELECTIONS, AGREEMENTS].concat().into_iter().chain(composition_names()).collect()
}

#[test]
fn module_checks_every_algorithm_equally() {
    let Some(module) = module() else { return };
    let line = |name| format!("check {name} --max-states 300 --threads 1 --format json");
    let requests: Vec<Value> = algorithms().into_iter().map(|name| command(&line(name))).collect();
    let responses = assert_same(&module, &requests);
    for (request, response) in requests.iter().zip(responses) {
        let stdout = response["body"]["stdout"].as_str().unwrap_or_default();
        assert!(stdout.contains("\"states\""), "{request}: {response}");
    }
}

#[test]
fn module_simulates_every_algorithm_equally() {
    let Some(module) = module() else { return };
    let line = |name| command(&format!("simulate {name} -n 4 --seed 7 --format json"));
    let requests: Vec<Value> = algorithms().into_iter().map(line).collect();
    assert_same(&module, &requests);
}

#[test]
fn module_finds_the_same_counterexamples_and_sessions() {
    let Some(module) = module() else { return };
    let mut requests: Vec<Value> = [
        "check ricart-agrawala -n 2 --variant clock-only-strict --format json --trace a.ndjson",
        "check lamport -n 3 --format json",
        "check raft -n 3 --max-states 20000 --format json",
        "check token-ring -n 2 --duplicate 1 --beyond-assumptions --format json",
        "check bakery -n 2 --format json",
        "check byzantine-generals -n 4 --liars 1 --format json",
        "check dijkstra-ring -n 3 --from any --format json",
        "check chang-roberts -n 3 --measure messages --format json",
        "check central -n 3 --eventually 'inside(P1)' --format json",
        "compare mutex -n 3",
        "list --format json",
        "question Q-19",
        "scenario race",
        "check nonsense",
    ]
    .map(command)
    .into();
    requests.extend([
        json!({ "path": "algorithms" }),
        json!({ "method": "POST", "path": "sessions", "body": { "words": "maekawa -n 4" } }),
        json!({ "method": "POST", "path": "sessions/1/step", "body": { "until": "event" } }),
        json!({ "path": "sessions/1/trace.ndjson" }),
        json!({ "path": "sessions/1/page.html" }),
    ]);
    let responses = assert_same(&module, &requests);
    assert_eq!(responses[0]["body"]["exit"], 1);
    assert!(responses[0]["body"]["files"]["a.ndjson"].is_string());
}

#[test]
fn host_observes_and_stops_a_search() {
    let Some(module) = module() else { return };
    let line = command("check ricart-agrawala -n 3 --entries 2 --format json");
    let (whole, figures) = in_module(&module, std::slice::from_ref(&line), None);
    assert_eq!(whole[0]["body"]["exit"], 0);
    assert!(figures["slices"].as_u64() > Some(2), "{figures}");
    let (stopped, _) = in_module(&module, &[line, command("check central -n 2")], Some(1));
    assert_eq!(stopped[0]["body"]["exit"], 3, "incomplete: {}", stopped[0]);
    let report = stopped[0]["body"]["stdout"].as_str().expect("text");
    assert!(report.contains("\"stopped\""), "{report}");
}
