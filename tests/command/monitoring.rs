//! Tests of the information for operators: the log of a lock service as JSON, and `tenure status`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::member::Member;
use crate::operating::Three;
use crate::shell::{assert_fails_with, tenure};

const LIMIT: Duration = Duration::from_secs(120);

#[track_caller]
fn eventually(condition: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < until, "timed out: {condition}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

struct Logging {
    member: Member,
    log: std::path::PathBuf,
}

impl Logging {
    fn start(folder: &Path, name: &str, cluster: &str) -> Logging {
        let log = folder.join(format!("{name}.log"));
        let data = folder.join(name);
        let mut command = Member::command(&format!(
            "--log-format json --name {name} --initial-cluster {cluster} --data-dir {}",
            data.display()
        ));
        let member = Member::started_by(command.stderr(File::create(&log).expect("a file")));
        assert_eq!(member.name, name);
        Logging { member, log }
    }

    /// Returns the events in the log. Omits the last line if it is incomplete.
    fn events(&self) -> Vec<Value> {
        let log = fs::read_to_string(&self.log).expect("a log");
        let complete = log.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        complete.lines().map(parse).collect()
    }

    fn has_logged(&self, message: &str) -> bool {
        self.events().iter().any(|event| event["fields"]["message"] == message)
    }
}

/// Returns true if a text contains a process number such as `P2` as a word.
fn has_process_number(text: &str) -> bool {
    let mut words = text.split(|each: char| !each.is_ascii_alphanumeric());
    words.any(|word| {
        let digits = word.strip_prefix('P').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[test]
fn json_log_has_fields_and_names_members() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["north", "south", "west"];
    let urls =
        names.map(|name| format!("{name}=http://{}", tenure_runtime::ports::reserve_address()));
    let cluster = urls.join(",");
    let mut members: Vec<Logging> =
        names.iter().map(|name| Logging::start(folder.path(), name, &cluster)).collect();
    eventually("all members follow a leader", || {
        members.iter().all(|it| it.has_logged("became leader") || it.has_logged("follows leader"))
    });
    let mut last = members.remove(2);
    last.member.process.kill().expect("it runs");
    last.member.process.wait().expect("it ends");
    eventually("the loss of the connection is logged", || {
        members.iter().all(|it| it.has_logged("connection lost"))
    });
    members.push(last);
    let mut messages = BTreeSet::new();
    for event in members.iter().flat_map(Logging::events) {
        let fields = event["fields"].as_object().expect("fields");
        let message = fields["message"].as_str().expect("a message");
        assert!(fields.len() > 1, "an event without data: {event}");
        assert!(!has_process_number(&event["fields"].to_string()), "{event}");
        for field in ["me", "peer", "leader"] {
            let Some(name) = fields.get(field) else { continue };
            assert!(names.iter().any(|it| name == it), "{field}: {event}");
        }
        messages.insert(message.to_owned());
    }
    for expected in ["became leader", "follows leader", "connected", "connection lost"] {
        assert!(messages.contains(expected), "{expected}: {messages:?}");
    }
    assert!(has_process_number("the queue of P2 is full"), "the control");
}

/// Repeats `tenure status` until its JSON report is as expected, and returns the report.
#[track_caller]
fn status(arguments: &str, is_expected: impl Fn(&Value, i32) -> bool) -> Value {
    let until = Instant::now() + LIMIT;
    loop {
        let ended = tenure(&format!("status {arguments} --format json"));
        let code = ended.status.code().expect("a status");
        let report = serde_json::from_slice(&ended.stdout).unwrap_or(Value::Null);
        if is_expected(&report, code) {
            return report;
        }
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(Instant::now() < until, "{code}: {report:#} {error}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Requests lock `jobs` with a new lease. Does not wait until the lock is acquired.
fn request_lock(member: &Member) {
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 600 }))["ID"].clone();
    let body = json!({ "name": "am9icw==", "lease": lease }).to_string();
    let address = member.address.clone();
    std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        let length = body.len();
        let head = format!("POST /v3/lock/lock HTTP/1.0\r\ncontent-length: {length}\r\n\r\n");
        write!(stream, "{head}{body}").expect("it reads");
        // Closing the connection would withdraw the claim.
        std::io::copy(&mut stream, &mut std::io::sink())
    });
}

#[test]
fn status_of_a_service_names_members_and_counts_claims() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let [a, b, c] = ["a", "b", "c"].map(|name| three.start(name, "new"));
    for _ in 0..3 {
        request_lock(&a);
    }
    let expected = json!({ "locks": 1, "held": 1, "waiting": 2 });
    let url = format!("http://{}", b.address);
    let informed = |report: &Value| {
        let members = report["members"].as_array().into_iter().flatten();
        members.filter(|it| it["lag"].is_u64() && it["state"] != "no-leader").count()
    };
    let report = status(&url, |report, code| {
        code == 0
            && report["locks"] == expected
            && report["leader_name"].is_string()
            && informed(report) == 3
    });
    assert_eq!(report["quorum"], true);
    let leader = report["leader_name"].as_str().expect("a name");
    assert!(["a", "b", "c"].contains(&leader), "{report}");
    let members = report["members"].as_array().expect("members");
    assert_eq!(members.len(), 3);
    for member in members {
        let state = if member["name"] == leader { "leader" } else { "follower" };
        assert_eq!(member["state"], state, "{report:#}");
        assert!(member["lag"].is_u64() && member["version"].is_string(), "{report:#}");
    }
    // Passes the same endpoint with the option `--endpoints`.
    status(&format!("--endpoints {url}"), |report, code| code == 0 && report["locks"] == expected);
    let mut text = String::new();
    eventually("all members respond", || {
        text = String::from_utf8(tenure(&format!("status {url}")).stdout).expect("text");
        text.contains("; 3 of 3 members respond\n1 locks and elections, ")
    });
    let head: Vec<&str> = text.lines().take(3).collect();
    assert!(head[0].ends_with("; 3 of 3 members respond"), "{text}");
    assert_eq!(head[1], "1 locks and elections, 1 claims hold, 2 wait");
    assert!(head[2].starts_with("id  ") && head[2].contains("  lag  "), "{text}");
    c.kill();
    let report = status(&url, |report, code| code == 4 && report["locks"] == expected);
    let member = report["members"].as_array().expect("members").iter().find(|it| it["name"] == "c");
    assert_eq!(member.expect("the member")["state"], "unreachable");
    a.kill();
    let unknown = json!({ "error": "there is no quorum" });
    status(&url, |report, code| {
        code == 4 && report["quorum"] == false && report["locks"] == unknown
    });
}

