//! Tests of the errors of client commands: each error names its cause.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use serde_json::json;
use tenure_etcd::etcdserverpb as rpc;

use crate::hold::{Service, closed, ended, lines, post_as_root, signal, until};
use crate::killed::Killed;
use crate::malformed_grpc::{Reply, framed, serve_replies};
use crate::member::Member;
use crate::nested::etcd;
use crate::operating::Three;
use crate::shell::{assert_fails_with, assert_refused, tenure, text};

const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";

/// Puts keys until the member rejects a key because its store is full.
fn fill(member: &Member) {
    for count in 0..100 {
        let put = json!({ "key": format!("a{count:03}"), "value": "x".repeat(1_000) });
        if member.post("/v3/kv/put", &put.to_string()).is_ok_and(|it| it.contains(NO_SPACE)) {
            return;
        }
    }
    panic!("all puts were accepted");
}

#[test]
fn full_store_is_reported_and_holders_lose_their_leases() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let member = format!("--quota-backend-bytes 8000 --data-dir {}", data.display());
    let service = Service::of(Member::start(&member), folder);
    let (holder, _) = service.running("lock held", "echo in; exec sleep 600");
    fill(&service.member);
    let at = format!("--endpoints {}", service.member.address);
    for line in ["lock --try z", "lock --timeout 100s z", "elect --timeout 100s z"] {
        let rejected = tenure(&format!("{line} {at} -- true"));
        assert_fails_with(&rejected, 120, &format!("`z` was not acquired: refused: {NO_SPACE};"));
    }
    let broken = text(&format!("locks break held --yes --wait 100s {at}"), 0);
    assert!(broken.contains(": lease ") && broken.ends_with(" revoked\n"), "{broken}");
    assert_eq!(ended(holder).0, 121);
}

/// Runs `tenure lock` with a time limit at these endpoints. Returns the error.
fn lock_error(timeout: &str, endpoints: &str) -> String {
    let rejected = tenure(&format!("lock --timeout {timeout} --endpoints {endpoints} z -- true"));
    assert_eq!(rejected.status.code(), Some(120), "{rejected:?}");
    String::from_utf8(rejected.stderr).expect("text")
}

#[test]
fn missing_quorum_is_reported_for_each_endpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let alone = three.start("a", "new");
    let endpoints = format!("127.0.0.1:1,{}", alone.address);
    let reasons = format!("{}: ", alone.address);
    let refused = "127.0.0.1:1: Connection refused";
    let names_both = |error: &str| error.contains(&reasons) && error.contains(refused);
    // The request itself fails after 10 s, before this limit.
    let error = lock_error("1h", &endpoints);
    assert!(error.contains("no response from any of 2 endpoints: "), "{error}");
    assert!(names_both(&error), "{error}");
    // A loaded machine may need the longer limit.
    let limited = ["2s", "8s"].map(|timeout| lock_error(timeout, &endpoints));
    let states_timeout = |error: &String| error.contains("before --timeout has passed: ");
    assert!(limited.iter().any(|it| states_timeout(it) && names_both(it)), "{limited:?}");
}

