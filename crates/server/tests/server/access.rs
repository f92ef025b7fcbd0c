//! Users and roles: who may do what, and what everybody else is told.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::etcdctl::etcdctl;
use crate::limits::metric;
use crate::member::{Files, Member, base64, eventually, post, post_as};

/// What somebody is told who asks with a token: the code of gRPC, 0 where it is done, and why.
fn told(member: &Member, token: &str, path: &str, asked: &Value) -> (u64, String) {
    let (status, told) = post_as(token, member.address, path, asked).expect("an answer");
    let (code, words) = (&told["code"], told["message"].as_str().unwrap_or_default());
    assert_eq!(status == 200, code.is_null(), "{status} {told}");
    (code.as_u64().unwrap_or(0), words.to_owned())
}

/// Has somebody be root, whose password is `secret`, and `bob`, who may read and write below
/// `jobs/`; from then on everybody says who they are.
fn closed(member: &Member) {
    let span = json!({
        "permType": "READWRITE", "key": base64("jobs/"), "range_end": base64("jobs0"),
    });
    for (path, asked) in [
        ("user/add", json!({ "name": "root", "password": "secret" })),
        ("user/add", json!({ "name": "bob", "password": "one" })),
        ("user/grant", json!({ "user": "root", "role": "root" })),
        ("role/add", json!({ "name": "jobs" })),
        ("role/grant", json!({ "name": "jobs", "perm": span })),
        ("user/grant", json!({ "user": "bob", "role": "jobs" })),
        ("enable", json!({})),
    ] {
        member.ask(&format!("/v3/auth/{path}"), &asked);
    }
}

fn token(member: &Member, name: &str, password: &str) -> String {
    let asked = json!({ "name": name, "password": password });
    let answer = member.ask("/v3/auth/authenticate", &asked);
    answer["token"].as_str().expect("a token").to_owned()
}

fn key(key: &str) -> Value {
    json!({ "key": base64(key), "value": base64("1") })
}

#[test]
fn who_has_no_right_is_told_so_by_code_and_is_counted_and_holds_up_nobody() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    closed(&member);
    let bob = token(&member, "bob", "one");
    let denied = (7, "etcdserver: permission denied".to_owned());
    assert_eq!(told(&member, &bob, "/v3/kv/put", &key("jobs/a")).0, 0);
    assert_eq!(told(&member, &bob, "/v3/kv/put", &key("other")), denied);
    assert_eq!(told(&member, &bob, "/v3/kv/range", &json!({ "key": base64("other") })), denied);
    // The rules hold for locks and elections, which are keys.
    let name = |name: &str| json!({ "name": base64(name) });
    assert_eq!(told(&member, &bob, "/v3/lock/lock", &name("jobs/nightly")).0, 0);
    assert_eq!(told(&member, &bob, "/v3/lock/lock", &name("other")), denied);
    assert_eq!(told(&member, &bob, "/v3/election/campaign", &name("other")), denied);
    assert_eq!(told(&member, &bob, "/v3/election/leader", &name("other")), denied);
    // What is of root is of nobody else.
    assert_eq!(told(&member, &bob, "/v3/auth/user/add", &json!({ "name": "eve" })), denied);
    assert_eq!(told(&member, &bob, "/v3/auth/user/list", &json!({})), denied);
    assert_eq!(told(&member, &bob, "/v3/auth/disable", &json!({})), denied);
    assert_eq!(told(&member, &bob, "/v3/auth/status", &json!({})), denied);
    let own = json!({ "name": "bob", "password": "two" });
    assert_eq!(told(&member, &bob, "/v3/auth/user/changepw", &own).0, 0);
    // That made the token void, as one that nobody gave is.
    let void = (16, "etcdserver: invalid auth token".to_owned());
    assert_eq!(told(&member, &bob, "/v3/kv/put", &key("jobs/a")), void);
    assert_eq!(told(&member, "1234", "/v3/kv/put", &key("jobs/a")), void);
    // Whoever has such a one can ask for another, and see how the members are.
    let asked = json!({ "name": "bob", "password": "two" });
    assert_eq!(told(&member, &bob, "/v3/auth/authenticate", &asked).0, 0);
    assert_eq!(told(&member, &bob, "/v3/maintenance/status", &json!({})).0, 0);
    assert_eq!(told(&member, &bob, "/v3/cluster/member/list", &json!({})), void);
    let nobody = (3, "etcdserver: user name is empty".to_owned());
    assert_eq!(told(&member, "", "/v3/kv/put", &key("jobs/a")), nobody);
    assert_eq!(told(&member, "", "/v3/lease/grant", &json!({ "TTL": 9 })), nobody);
    assert_eq!(told(&member, "", "/v3/auth/status", &json!({})), nobody);
    assert_eq!(told(&member, "", "/v3/cluster/member/list", &json!({})), nobody);
    let root = token(&member, "root", "secret");
    assert_eq!(told(&member, &root, "/v3/auth/status", &json!({})).0, 0);
    for (name, password) in [("bob", "one"), ("eve", ""), ("root", "")] {
        let asked = json!({ "name": name, "password": password });
        let (code, words) = told(&member, "", "/v3/auth/authenticate", &asked);
        assert_eq!((code, words.contains("authentication failed")), (3, true), "{words}");
    }
    assert!(metric(member.address, "tenure_requests_refused_total{code=\"7\"}") >= 8);
    assert!(metric(member.address, "tenure_requests_refused_total{code=\"16\"}") >= 2);
    let bob = token(&member, "bob", "two");
    assert_eq!(told(&member, &bob, "/v3/kv/put", &key("jobs/a")).0, 0);
    assert_eq!(told(&member, &bob, "/v3/cluster/member/list", &json!({})).0, 0);
}

