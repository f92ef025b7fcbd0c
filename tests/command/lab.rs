//! Tests of `tenure lab` over real sockets.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};

use crate::killed::Killed;
use crate::shell::is_concise;
use crate::support::{Response, send, send_raw};
use serde_json::{Value, json};

/// A lab process, which is killed when this value is dropped.
pub(crate) struct Lab {
    child: Killed,
    address: String,
    at: SocketAddr,
    token: Option<String>,
}

impl Lab {
    pub(crate) fn start(options: &[&str]) -> Lab {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.arg("lab").args(options).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim_end().to_owned();
        let rest = address.strip_prefix("http://").expect("an address");
        let (at, query) = rest.split_once('/').unwrap();
        let token = query.strip_prefix("?token=").map(str::to_owned);
        let port = at.parse::<SocketAddr>().unwrap().port();
        Lab { child: Killed(child), address, at: ([127, 0, 0, 1], port).into(), token }
    }

    fn send(&self, line: &str, body: &str) -> Response {
        let mut headers = vec![format!("Host: {}", self.at)];
        headers.extend(self.token.iter().map(|token| format!("Authorization: Bearer {token}")));
        send_raw(self.at, line, &headers, body)
    }

    /// Sends a request that must succeed. Returns the body of the response.
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.send(&format!("POST /api/{path}"), &body.to_string());
        assert_eq!(answer.status, 200, "{path} {body}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Sends a request that must be rejected. Returns the status and the error message.
    fn refused(&self, path: &str, body: &str) -> (u16, String) {
        let answer = self.send(&format!("POST /api/{path}"), body);
        let message: Value = serde_json::from_str(&answer.body).expect("an error is JSON");
        (answer.status, message["error"].as_str().expect("an error is a sentence").to_owned())
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.send(&format!("GET /api/{path}"), "");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    pub(crate) fn open(&self, words: &str) -> LabSession<'_> {
        let view = self.post("sessions", &json!({ "words": words }));
        LabSession { lab: self, id: view["session"].as_str().unwrap().to_owned(), view }
    }

    fn interrupt(mut self) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

pub(crate) struct LabSession<'l> {
    lab: &'l Lab,
    id: String,
    pub(crate) view: Value,
}

impl LabSession<'_> {
    fn post(&mut self, what: &str, body: &Value) -> &Value {
        self.view = self.lab.post(&format!("sessions/{}/{what}", self.id), body);
        &self.view
    }

    pub(crate) fn step(&mut self, steps: u64) -> &Value {
        self.post("step", &json!({ "steps": steps }))
    }

    fn end(&mut self) -> &Value {
        self.post("step", &json!({ "until": "end" }))
    }

    fn act(&mut self, act: &Value) -> &Value {
        self.post("act", act)
    }

    fn refused(&self, what: &str, body: &Value) -> (u16, String) {
        self.lab.refused(&format!("sessions/{}/{what}", self.id), &body.to_string())
    }

    fn file(&self, name: &str) -> Response {
        self.lab.send(&format!("GET /api/sessions/{}/{name}", self.id), "")
    }

    /// Returns the ID of the message of this kind in transit between two processes.
    fn message(&self, kind: &str, from: u64, to: u64) -> u64 {
        let messages = self.view["messages"].as_array().unwrap();
        let is = |it: &&Value| it["kind"] == kind && it["from"] == from && it["to"] == to;
        let found = messages.iter().find(is);
        found.unwrap_or_else(|| panic!("no {kind} {from} → {to} in {messages:?}"))["message"]
            .as_u64()
            .unwrap()
    }

    fn verdict(&self, property: &str) -> &Value {
        let verdicts = self.view["verdicts"].as_array().unwrap();
        verdicts.iter().find(|it| it["property"] == property).expect("a verdict")
    }

