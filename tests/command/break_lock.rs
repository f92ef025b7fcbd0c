//! Tests of `tenure locks break`, and of the descriptions of clients in `tenure locks`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb::KeyValue;

use crate::hold::{Service, ended, until};
use crate::killed::Killed;
use crate::malformed_grpc::{Reply, UNKNOWN, framed, serve_replies};
use crate::member::Member;
use crate::shell::{assert_fails_with, data, tenure, text};

fn broken(service: &Service, options: &str) -> Output {
    let wait = if options.contains("--force") { "" } else { "--wait 100s" };
    tenure(&format!("locks break --yes {wait} {options} --endpoints {}", service.member.address))
}

/// Returns a script for a command. When the script receives SIGTERM, it waits for some time,
/// appends to a file and ends.
fn script(path: &Path) -> String {
    let path = path.display();
    format!(
        "exec 2>/dev/null; trap 'sleep 0.3; echo ended >>{path}; exit' TERM; echo up; \
         while :; do sleep 0.02; done"
    )
}

#[test]
fn command_of_a_broken_holder_ends_before_the_next_one_starts() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let events = folder.path().join("events");
    for kind in ["lock", "lock --shared", "elect", "elect --identity x"] {
        let (holder, _) = service.running(&format!("{kind} --ttl 60s a"), &script(&events));
        let next = format!("echo started >>{}", events.display());
        let options = if kind.starts_with("elect") { "elect a" } else { "lock a" };
        let next = service.wrapper(options, &next).spawn().expect("it starts");
        until(|| service.asking_for_a() == 2);
        let output = broken(&service, "a");
        let message = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && message.ends_with(": released\n"), "{output:?}");
        let (status, message) = ended(holder);
        assert_eq!(status, 121, "{kind}: {message}");
        assert!(message.starts_with("tenure: `a` was lost: "), "{message}");
        assert!(message.ends_with(" broke it; the command was ended\n"), "{message}");
        if kind.starts_with("lock") {
            assert!(message.contains(" tenure broke it"), "{message}");
        }
        assert_eq!(ended(next).0, 0);
        assert_eq!(fs::read_to_string(&events).expect("events"), "ended\nstarted\n", "{kind}");
        fs::remove_file(&events).expect("it is there");
        assert_eq!(service.leases(), 0, "{kind}");
    }
}

#[test]
fn command_that_ignores_termination_is_killed_before_the_next_one_starts() {
    let service = Service::start();
    let (holder, id) = service.running("lock --grace 200ms a", "trap '' TERM; echo $$; sleep 600");
    let script = format!("kill -0 {id} 2>/dev/null && echo runs; echo in");
    let next = Killed(service.wrapper("lock a", &script).spawn().expect("it starts"));
    until(|| service.asking_for_a() == 2);
    assert!(broken(&service, "a").status.success());
    assert_eq!(ended(holder).0, 121);
    let next = next.wait_with_output();
    assert_eq!(String::from_utf8_lossy(&next.stdout), "in\n");
}

#[test]
fn forced_break_revokes_the_lease_at_once() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let events = folder.path().join("events");
    let (holder, _) = service.running("lock --ttl 60s a", &script(&events));
    let output = broken(&service, "--force a");
    let message = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(message.contains(": lease ") && message.ends_with(" revoked\n"), "{output:?}");
    let (status, message) = ended(holder);
    assert_eq!(status, 121, "{message}");
    assert!(!events.exists(), "the control: it is killed, not terminated");
}

/// If the holder is stopped and its lease expires, `tenure locks break` reports this. The test
/// tries several lengths of the lease, because a short lease may expire before the command reads
/// it.
#[test]
fn expired_lease_of_a_stopped_holder_is_reported() {
    let service = Service::start();
    let is_reported = |ttl: &str| {
        let (holder, _) =
            service.running(&format!("lock --ttl {ttl} a"), "echo up; exec sleep 600");
        let id = holder.id().to_string();
        assert!(crate::hold::signal("-STOP", &id));
        let output = broken(&service, "a");
        assert!(crate::hold::signal("-CONT", &id));
        assert_eq!(ended(holder).0, 121, "{output:?}");
        let message = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success() && message.ends_with(" has expired\n")
    };
    assert!(["4s", "16s", "64s"].into_iter().any(is_reported));
}