/// As etcd has it since its releases of March 2026.
#[test]
fn compaction_and_leases_of_others_need_rights() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    closed(&member);
    let (bob, root) = (token(&member, "bob", "one"), token(&member, "root", "secret"));
    let denied = (7, "etcdserver: permission denied".to_owned());
    let nobody = (3, "etcdserver: user name is empty".to_owned());
    let renewed = |token: &str, lease: &Value| {
        let path = "/v3/lease/keepalive";
        let (_, told) = post_as(token, member.address, path, lease).expect("an answer");
        let error = &told["error"];
        (error["code"].as_u64().unwrap_or(0), error["message"].as_str().unwrap_or("").to_owned())
    };
    let lease = |token: &str, key: &str| {
        let asked = json!({ "TTL": 60 });
        let (_, granted) = post_as(token, member.address, "/v3/lease/grant", &asked).expect("one");
        let put = json!({ "key": base64(key), "lease": granted["ID"] });
        assert_eq!(told(&member, token, "/v3/kv/put", &put).0, 0);
        json!({ "ID": granted["ID"] })
    };
    let own = lease(&bob, "jobs/a");
    assert_eq!(renewed(&bob, &own).0, 0);
    assert_eq!(told(&member, &bob, "/v3/lease/leases", &json!({})).0, 0);
    let others = lease(&root, "other");
    assert_eq!(renewed(&bob, &others), denied);
    assert_eq!(told(&member, &bob, "/v3/lease/leases", &json!({})), denied);
    let keys = json!({ "ID": others["ID"], "keys": true });
    assert_eq!(told(&member, &bob, "/v3/lease/timetolive", &keys), denied);
    assert_eq!(told(&member, &bob, "/v3/lease/timetolive", &others).0, 0);
    let compaction = json!({ "revision": "2" });
    assert_eq!(told(&member, &bob, "/v3/kv/compaction", &compaction), denied);
    assert_eq!(told(&member, "", "/v3/kv/compaction", &compaction), nobody);
    assert_eq!(renewed("", &own), nobody);
    assert_eq!(told(&member, "", "/v3/lease/leases", &json!({})), nobody);
    for (path, asked) in [("lease/leases", json!({})), ("kv/compaction", compaction)] {
        assert_eq!(told(&member, &root, &format!("/v3/{path}"), &asked).0, 0, "{path}");
    }
    assert_eq!(renewed(&root, &own).0, 0);
}

