//! Tests that the JSON interface of the page responds like direct calls.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::embedded::perform;
use tenure_page::PageBackend;

fn page() -> PageBackend {
    PageBackend::with_files_in_memory(|| Duration::ZERO)
}

fn call(page: &PageBackend, request: &Value) -> (u64, Value) {
    let response: Value =
        serde_json::from_str(&page.handle_json(&request.to_string())).expect("JSON");
    let status = response["status"].as_u64().expect("a status");
    (status, response.get("body").or(response.get("text")).expect("a body or a text").clone())
}

fn post(page: &PageBackend, path: &str, body: Value) -> (u64, Value) {
    call(page, &json!({ "method": "POST", "path": path, "body": body }))
}

fn get(page: &PageBackend, path: &str) -> (u64, Value) {
    call(page, &json!({ "path": path }))
}

#[test]
fn command_returns_the_texts_of_a_direct_call() {
    let page = page();
    for line in ["list ricart-agrawala", "simulate lamport -n 3 --format json", "check nonsense"] {
        let direct = perform(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let expected = json!({
            "exit": direct.exit,
            "stdout": direct.stdout,
            "stderr": direct.stderr,
            "files": {},
        });
        assert_eq!(post(&page, "commands", json!({ "line": line })), (200, expected), "{line}");
    }
}

#[test]
fn counterexample_is_written_verified_and_replayed() {
    let page = page();
    let line = "check ricart-agrawala -n 2 --variant clock-only-strict --trace found.ndjson";
    let (_, found) = post(&page, "commands", json!({ "line": line }));
    assert_eq!(found["exit"], 1, "{found}");
    let trace = &found["files"]["found.ndjson"];
    let header: Value =
        serde_json::from_str(trace.as_str().and_then(|it| it.lines().next()).expect("a header"))
            .expect("JSON");
    assert_eq!(header["replay"], "tenure check ricart-agrawala -n 2 --variant clock-only-strict");
    for (line, exit) in [("trace verify", 1), ("trace replay", 1), ("trace show", 0)] {
        let line = format!("{line} found.ndjson");
        let files = json!({ "found.ndjson": trace });
        let (_, result) = post(&page, "commands", json!({ "line": line, "files": files }));
        assert_eq!(result["exit"], exit, "{line}: {result}");
        assert_eq!(result["files"], json!({}), "a file that was given is not returned");
    }
    let (_, missing) = post(&page, "commands", json!({ "line": "trace verify found.ndjson" }));
    assert_eq!(missing["exit"], 2, "files are forgotten: {missing}");
}

#[test]
fn shards_are_merged_and_plotted_in_memory() {
    let page = page();
    let shard = |number: u32| {
        let line =
            format!("simulate lamport --entries 1 --runs 2 --sweep n=2,3 --shard {number}/2");
        let (_, part) = post(&page, "commands", json!({ "line": line }));
        assert_eq!(part["exit"], 0, "{part}");
        part["stdout"].clone()
    };
    let files = json!({ "1.jsonl": shard(1), "2.jsonl": shard(2) });
    let line = "merge 1.jsonl 2.jsonl --plot merged.svg";
    let (_, merged) = post(&page, "commands", json!({ "line": line, "files": files }));
    assert_eq!(merged["exit"], 0, "{merged}");
    assert!(
        merged["files"]["merged.svg"].as_str().is_some_and(|it| it.contains("<svg")),
        "{merged}"
    );
    let line = "simulate lamport --entries 1 --runs 2 --sweep n=2,3 --raw figures.csv";
    let (_, run) = post(&page, "commands", json!({ "line": line }));
    assert!(run["files"]["figures.csv"].as_str().is_some_and(|it| it.contains("seed")), "{run}");
}

#[test]
fn log_is_imported_from_memory() {
    let page = page();
    let (_, run) =
        post(&page, "commands", json!({ "line": "simulate lamport -n 2 --trace run.ndjson" }));
    let files = json!({ "run.ndjson": run["files"]["run.ndjson"] });
    let line = "trace export run.ndjson --as shiviz";
    let (_, log) = post(&page, "commands", json!({ "line": line, "files": files }));
    let files = json!({ "run.log": log["stdout"] });
    let line = "trace import run.log --from shiviz";
    let (_, trace) = post(&page, "commands", json!({ "line": line, "files": files }));
    assert_eq!(trace["exit"], 0, "{trace}");
}

#[test]
fn trace_opens_as_a_session() {
    let page = page();
    let line = "simulate central -n 2 --entries 1 --trace run.ndjson";
    let (_, run) = post(&page, "commands", json!({ "line": line }));
    let trace = &run["files"]["run.ndjson"];
    let (status, view) = post(&page, "sessions", json!({ "trace": trace }));
    assert_eq!((status, &view["algorithm"]), (200, &json!("central")), "{view}");
}

#[test]
fn session_steps_and_exports_files() {
    let page = page();
    let (_, started) = post(&page, "sessions", json!({ "words": "ricart-agrawala -n 3" }));
    let session = started["session"].as_str().expect("a number").to_owned();
    let path = |rest: &str| format!("sessions/{session}{rest}");
    let (status, ended) = post(&page, &path("/step"), json!({ "until": "end" }));
    assert_eq!(status, 200, "{ended}");
    assert!(ended["ended"].is_string() && ended["figures"]["entries"] != 0, "{ended}");
    let (_, back) = post(&page, &path("/go"), json!({ "moment": 0 }));
    assert_eq!(back["moment"], 0);
    assert_eq!(get(&page, &path("")).1, back);
    let (_, svg) = get(&page, &path("/diagram.svg"));
    assert!(svg.as_str().is_some_and(|text| text.contains("<svg")), "{svg}");
}

#[test]
fn invalid_requests_are_rejected_with_the_reason() {
    let page = page();
    for (request, status, reason) in [
        (json!({ "path": "nowhere" }), 404, "unknown request"),
        (json!({ "path": "sessions/9" }), 404, "session 9 does not exist"),
        (json!({ "path": "commands" }), 405, "POST"),
        (json!({ "method": "PUT", "path": "commands" }), 400, "unknown variant"),
        (json!({ "method": "POST", "path": "commands", "body": {} }), 400, "`line` or `words`"),
        (
            json!({ "method": "POST", "path": "commands", "body": { "line": "list 'a" } }),
            400,
            "unclosed quote",
        ),
        (
            json!({ "method": "POST", "path": "sessions", "body": { "words": "nonsense" } }),
            400,
            "nonsense",
        ),
    ] {
        let (found, body) = call(&page, &request);
        assert_eq!(found, status, "{request}: {body}");
        assert!(body["error"].as_str().is_some_and(|text| text.contains(reason)), "{body}");
    }
    let unreadable: Value = serde_json::from_str(&page.handle_json("{")).expect("JSON");
    assert_eq!(unreadable["status"], 400);
}

#[test]
fn clock_of_the_host_limits_a_request() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static SECONDS: AtomicU64 = AtomicU64::new(0);
    /// Time that passes between two readings of the clock.
    static PAUSE: AtomicU64 = AtomicU64::new(2);
    let page = PageBackend::with_files_in_memory(|| {
        Duration::from_secs(SECONDS.fetch_add(PAUSE.load(Ordering::Relaxed), Ordering::Relaxed))
    });
    let (status, body) = post(&page, "sessions", json!({ "words": "lamport -n 3 --steps 50" }));
    assert_eq!((status, &body["moment"]), (200, &json!(1)), "the first step fits: {body}");
    let session = body["session"].as_str().expect("a number");
    PAUSE.store(6, Ordering::Relaxed);
    let (status, later) = post(&page, &format!("sessions/{session}/step"), json!({ "steps": 1 }));
    assert_eq!(status, 400, "{later}");
    assert!(later["error"].as_str().is_some_and(|text| text.contains("longer than 10 s")));
}