/// The keys `a/1a`, `a/1b`, `b/1a` and `b/1b` in base64, each with the ID of its lease.
const KEYS: [(&str, &str); 4] =
    [("YS8xYQ==", "26"), ("YS8xYg==", "27"), ("Yi8xYQ==", "26"), ("Yi8xYg==", "27")];

/// Starts a member, and writes to it the keys of [`KEYS`] with the indices `keys`.
fn member(folder: &Path, keys: &[usize]) -> Member {
    let member = Member::start_in(folder);
    for lease in ["26", "27"] {
        member.ask("/v3/lease/grant", &json!({ "TTL": 600, "ID": lease }));
    }
    for index in keys {
        let (key, lease) = KEYS[*index];
        member.ask("/v3/kv/put", &json!({ "key": key, "lease": lease }));
    }
    member
}

fn leases(member: &Member) -> usize {
    let leases = member.ask("/v3/lease/leases", &json!({}))["leases"].clone();
    leases.as_array().map_or(0, Vec::len)
}

#[test]
fn claims_of_unknown_clients_are_broken_without_a_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = member(folder.path(), &[0, 1, 3]);
    member.ask("/v3/kv/put", &json!({ "key": "Yy94", "value": "eA==" }));
    let at = format!("--yes --endpoints http://{}", member.address);
    assert_fails_with(&tenure(&format!("locks break {at} --fence 1 a")), 2, "no holder of a");
    let report = data(&format!("locks break {at} --key-only a"), 0);
    assert_eq!(report["broken"][0]["outcome"], "key-deleted", "{report}");
    assert_eq!(report["broken"][0]["client"], Value::Null);
    assert_eq!(leases(&member), 2, "the session continues");
    let report = data(&format!("locks break {at} a"), 0);
    assert_eq!(report["broken"][0]["outcome"], "lease-revoked", "{report}");
    assert_eq!(report["broken"][0]["lease"], "1b", "it was next");
    assert_eq!(leases(&member), 1);
    for name in ["a", "b"] {
        assert_eq!(text(&format!("locks break {at} {name}"), 0), format!("{name} is free\n"));
    }
    // The claim `c/x` is a key without a lease.
    let report = data(&format!("locks break {at} --wait 0s c"), 0);
    assert_eq!(report["broken"][0]["outcome"], "key-deleted", "{report}");
}

#[test]
fn break_without_a_terminal_requires_yes() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = member(folder.path(), &[0]);
    let output = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["locks", "break", "a", "--endpoints", &member.address])
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    assert_fails_with(&output, 2, "give --yes");
    assert_eq!(leases(&member), 2);
}

/// Starts a simulated service in which `host-7` holds lock `a` with a lease of 60 s, and never
/// releases it. Returns the address of the service, and a counter of the reads of the lease.
fn held_for_ever() -> (String, Arc<AtomicUsize>) {
    let revoked = framed(&rpc::LeaseRevokeResponse::default());
    held_until_revoked(move || Reply::Message(revoked.clone()))
}

/// Starts a simulated service as [`held_for_ever`] does. `revoke` returns the response to each
/// revocation of the lease.
fn held_until_revoked(
    revoke: impl Fn() -> Reply + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>) {
    let key = KeyValue {
        key: b"a/1a".to_vec(),
        value: b"host-7".to_vec(),
        create_revision: 1,
        lease: 26,
        ..Default::default()
    };
    let claims = framed(&rpc::RangeResponse { kvs: vec![key], ..Default::default() });
    let done = framed(&rpc::TxnResponse { succeeded: true, ..Default::default() });
    let lease =
        rpc::LeaseTimeToLiveResponse { id: 26, ttl: 60, granted_ttl: 60, ..Default::default() };
    let lease = framed(&lease);
    let reads = Arc::new(AtomicUsize::new(0));
    let counter = reads.clone();
    let address = serve_replies(move |path| {
        Reply::Message(match path {
            "/etcdserverpb.KV/Range" => claims.clone(),
            "/etcdserverpb.KV/Txn" => done.clone(),
            "/etcdserverpb.Lease/LeaseTimeToLive" => {
                counter.fetch_add(1, Ordering::Relaxed);
                lease.clone()
            }
            "/etcdserverpb.Lease/LeaseRevoke" => return revoke(),
            _ => return UNKNOWN,
        })
    });
    (address, reads)
}