#[test]
fn status_accepts_the_configuration_file_of_a_member() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start_in(folder.path());
    let file = folder.path().join("default.toml");
    let text = format!("listen-client-urls = \"http://{}\"\n", member.address);
    fs::write(&file, text).expect("a file");
    let file = file.display();
    let report = status(&file.to_string(), |_, code| code == 0);
    assert_eq!(report["members"][0]["name"], "default");
    // If `status` has several targets, each of them must be a member that responds. Only a single
    // target may also be the status page of a node.
    let mixed = tenure(&format!("status {file} http://127.0.0.1:1"));
    assert_fails_with(&mixed, 2, "is not a member of a lock service that responds");
    let other = tenure("status http://127.0.0.1:1");
    assert_eq!(other.status.code(), Some(4));
}

/// A member exports the spans of a request to a collector. The test itself is the collector.
#[cfg(feature = "otel")]
#[test]
fn spans_of_a_request_reach_a_collector() {
    use std::io::{BufRead, BufReader, Read};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    let collector = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", collector.local_addr().expect("an address"));
    let received: Arc<Mutex<Vec<u8>>> = Arc::default();
    let sink = received.clone();
    std::thread::spawn(move || {
        for stream in collector.incoming().map_while(Result::ok) {
            let sink = sink.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                loop {
                    let (mut length, mut line) = (0, String::new());
                    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                        let lower = line.to_ascii_lowercase();
                        if let Some(value) = lower.strip_prefix("content-length:") {
                            length = value.trim().parse().expect("a number");
                        }
                        line.clear();
                    }
                    let mut body = vec![0; length];
                    if length == 0 || reader.read_exact(&mut body).is_err() {
                        return;
                    }
                    sink.lock().expect("no panic").extend(body);
                    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    if reader.get_mut().write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let mut command = Member::command(&format!("--name north --data-dir {}", data.display()));
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "100");
    let member = Member::started_by(&mut command);
    member.ask("/v3/kv/put", &json!({ "key": "YQ==", "value": "MQ==" }));
    let has = |text: &str| {
        let received = received.lock().expect("no panic");
        received.windows(text.len()).any(|window| window == text.as_bytes())
    };
    for expected in ["receive", "propose", "commit", "apply", "north", "/etcdserverpb.KV/Put"] {
        eventually(expected, || has(expected));
    }
    assert!(!has("MQ=="), "values are not exported");
}