#[test]
fn observer_reports_missing_quorum_until_there_is_a_leader() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let alone = three.start("a", "new");
    let errors = folder.path().join("errors");
    let spawned = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["elect", "--observe", "boss", "--endpoints", &alone.address])
        .stdout(Stdio::piped())
        .stderr(File::create(&errors).expect("room"))
        .spawn();
    let mut observer = Killed(spawned.expect("the command starts"));
    let reported = || fs::read_to_string(&errors).expect("a file");
    let line = format!("waiting, because no member serves requests: {}: ", alone.address);
    until(|| reported().contains(&line));
    let _second = three.start("b", "new");
    let state = lines(&mut observer).next().expect("a line").expect("text");
    assert!(state.contains(r#""leader":null"#), "{state}");
    assert!(signal("-INT", &observer.id().to_string()));
    assert_eq!(observer.wait().expect("an end").code(), Some(0));
}

#[test]
fn rejected_renewal_is_reported_with_its_reason() {
    let service = closed();
    let (holder, _) =
        service.running("lock --user bob:one --ttl 6s jobs/long", "echo in; exec sleep 600");
    let change = r#"{"name":"bob","password":"two"}"#;
    post_as_root(&service.member, "/v3/auth/user/changepw", change);
    let (status, message) = ended(holder);
    let reason = format!(
        "no renewal succeeded in time: {}: etcdserver: authentication failed",
        service.member.address
    );
    assert_eq!(status, 121, "{message}");
    assert!(message.contains(&reason), "{message}");
}

#[test]
fn rejected_observers_and_transfers_end_with_status_2() {
    let service = closed();
    let at = format!("--endpoints {}", service.member.address);
    for (line, message) in [
        ("elect --observe other --user bob:one", "permission denied"),
        ("elect --observe jobs/a --user bob:two", "authentication failed"),
        ("elect --transfer-to x other --user bob:one", "permission denied"),
        ("elect --transfer-to x jobs/a --user root:secret", "no candidate 'x' waits"),
    ] {
        assert_fails_with(&tenure(&format!("{line} {at}")), 2, message);
    }
    for line in ["elect --observe a", "elect --transfer-to x a"] {
        let unserved = tenure(&format!("{line} --endpoints 127.0.0.1:1"));
        assert_fails_with(&unserved, 4, "Connection refused");
    }
}

#[test]
fn timeout_of_zero_is_rejected() {
    for line in ["lock --timeout 0s a -- true", "elect --timeout 0ms a -- true"] {
        assert_refused(line, &["--timeout", "expected more than 0s"]);
    }
}

#[test]
fn rejected_change_of_members_says_when_to_try_again() {
    let address =
        serve_replies(|_| Reply::Refusal("14", "tenure: another membership change is in progress"));
    let rejected = tenure(&format!("member add http://127.0.0.1:1 --endpoints {address}"));
    let message = "refused: tenure: another membership change is in progress: try again when that \
                   change is complete";
    assert_fails_with(&rejected, 4, message);
}

/// etcd accepts several members with the same name.
#[test]
fn name_of_several_members_selects_none() {
    let member = |id| rpc::Member { id, name: "default".to_owned(), ..Default::default() };
    let members = vec![member(0x1a), member(0x1b)];
    let list = framed(&rpc::MemberListResponse { members, ..Default::default() });
    let address = serve_replies(move |path| match path {
        "/etcdserverpb.Cluster/MemberList" => Reply::Message(list.clone()),
        _ => Reply::Refusal("13", "a change of an arbitrary member"),
    });
    for change in ["remove", "promote"] {
        let rejected = tenure(&format!("member {change} default --endpoints {address}"));
        let message = "2 members have the name 'default': expected one of the IDs 1a, 1b";
        assert_fails_with(&rejected, 2, message);
    }
}

#[test]
fn endpoint_without_etcd_api_is_named_and_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let data = data.display();
    let member =
        Member::start(&format!("--listen-metrics-urls http://127.0.0.1:0 --data-dir {data}"));
    let (address, metrics) = member.address.split_once("; metrics at http://").expect("both");
    let error = format!(
        "no response from {metrics}: it serves no etcd API (HTTP status 404 Not Found): use the \
         client URL of a member"
    );
    assert_fails_with(&tenure(&format!("locks ls --endpoints {metrics}")), 4, &error);
    let both = format!("--endpoints {metrics},{address}");
    text(&format!("locks ls {both}"), 0);
    for _ in 0..4 {
        // The command chooses its first endpoint at random, so the test repeats it.
        text(&format!("lock {both} a -- true"), 0);
    }
}

#[test]
fn status_accepts_an_address_without_a_scheme() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start_in(folder.path());
    // The member responds to this request only when it has a leader.
    member.ask("/v3/kv/range", &json!({ "key": "YQ==" }));
    let status = text(&format!("status {}", member.address), 0);
    assert!(status.contains("1 of 1 members respond"), "{status}");
}

#[test]
fn snapshot_of_an_etcd_is_rejected_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((_server, _data, endpoint)) = etcd() else { return };
    let file = folder.path().join("backup").display().to_string();
    let saved = tenure(&format!("snapshot save {file} --endpoints {endpoint}"));
    assert_fails_with(&saved, 2, "if it is an etcd, use `etcdctl snapshot save`");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}