#[test]
fn long_lease_of_a_holder_is_read_once_while_waiting() {
    let (address, reads) = held_for_ever();
    let line = format!("locks break --yes --wait 2s a --endpoints {address}");
    assert!(text(&line, 0).ends_with(": lease 1a revoked\n"));
    // The command reads the lease twice: together with the lock, and after it has asked the holder
    // to release the lock.
    assert_eq!(reads.load(Ordering::Relaxed), 2);
}

#[test]
fn log_of_the_member_names_the_client_that_broke_a_lock() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let data = folder.path().join("data");
    let mut command = Member::command(&format!("--data-dir {}", data.display()));
    let member = Member::started_by(command.stderr(fs::File::create(&log).expect("room")));
    for (lease, keys) in [("26", true), ("27", false)] {
        member.ask("/v3/lease/grant", &json!({ "TTL": 600, "ID": lease }));
        if keys {
            let claim = json!({ "key": KEYS[0].0, "value": "eA==", "lease": lease });
            for options in ["--force --key-only", "--wait 0s"] {
                member.ask("/v3/kv/put", &claim);
                let at = format!("a --endpoints {}", member.address);
                text(&format!("locks break --yes {options} {at}"), 0);
            }
        } else {
            member.ask("/v3/lease/revoke", &json!({ "ID": lease }));
        }
    }
    // A client that releases its own lock is not worth a line.
    text(&format!("lock a --endpoints {} -- true", member.address), 0);
    let lines = |message: &str| -> Vec<String> {
        let log = fs::read_to_string(&log).expect("the log");
        log.lines().filter(|line| line.contains(message)).map(str::to_owned).collect()
    };
    for message in ["lease revoked", "holder asked to release its claim", "claim deleted"] {
        until(|| !lines(message).is_empty());
        let lines = lines(message);
        assert_eq!(lines.len(), 1, "a lease without keys is not worth a line: {lines:?}");
        let line = &lines[0];
        assert!(line.contains(" client=127.0.0.1:") && line.contains("a/1a"), "{line}");
    }
}

#[test]
fn locks_show_the_program_and_no_arguments() {
    let service = Service::start();
    let (mut labelled, _) =
        service.running("lock --label nightly-report a", "echo $$; : secret; exec sleep 600");
    let (mut plain, _) = service.running("lock b", "echo $$; : secret; exec sleep 600");
    let at = format!("--endpoints {}", service.member.address);
    // The time of the acquisition is stored only after the command has started.
    let held = || data(&format!("locks show a {at}"), 0)["holders"][0]["client"].clone();
    until(|| held()["held"].is_string());
    let client = held();
    assert_eq!(client["command"], "nightly-report", "{client}");
    assert_eq!(client["pid"], labelled.id(), "{client}");
    assert!(client["host"].is_string() && client["user"].is_string(), "{client}");
    assert!(client["held"].as_str() >= client["queued"].as_str(), "{client}");
    let table = text(&format!("locks ls {at}"), 0);
    for part in [format!(" {} nightly-report  20", labelled.id()), format!(" {} sh ", plain.id())] {
        assert!(table.contains(&part), "{part}: {table}");
    }
    assert!(!table.contains("secret"), "{table}");
    let waits = service.wrapper("lock --label second a", "true").spawn().expect("it starts");
    until(|| service.asking_for_a() == 2);
    let why = text(&format!("locks why a {at}"), 0);
    let line = why.lines().find(|line| line.contains("position 2")).expect("a line");
    assert!(line.contains(&format!(" {} second waits at position 2", waits.id())), "{why}");
    assert!(line.contains(&format!(" {} nightly-report: it requests", labelled.id())), "{why}");
    let waits_json = data(&format!("locks why a {at}"), 0)["waits"][0].clone();
    assert_eq!(waits_json["position"], 2, "{waits_json}");
    for child in [&mut labelled, &mut plain] {
        assert!(crate::hold::signal("-TERM", &child.id().to_string()));
        assert_eq!(child.wait().expect("an end").code(), Some(143));
    }
    assert_eq!(ended(waits).0, 0);
}