    /// Runs the replay command that the lab offers. Returns the trace that the command writes.
    fn replayed(&self) -> String {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("again.ndjson");
        let replay = self.view["commands"]["replay"].as_str().expect("a command");
        let words = replay.strip_prefix("tenure ").unwrap();
        let script = format!("exec \"$TENURE\" {words} --trace \"$TRACE\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env("TRACE", &file);
        let ran = shell.env("TENURE", env!("CARGO_BIN_EXE_tenure")).output().unwrap();
        assert!(matches!(ran.status.code(), Some(0 | 1 | 3)), "{replay}: {ran:?}");
        std::fs::read_to_string(file).unwrap()
    }

    /// Asserts that the replay command of the lab writes the same trace as the lab, byte for byte.
    fn is_what_the_command_makes(&self) {
        let trace = self.file("trace.ndjson");
        assert_eq!(trace.status, 200);
        assert_eq!(self.replayed(), trace.body, "{}", self.view["commands"]["replay"]);
    }
}

fn tenure(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure")).args(arguments).output().unwrap()
}

#[test]
fn run_is_stepped_to_its_end() {
    let lab = Lab::start(&[]);
    let mut session = lab.open("ricart-agrawala -n 3 --latency 1..3 --seed 7");
    assert_eq!(session.view["moment"], 0);
    assert_eq!(session.view["time"], 0.0);
    assert_eq!(session.view["messages"], json!([]));
    assert_eq!(session.view["processes"][0]["hold"], "idle");
    session.step(1);
    assert_eq!(session.view["happened"][0], "P1 asks to enter");
    assert_eq!(session.view["messages"].as_array().unwrap().len(), 6);
    assert_eq!(session.view["processes"][2]["hold"], "waiting");
    let next = session.view["next"].clone();
    let arrives = session.view["messages"].as_array().unwrap().iter().map(|it| it["due"].as_f64());
    let soonest = arrives.map(Option::unwrap).fold(f64::INFINITY, f64::min);
    assert_eq!(next["time"], soonest);
    session.step(1);
    assert_eq!(session.view["time"], next["time"]);
    let gone = session.view["messages"].as_array().unwrap().iter();
    assert!(
        gone.clone().all(|it| it["message"] != next["message"]),
        "the next message has arrived"
    );
    session.post("step", &json!({ "until": "event" }));
    let happened = session.view["happened"].to_string();
    assert!(happened.contains("enters"), "{happened}");
    session.is_what_the_command_makes();
    session.end();
    assert_eq!(session.view["ended"], "all requests were served");
    assert_eq!(session.view["next"], Value::Null);
    assert_eq!(session.view["figures"]["messages"], 12);
    assert_eq!(session.view["figures"]["by_kind"], json!({ "request": 6, "reply": 6 }));
    assert_eq!(session.view["figures"]["entries"], 3);
    for verdict in session.view["verdicts"].as_array().unwrap() {
        let promised = verdict["promised"] == true;
        assert!(!promised || verdict["verdict"] == "holds", "{verdict}");
    }
    assert!(session.view["svg"].as_str().unwrap().starts_with("<svg"));
    session.is_what_the_command_makes();
    let moments = session.view["tree"].as_array().unwrap().len();
    assert_eq!(session.view["moment"], moments - 1);
    session.step(1);
    assert_eq!(session.view["tree"].as_array().unwrap().len(), moments, "an end is an end");
}

#[test]
fn lost_request_blocks_its_sender_only_in_that_branch() {
    let lab = Lab::start(&[]);
    let mut session = lab.open("ricart-agrawala -n 3");
    session.step(1);
    let lost = session.message("request", 1, 2);
    session.act(&json!({ "lose": lost }));
    assert_eq!(session.view["happened"], json!(["request from P1 to P2 is lost"]));
    assert_eq!((&session.view["moment"], &session.view["time"]), (&json!(2), &json!(0.0)));
    session.end();
    assert_eq!(session.verdict("starvation-freedom")["verdict"], "violated");
    assert_eq!(session.view["processes"][0]["hold"], "waiting");
    let violated = session.verdict("starvation-freedom")["moment"].as_u64().unwrap();
    assert_eq!(session.view["tree"][violated as usize]["violated"], true);
    session.is_what_the_command_makes();
    // Goes back to the moment before the loss. A repeated loss leads to the same moment as before.
    // If the run continues without the loss, a new branch begins.
    session.post("go", &json!({ "moment": 1 }));
    let moments = session.view["tree"].as_array().unwrap().len();
    session.act(&json!({ "lose": lost }));
    assert_eq!(session.view["moment"], 2);
    assert_eq!(session.view["tree"].as_array().unwrap().len(), moments);
    session.post("go", &json!({ "moment": 1 }));
    session.end();
    assert_eq!(session.verdict("starvation-freedom")["verdict"], "holds");
    assert_eq!(session.view["tree"][moments]["parent"], 1, "a branch");
    session.is_what_the_command_makes();
}

#[test]
fn command_replays_every_action_of_the_lab() {
    let lab = Lab::start(&[]);
    let mut session = lab.open("ricart-agrawala -n 4 --latency 1..3 --seed 3 --beyond-assumptions");
    session.step(2);
    let first = |session: &LabSession<'_>| session.view["messages"][0]["message"].as_u64().unwrap();
    let id = first(&session);
    session.act(&json!({ "duplicate": id }));
    let id = first(&session);
    session.act(&json!({ "delay": id, "by": 2.5 }));
    let id = first(&session);
    session.act(&json!({ "deliver": id }));
    session.step(3);
    session.act(&json!({ "suspect": { "process": 1, "peer": 4 } }));
    assert_eq!(session.view["processes"][0]["suspects"], json!([4]));
    session.act(&json!({ "trust": { "process": 1, "peer": 4 } }));
    session.act(&json!({ "crash": 4 }));
    assert_eq!(session.view["processes"][3]["up"], false);
    assert_eq!(session.view["processes"][3]["hold"], "down");
    session.step(2);
    session.act(&json!({ "recover": 4 }));
    assert_eq!(session.view["processes"][3]["up"], true);
    session.is_what_the_command_makes();
    let words = session.view["commands"]["replay"].as_str().unwrap();
    let words = words.strip_prefix("tenure simulate ").unwrap().to_owned();
    let trace = session.file("trace.ndjson").body;
    // The replay command of the first run opens the same run in the lab.
    let again = lab.open(&words);
    assert_eq!(again.file("trace.ndjson").body, trace);
    for key in ["moment", "time", "processes", "messages", "next", "verdicts", "commands"] {
        assert_eq!(again.view[key], session.view[key], "{key}");
    }
}

#[test]
fn lab_offers_crashes_timers_and_requests() {
    let lab = Lab::start(&[]);
    let mut session = lab.open("bully -n 4");
    session.end();
    assert_eq!(session.view["processes"][3]["leads"], true);
    assert_eq!(session.view["processes"][0]["leader"], 4);
    session.act(&json!({ "crash": 4 }));
    assert_eq!(session.view["ended"], Value::Null, "the run continues");
    while session.view["processes"][2]["timers"] == json!([]) {
        assert_ne!(session.view["next"], Value::Null, "P3 sets a timer");
        session.step(1);
    }
    let timer = session.view["processes"][2]["timers"][0]["name"].clone();
    session.act(&json!({ "fire": { "process": 3, "timer": timer } }));
    let message = format!("P3's timer {} fires", timer.as_str().unwrap());
    assert_eq!(session.view["happened"][0], message);
    session.end();
    assert_eq!(session.view["processes"][2]["leads"], true);
    assert_eq!(session.view["processes"][0]["commands"], json!(["elect"]));
    session.act(&json!({ "ask": { "process": 1, "command": "elect" } }));
    session.is_what_the_command_makes();
    let mut lock = lab.open("central -n 3 --entries 0");
    lock.act(&json!({ "ask": { "process": 2, "command": "enter" } }));
    assert_eq!(lock.view["processes"][1]["hold"], "waiting");
    lock.post("step", &json!({ "until": "event" }));
    assert_eq!(lock.view["processes"][1]["hold"], "inside");
    assert_eq!(lock.view["processes"][1]["commands"], json!(["exit"]));
    lock.is_what_the_command_makes();
}

#[test]
fn faulty_algorithm_is_shown_at_the_violating_step() {
    let lab = Lab::start(&[]);
    let mut session = lab.open("ricart-agrawala -n 3 --variant clock-only-strict");
    session.end();
    let verdict = session.verdict("mutual-exclusion").clone();
    assert_eq!((&verdict["verdict"], &verdict["promised"]), (&json!("violated"), &json!(true)));
    let moment = verdict["moment"].as_u64().unwrap();
    session.post("go", &json!({ "moment": moment }));
    let inside = |view: &Value| {
        let processes = view["processes"].as_array().unwrap();
        processes.iter().filter(|process| process["hold"] == "inside").count()
    };
    assert_eq!(inside(&session.view), 2, "{}", session.view["happened"]);
    assert_eq!(session.verdict("mutual-exclusion")["verdict"], "violated");
    session.post("go", &json!({ "moment": moment - 1 }));
    assert_eq!(inside(&session.view), 1);
    assert_eq!(session.verdict("mutual-exclusion")["verdict"], "holds");
}

#[test]
fn saved_counterexample_is_replayed_and_branched() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("found.ndjson");
    let check = ["check", "ricart-agrawala", "-n", "2", "--variant", "clock-only-strict"];
    let path = file.to_str().unwrap();
    let found = tenure(&[&check[..], &["--trace", path]].concat());
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let lab = Lab::start(&["--open", path]);
    assert!(lab.address.ends_with("#session=1"), "{}", lab.address);
    let view = lab.get("sessions/1");
    let mut session = LabSession { lab: &lab, id: "1".to_owned(), view };
    assert_eq!(session.view["moment"], 0);
    assert_eq!(session.view["commands"]["replay"], Value::Null);
    session.step(1);
    assert!(session.view["happened"].to_string().contains("asks to enter"));
    session.end();
    assert_eq!(session.verdict("mutual-exclusion")["verdict"], "violated");
    session.post("go", &json!({ "moment": 2 }));
    session.act(&json!({ "crash": 2 }));
    session.end();
    assert_eq!(session.verdict("mutual-exclusion")["verdict"], "holds", "not on this branch");
    let text = std::fs::read_to_string(&file).unwrap();
    let opened = lab.post("sessions", &json!({ "trace": text }));
    assert_eq!((&opened["session"], &opened["n"]), (&json!("2"), &json!(2)));
}