#[test]
fn a_token_expires_and_rights_outlive_a_crash() {
    let files = Files::alone();
    let mut file = OpenOptions::new().append(true).open(&files.files[0]).expect("a file");
    writeln!(file, "auth-token-ttl = 1").expect("room");
    let member = Member::start(&files.files[0]);
    closed(&member);
    let bob = token(&member, "bob", "one");
    let asked = key("jobs/a");
    // Each use has it count for another second.
    let void = loop {
        std::thread::sleep(std::time::Duration::from_millis(1100));
        match told(&member, &bob, "/v3/kv/put", &asked) {
            (0, _) => {}
            other => break other,
        }
    };
    assert_eq!(void, (16, "etcdserver: invalid auth token".to_owned()));
    member.kill();
    let member = Member::start(&files.files[0]);
    let put = || post(member.address, "/v3/kv/put", &asked);
    eventually("it has taken its log", || put().is_some_and(|it| it.0 != 503));
    assert_eq!(told(&member, "", "/v3/kv/put", &asked).0, 3);
    let bob = token(&member, "bob", "one");
    assert_ne!(told(&member, &bob, "/v3/kv/put", &key("other")).0, 0);
}

#[test]
fn etcdctl_makes_users_and_is_one() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    if etcdctl(&member).is_none() {
        return;
    }
    let say = |user: &str, words: &[&str]| {
        let mut command = etcdctl(&member).expect("etcdctl");
        if !user.is_empty() {
            command.args(["--user", user]);
        }
        let output = command.args(words).stdin(Stdio::null()).output().expect("etcdctl");
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    for words in [
        &["user", "add", "root:secret"][..],
        &["user", "add", "bob:one"],
        &["role", "add", "jobs"],
        &["role", "grant-permission", "jobs", "readwrite", "jobs/", "--prefix=true"],
        &["user", "grant-role", "bob", "jobs"],
        &["auth", "enable"],
    ] {
        let (done, text) = say("", words);
        assert!(done, "{words:?}: {text}");
    }
    assert_eq!(say("bob:one", &["put", "jobs/a", "1"]), (true, "OK\n".into()));
    assert_eq!(say("bob:one", &["lock", "jobs/nightly", "echo", "in"]), (true, "in\n".into()));
    for (user, words, why) in [
        ("bob:one", &["put", "b", "1"][..], "permission denied"),
        ("bob:one", &["get", "", "--from-key"], "permission denied"),
        ("bob:one", &["lock", "other", "true"], "permission denied"),
        ("bob:one", &["watch", "other"], "permission denied"),
        ("bob:one", &["snapshot", "save", "/dev/null"], "permission denied"),
        ("bob:two", &["get", "jobs/a"], "authentication failed"),
        ("", &["get", "jobs/a"], "user name is empty"),
    ] {
        let (done, text) = say(user, words);
        assert!(!done && text.contains(why), "{user} {words:?}: {text}");
    }
    assert_eq!(say("root:secret", &["user", "list"]), (true, "bob\nroot\n".into()));
    let (_, role) = say("bob:one", &["role", "get", "jobs"]);
    assert!(role.contains("[jobs/, jobs0) (prefix jobs/)"), "{role}");
    let (done, text) = say("root:secret", &["role", "delete", "root"]);
    assert!(!done && text.contains("invalid auth management"), "{text}");
    assert!(say("root:secret", &["auth", "disable"]).0);
    assert!(say("", &["get", "jobs/a"]).0);
}