#[test]
fn name_in_json_is_accepted_by_the_commands() {
    let service = Service::start();
    // A terminal may not show combining marks, so the table escapes them.
    let name = "नमस्ते";
    let (holder, _) = service.running(&format!("lock {name}"), "echo up; exec sleep 600");
    let at = format!("--endpoints {}", service.member.address);
    let table = text(&format!("locks ls {at}"), 0);
    assert!(table.contains("\\u{") && !table.contains(name), "{table}");
    let lock = data(&format!("locks ls {at}"), 0)["locks"][0].clone();
    assert_eq!(lock["name"], name);
    let key = lock["holders"][0]["key"].as_str().expect("a key");
    assert!(key.starts_with(&format!("{name}/")), "{key}");
    let output = broken(&service, lock["name"].as_str().expect("a name"));
    let message = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && message.ends_with(": released\n"), "{output:?}");
    assert_eq!(ended(holder).0, 121);
}

/// Two holders of a shared lock wait for the same lock. That is no cycle.
#[test]
fn two_waits_for_the_same_lock_are_no_cycle() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = member(folder.path(), &[]);
    member.ask("/v3/lease/grant", &json!({ "TTL": 600, "ID": "28" }));
    // The keys `b/1c`, `a/1a.shared`, `a/1b.shared`, `b/1a` and `b/1b`.
    for (key, lease) in [
        ("Yi8xYw==", "28"),
        ("YS8xYS5zaGFyZWQ=", "26"),
        ("YS8xYi5zaGFyZWQ=", "27"),
        KEYS[2],
        KEYS[3],
    ] {
        member.ask("/v3/kv/put", &json!({ "key": key, "lease": lease }));
    }
    let at = format!("--endpoints http://{}", member.address);
    let why = data(&format!("locks why a {at}"), 0);
    let steps = why["chain"].as_array().expect("steps");
    let closing: Vec<&Value> = steps.iter().map(|step| &step["closes_cycle"]).collect();
    assert_eq!(closing, [&json!(false), &json!(false)], "{why:#}");
    assert!(!text(&format!("locks why a {at}"), 0).contains("cycle"));
}

#[test]
fn chain_of_waits_over_several_locks_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    // Lease 26 holds `a` and waits for `b`, which lease 27 holds.
    let member = member(folder.path(), &[0, 3, 2]);
    let at = format!("--endpoints http://{}", member.address);
    let why = data(&format!("locks why a {at}"), 0);
    let step = &why["chain"][0];
    assert_eq!((&step["holds"], &step["waits_for"]), (&json!("a"), &json!("b")), "{why:#}");
    assert_eq!(step["held_by"][0], "unknown client (lease 1b)");
    assert_eq!(
        (&step["closes_cycle"], why["chain"].as_array().map(Vec::len)),
        (&json!(false), Some(1))
    );
    // Lease 27 now waits for `a`.
    let (key, lease) = KEYS[1];
    member.ask("/v3/kv/put", &json!({ "key": key, "lease": lease }));
    let why = text(&format!("locks why a {at}"), 0);
    let holds =
        "unknown client (lease 1b) holds b and waits for a, held by unknown client (lease 1a)";
    assert!(why.contains(&format!("{holds}; this closes a cycle of waits")), "{why}");
}

/// The first attempt to revoke the lease receives no outcome, and the second one finds no lease.
/// The command must not report that the holder has released the lock.
#[test]
fn lease_that_a_repeated_revocation_does_not_find_is_reported_as_revoked() {
    let attempts = AtomicUsize::new(0);
    let (address, _) = held_until_revoked(move || match attempts.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::Refusal(
            "14",
            "etcdserver: request timed out, possibly due to previous leader failure",
        ),
        _ => Reply::Refusal("5", "etcdserver: requested lease not found"),
    });
    let broken = text(&format!("locks break --yes --force a --endpoints {address}"), 0);
    assert!(broken.ends_with(": lease 1a revoked\n"), "{broken}");
}