#[test]
fn history_is_exported_as_trace_page_and_diagram() {
    let lab = Lab::start(&["lamport", "-n", "3", "--steps", "9"]);
    let view = lab.get("sessions/1");
    assert_eq!(view["moment"], 9);
    let session = LabSession { lab: &lab, id: "1".to_owned(), view };
    let trace = session.file("trace.ndjson");
    assert_eq!(trace.header("content-type"), Some("application/x-ndjson"));
    assert!(trace.body.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    let page = session.file("page.html");
    assert!(page.body.starts_with("<!DOCTYPE html>"), "{}", &page.body[..40]);
    assert!(page.header("content-security-policy").unwrap().contains("sandbox"));
    let picture = session.file("diagram.svg");
    assert!(picture.body.starts_with("<svg"));
    assert_eq!(picture.header("content-type"), Some("image/svg+xml"));
}

#[test]
fn rejected_requests_change_nothing() {
    let lab = Lab::start(&[]);
    for (words, part) in [
        ("", "ALGORITHM"),
        ("nonsense", "nonsense"),
        ("central --port 0", "is an option of the lab"),
        ("lamport -n 65", "the lab shows up to 64 processes, not 65"),
        // To build these runs would take more memory than a machine has.
        ("flooding-election -n 16000000", "up to 64 processes, not 16000000"),
        ("echo --topology grid:4000x4000", "up to 64 processes, not 16000000"),
        (&"fifo:".repeat(10_000), "the name has 50000 letters"),
        (&format!("lamport --{}", "x".repeat(100_000)), "has 100002 bytes"),
        ("lamport -n zero", "zero"),
        ("lamport --runs 3", "--runs is supported by `tenure simulate`"),
        ("lamport --trace x", "--trace is supported by `tenure simulate`"),
        ("lamport --help", "tenure simulate --help"),
        ("lamport --steer '3 crash'", "expected `crash p1`"),
        ("lamport --steer '3 crash p9'", "`crash p9` is not possible now"),
        ("lamport --steer '3", "unclosed quote"),
        ("lamport -n 3 --lose 0.5", "--beyond-assumptions"),
    ] {
        let (status, message) = lab.refused("sessions", &json!({ "words": words }).to_string());
        assert_eq!(status, 400, "{words}: {message}");
        assert!(message.contains(part) && !message.contains('\n'), "{words}: {message}");
    }
    for body in ["", "{", "{}", "[]", r#"{"word":"lamport"}"#, r#"{"words":"a","trace":"b"}"#] {
        assert_eq!(lab.refused("sessions", body).0, 400, "{body}");
    }
    assert_eq!(lab.refused("sessions", r#"{"trace":"no trace"}"#).0, 400);
    let mut session = lab.open("lamport -n 3");
    session.step(1);
    let trace = session.file("trace.ndjson").body;
    let large = trace.replacen("\"n\":3", "\"n\":16000000", 1);
    let (status, message) = lab.refused("sessions", &json!({ "trace": large }).to_string());
    assert!(status == 400 && message.contains("not 16000000"), "{message}");
    let before = session.view.clone();
    for act in [
        json!({}),
        json!({ "lose": 999 }),
        json!({ "crash": 0 }),
        json!({ "crash": 4 }),
        json!({ "recover": 1 }),
        json!({ "fire": { "process": 1, "timer": "nothing" } }),
        json!({ "ask": { "process": 1, "command": "enter" } }),
        json!({ "ask": { "process": 1, "command": "elect" } }),
        json!({ "ask": { "process": 1, "command": "sing" } }),
        json!({ "suspect": { "process": 1, "peer": 1 } }),
        json!({ "delay": 1 }),
        json!({ "delay": 1, "by": -1.0 }),
        json!({ "by": 1.0 }),
        json!({ "crash": 1, "recover": 2 }),
        json!({ "explode": 1 }),
    ] {
        let (status, message) = session.refused("act", &act);
        assert!(status == 400 && !message.is_empty(), "{act}: {status} {message}");
    }
    for step in [json!({}), json!({ "steps": 0 }), json!({ "steps": 99999 }), json!({ "until": 1 })]
    {
        assert_eq!(session.refused("step", &step).0, 400, "{step}");
    }
    assert_eq!(session.refused("go", &json!({ "moment": 77 })).0, 404);
    assert_eq!(session.refused("go", &json!({ "moment": -1 })).0, 400);
    assert_eq!(lab.get("sessions/1"), before, "nothing was changed");
    assert_eq!(lab.refused("sessions/9/step", r#"{"steps":1}"#).0, 404);
    assert_eq!(lab.send("GET /api/sessions/x", "").status, 404);
}

#[test]
fn oldest_session_is_evicted() {
    let lab = Lab::start(&[]);
    for _ in 0..33 {
        lab.open("central -n 2");
    }
    assert_eq!(lab.send("GET /api/sessions/1", "").status, 404);
    assert_eq!(lab.send("GET /api/sessions/2", "").status, 200);
    assert_eq!(lab.send("GET /api/sessions/33", "").status, 200);
}

#[test]
fn algorithms_are_listed_with_their_variants() {
    let lab = Lab::start(&[]);
    let algorithms = lab.get("algorithms");
    let algorithms = algorithms.as_array().unwrap();
    let of = |name: &str| algorithms.iter().find(|it| it["name"] == name).expect("it is listed");
    assert_eq!(of("ricart-agrawala")["service"], "mutex");
    assert_eq!(of("bully")["service"], "election");
    let variants = of("ricart-agrawala")["variants"].as_array().unwrap();
    assert!(variants.iter().any(|it| it["name"] == "clock-only-strict" && it["sound"] == false));
    assert!(algorithms.iter().all(|it| it["description"].is_string()));
    assert!(algorithms.iter().all(|it| it["topology"].is_string()));
}

#[test]
fn remote_access_requires_the_token() {
    let lab = Lab::start(&["--bind", "0.0.0.0"]);
    assert!(lab.token.is_some(), "{}", lab.address);
    assert_eq!(send(lab.at, "GET /api/algorithms", "").status, 401);
    assert_eq!(send(lab.at, "POST /api/sessions", r#"{"words":"lamport"}"#).status, 401);
    lab.open("lamport -n 2");
    let foreign = [format!("Host: {}", lab.at), "Origin: http://evil.example".to_owned()];
    let body = r#"{"words":"lamport"}"#;
    assert_eq!(send_raw(lab.at, "POST /api/sessions", &foreign, body).status, 403);
}

/// Returns the processor time that a process has used in user mode, in clock ticks.
#[cfg(target_os = "linux")]
fn user_time(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(11).unwrap().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn signal_ends_lab_during_a_computation() {
    use std::io::Write;
    use std::time::{Duration, Instant};

    const LIMIT: Duration = Duration::from_secs(120);
    let mut lab = Lab::start(&[]);
    // Judging one state takes 20 · 64⁴ evaluations.
    let property = " --never 'exists a: exists b: exists c: exists d: inside(d) & waiting(a)'";
    let words = format!("central -n 64{}", property.repeat(20));
    let body = json!({ "words": words }).to_string();
    let mut connection = std::net::TcpStream::connect(lab.at).unwrap();
    let (at, length) = (lab.at, body.len());
    write!(
        connection,
        "POST /api/sessions HTTP/1.1\r\nHost: {at}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    // The computation has started when the lab has used much processor time.
    let started = Instant::now();
    let before = user_time(lab.child.id());
    while user_time(lab.child.id()) < before + 100 {
        assert!(started.elapsed() < LIMIT, "the lab computes nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = rustix::process::Pid::from_child(&lab.child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = lab.child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < LIMIT, "the lab does not end");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn lab_ends_with_documented_statuses() {
    let lab = Lab::start(&[]);
    assert_eq!(send(lab.at, "GET /", "").status, 200);
    let taken = lab.at.port().to_string();
    let ran = tenure(&["lab", "--port", &taken]);
    let message = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(4), "{message}");
    assert!(message.starts_with("tenure: cannot listen on 127.0.0.1:"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert_eq!(lab.interrupt(), Some(0));
    for (arguments, part) in [
        (&["lab", "nonsense"][..], "nonsense"),
        (&["lab", "--open", "/no/such/file"], "/no/such/file"),
        (&["lab", "--bind", "nowhere"], "nowhere"),
        (&["simulate", "lamport", "--steer", "crash p1"], "such as '12 lose"),
        (&["simulate", "lamport", "--steer", "1 crash p9"], "'1 crash p9' is not possible"),
        (&["simulate", "lamport", "--steer", "999999 crash p1"], "comes too late"),
        (
            &["simulate", "drinking-philosophers", "-n", "3", "--steer", "0 thirst p1 9"],
            "'0 thirst p1 9' is not possible",
        ),
        (&["simulate", "lamport", "--steps", "3", "--runs", "2"], "a single run"),
    ] {
        let ran = tenure(arguments);
        let message = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(part) && is_concise(&message), "{arguments:?}: {message}");
    }
}
