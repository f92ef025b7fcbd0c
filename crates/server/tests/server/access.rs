//! Users and roles: which requests are allowed, and the errors of denied requests.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::etcdctl::etcdctl;
use crate::limits::metric;
use crate::member::{
    Member, TIME_LIMIT, base64, eventually, follow, follow_with, get, post, post_as,
};
use crate::three::start_with_timeouts;

/// Sends a request with `token`. Returns the gRPC code of the response, which is 0 after success,
/// and the message of the error.
pub(crate) fn result(member: &Member, token: &str, path: &str, body: &Value) -> (u64, String) {
    let (status, response) = post_as(token, member.address, path, body).expect("a response");
    let (code, words) = (&response["code"], response["message"].as_str().unwrap_or_default());
    assert_eq!(status == 200, code.is_null(), "{status} {response}");
    (code.as_u64().unwrap_or(0), words.to_owned())
}

/// Creates the user root with the password `secret`, and the user `bob` with the password `one`.
/// `rights` is the permission of `bob` on the keys below `jobs/`: `READ` or `READWRITE`. Then
/// enables authentication.
pub(crate) fn enable_users(member: &Member, rights: &str) {
    let (key, end) = (base64("jobs/"), base64("jobs0"));
    let span = json!({ "permType": rights, "key": key, "range_end": end });
    for (path, body) in [
        ("user/add", json!({ "name": "root", "password": "secret" })),
        ("user/add", json!({ "name": "bob", "password": "one" })),
        ("user/grant", json!({ "user": "root", "role": "root" })),
        ("role/add", json!({ "name": "jobs" })),
        ("role/grant", json!({ "name": "jobs", "perm": span })),
        ("user/grant", json!({ "user": "bob", "role": "jobs" })),
        ("enable", json!({})),
    ] {
        member.ask(&format!("/v3/auth/{path}"), &body);
    }
}

pub(crate) fn token(member: &Member, name: &str, password: &str) -> String {
    let body = json!({ "name": name, "password": password });
    let answer = member.ask("/v3/auth/authenticate", &body);
    answer["token"].as_str().expect("a token").to_owned()
}

fn key(key: &str) -> Value {
    json!({ "key": base64(key), "value": base64("1") })
}

#[test]
fn denied_requests_are_rejected_by_code_and_counted() {
    let (_files, member) = Member::single();
    enable_users(&member, "READWRITE");
    let bob = token(&member, "bob", "one");
    let denied = (7, "etcdserver: permission denied".to_owned());
    assert_eq!(result(&member, &bob, "/v3/kv/put", &key("jobs/a")).0, 0);
    assert_eq!(result(&member, &bob, "/v3/kv/put", &key("other")), denied);
    assert_eq!(result(&member, &bob, "/v3/kv/range", &json!({ "key": base64("other") })), denied);
    // Locks and elections consist of keys, so the same rights apply.
    let name = |name: &str| json!({ "name": base64(name) });
    assert_eq!(result(&member, &bob, "/v3/lock/lock", &name("jobs/nightly")).0, 0);
    assert_eq!(result(&member, &bob, "/v3/lock/lock", &name("other")), denied);
    assert_eq!(result(&member, &bob, "/v3/election/campaign", &name("other")), denied);
    assert_eq!(result(&member, &bob, "/v3/election/leader", &name("other")), denied);
    // Only root may administer users.
    assert_eq!(result(&member, &bob, "/v3/auth/user/add", &json!({ "name": "eve" })), denied);
    assert_eq!(result(&member, &bob, "/v3/auth/user/list", &json!({})), denied);
    assert_eq!(result(&member, &bob, "/v3/auth/disable", &json!({})), denied);
    assert_eq!(result(&member, &bob, "/v3/auth/status", &json!({})), denied);
    let own = json!({ "name": "bob", "password": "two" });
    assert_eq!(result(&member, &bob, "/v3/auth/user/changepw", &own).0, 0);
    // The new password made the token invalid, like a forged one.
    let void = (16, "etcdserver: invalid auth token".to_owned());
    assert_eq!(result(&member, &bob, "/v3/kv/put", &key("jobs/a")), void);
    assert_eq!(result(&member, "1234", "/v3/kv/put", &key("jobs/a")), void);
    // An invalid token does not prevent authentication and status requests.
    let body = json!({ "name": "bob", "password": "two" });
    assert_eq!(result(&member, &bob, "/v3/auth/authenticate", &body).0, 0);
    assert_eq!(result(&member, &bob, "/v3/maintenance/status", &json!({})).0, 0);
    assert_eq!(result(&member, &bob, "/v3/cluster/member/list", &json!({})), void);
    let unauthenticated = (3, "etcdserver: user name is empty".to_owned());
    assert_eq!(result(&member, "", "/v3/kv/put", &key("jobs/a")), unauthenticated);
    assert_eq!(result(&member, "", "/v3/lease/grant", &json!({ "TTL": 9 })), unauthenticated);
    assert_eq!(result(&member, "", "/v3/auth/status", &json!({})), unauthenticated);
    assert_eq!(result(&member, "", "/v3/cluster/member/list", &json!({})), unauthenticated);
    assert_eq!(result(&member, "", "/v3/maintenance/alarm", &json!({})), unauthenticated);
    let root = token(&member, "root", "secret");
    assert_eq!(result(&member, &root, "/v3/auth/status", &json!({})).0, 0);
    for (name, password) in [("bob", "one"), ("eve", ""), ("root", "")] {
        let body = json!({ "name": name, "password": password });
        let (code, words) = result(&member, "", "/v3/auth/authenticate", &body);
        assert_eq!((code, words.contains("authentication failed")), (3, true), "{words}");
    }
    assert!(metric(member.address, "tenure_requests_rejected_total{code=\"7\"}") >= 8);
    assert!(metric(member.address, "tenure_requests_rejected_total{code=\"16\"}") >= 2);
    let bob = token(&member, "bob", "two");
    assert_eq!(result(&member, &bob, "/v3/kv/put", &key("jobs/a")).0, 0);
    assert_eq!(result(&member, &bob, "/v3/cluster/member/list", &json!({})).0, 0);
    assert_eq!(result(&member, &bob, "/v3/maintenance/alarm", &json!({})).0, 0);
}

#[test]
fn only_root_may_change_any_alarm() {
    let (_files, member) = Member::single();
    enable_users(&member, "READWRITE");
    let (bob, root) = (token(&member, "bob", "one"), token(&member, "root", "secret"));
    let path = "/v3/maintenance/alarm";
    for alarm in ["NOSPACE", "CORRUPT", "NONE"] {
        for action in ["ACTIVATE", "DEACTIVATE"] {
            let change = json!({ "action": action, "alarm": alarm });
            let denied = (7, "etcdserver: permission denied".to_owned());
            assert_eq!(result(&member, &bob, path, &change), denied, "{change}");
            let unauthenticated = (3, "etcdserver: user name is empty".to_owned());
            assert_eq!(result(&member, "", path, &change), unauthenticated, "{change}");
        }
        let clear = json!({ "action": "DEACTIVATE", "alarm": alarm });
        assert_eq!(result(&member, &root, path, &clear).0, 0, "{clear}");
    }
}

/// A user without the necessary rights cannot compact the store. The user also cannot renew a lease
/// to which another user has attached keys. etcd has enforced both rules since its releases of
/// March 2026.
#[test]
fn compaction_and_foreign_leases_require_rights() {
    let (_files, member) = Member::single();
    enable_users(&member, "READWRITE");
    let (bob, root) = (token(&member, "bob", "one"), token(&member, "root", "secret"));
    let denied = (7, "etcdserver: permission denied".to_owned());
    let unauthenticated = (3, "etcdserver: user name is empty".to_owned());
    let renewed = |token: &str, lease: &Value| {
        let path = "/v3/lease/keepalive";
        let (_, response) = post_as(token, member.address, path, lease).expect("a response");
        let error = &response["error"];
        (error["code"].as_u64().unwrap_or(0), error["message"].as_str().unwrap_or("").to_owned())
    };
    let lease = |token: &str, key: &str| {
        let body = json!({ "TTL": 60 });
        let (_, granted) = post_as(token, member.address, "/v3/lease/grant", &body).expect("one");
        let put = json!({ "key": base64(key), "lease": granted["ID"] });
        assert_eq!(result(&member, token, "/v3/kv/put", &put).0, 0);
        json!({ "ID": granted["ID"] })
    };
    let own = lease(&bob, "jobs/a");
    assert_eq!(renewed(&bob, &own).0, 0);
    assert_eq!(result(&member, &bob, "/v3/lease/leases", &json!({})).0, 0);
    let others = lease(&root, "other");
    assert_eq!(renewed(&bob, &others), denied);
    assert_eq!(result(&member, &bob, "/v3/lease/leases", &json!({})), denied);
    let keys = json!({ "ID": others["ID"], "keys": true });
    assert_eq!(result(&member, &bob, "/v3/lease/timetolive", &keys), denied);
    assert_eq!(result(&member, &bob, "/v3/lease/timetolive", &others).0, 0);
    let compaction = json!({ "revision": "2" });
    assert_eq!(result(&member, &bob, "/v3/kv/compaction", &compaction), denied);
    assert_eq!(result(&member, "", "/v3/kv/compaction", &compaction), unauthenticated);
    assert_eq!(renewed("", &own), unauthenticated);
    assert_eq!(result(&member, "", "/v3/lease/leases", &json!({})), unauthenticated);
    for (path, body) in [("lease/leases", json!({})), ("kv/compaction", compaction)] {
        assert_eq!(result(&member, &root, &format!("/v3/{path}"), &body).0, 0, "{path}");
    }
    assert_eq!(renewed(&root, &own).0, 0);
}

#[test]
fn denials_inside_streams_are_counted() {
    let (_files, member) = Member::single();
    enable_users(&member, "READ");
    let (bob, root) = (token(&member, "bob", "one"), token(&member, "root", "secret"));
    let ask = |path: &str, body: &Value| {
        let (status, response) = post_as(&root, member.address, path, body).expect("a response");
        assert_eq!(status, 200, "{path}: {response}");
        response
    };
    let denied = || metric(member.address, "tenure_requests_rejected_total{code=\"7\"}");
    let headers = [("authorization", &bob[..])];
    let open = |path: &str, body: &Value| follow_with(&headers, member.address, path, body);
    let watch = |key: &str| json!({ "create_request": { "key": base64(key) } });
    // The user loses the right to the key of this watch while the stream is open.
    let mut watched = open("/v3/watch", &watch("jobs/a"));
    assert_eq!(watched.next().expect("a response")["result"]["created"], true);
    let granted = ask("/v3/lease/grant", &json!({ "TTL": 60 }));
    let lease = json!({ "ID": granted["ID"] });
    ask("/v3/kv/put", &json!({ "key": base64("other"), "lease": granted["ID"] }));
    let mut expected = denied();
    for (path, body) in [
        ("/v3/lease/keepalive", lease),
        ("/v3/election/observe", json!({ "name": base64("other") })),
        ("/v3/watch", watch("other")),
    ] {
        let response = open(path, &body).next().expect("a response");
        assert!(response.to_string().contains("permission denied"), "{path}: {response}");
        expected += 1;
        assert_eq!(denied(), expected, "{path}");
    }
    ask("/v3/auth/user/revoke", &json!({ "name": "bob", "role": "jobs" }));
    ask("/v3/kv/put", &key("jobs/a"));
    assert_eq!(watched.next().expect("a response")["result"]["canceled"], true);
    assert_eq!(denied(), expected + 1, "a watch whose right was revoked");
}

#[test]
fn users_and_roles_are_read_and_deleted() {
    let (_files, member) = Member::single();
    enable_users(&member, "READWRITE");
    let (bob, root) = (token(&member, "bob", "one"), token(&member, "root", "secret"));
    let read = |token: &str, path: &str, body: Value| {
        let response = post_as(token, member.address, &format!("/v3/auth/{path}"), &body);
        let (status, response) = response.expect("a response");
        assert_eq!(status, 200, "{path} {body}: {response}");
        response
    };
    let (named, role) = (json!({ "name": "bob" }), json!({ "role": "jobs" }));
    let permission =
        json!({ "permType": "READWRITE", "key": base64("jobs/"), "range_end": base64("jobs0") });
    // A user may read itself and its roles.
    for token in [&bob, &root] {
        assert_eq!(read(token, "user/get", named.clone())["roles"], json!(["jobs"]));
        assert_eq!(read(token, "role/get", role.clone())["perm"], json!([permission]));
    }
    let denied = (7, "etcdserver: permission denied".to_owned());
    for (path, body) in [
        ("user/get", json!({ "name": "root" })),
        ("role/get", json!({ "role": "root" })),
        ("role/list", json!({})),
        ("role/delete", role.clone()),
        ("user/delete", named.clone()),
    ] {
        assert_eq!(result(&member, &bob, &format!("/v3/auth/{path}"), &body), denied, "{path}");
    }
    let roles = read(&root, "role/list", json!({}))["roles"].clone();
    assert!(roles.as_array().is_some_and(|it| it.contains(&json!("jobs"))), "{roles}");
    // Without its role, the user has no rights, but still exists.
    read(&root, "role/delete", role.clone());
    let roles = read(&root, "role/list", json!({}))["roles"].clone();
    assert!(!roles.to_string().contains("jobs"), "{roles}");
    let none = (9, "etcdserver: role name not found".to_owned());
    assert_eq!(result(&member, &root, "/v3/auth/role/get", &role), none);
    assert_eq!(result(&member, &root, "/v3/auth/role/delete", &role), none);
    assert_eq!(result(&member, &bob, "/v3/kv/put", &key("jobs/a")), denied);
    let roles = read(&root, "user/get", named.clone())["roles"].clone();
    assert!(!roles.to_string().contains("jobs"), "{roles}");
    read(&root, "user/delete", named.clone());
    let none = (9, "etcdserver: user name not found".to_owned());
    assert_eq!(result(&member, &root, "/v3/auth/user/get", &named), none);
    assert_eq!(result(&member, &root, "/v3/auth/user/delete", &named), none);
    assert_eq!(read(&root, "user/list", json!({}))["users"], json!(["root"]));
    let again = json!({ "name": "bob", "password": "one" });
    assert_eq!(result(&member, "", "/v3/auth/authenticate", &again).0, 3);
    assert_eq!(result(&member, &bob, "/v3/kv/put", &key("jobs/a")).0, 16, "its token is invalid");
    // Without root, no client could administer users.
    let lost = (3, "etcdserver: invalid auth management".to_owned());
    let root_user = json!({ "name": "root" });
    assert_eq!(result(&member, &root, "/v3/auth/user/delete", &root_user), lost);
}

#[test]
fn token_expires_and_rights_survive_a_crash() {
    let (files, member) = Member::configured("auth-token-ttl = 1");
    enable_users(&member, "READWRITE");
    let bob = token(&member, "bob", "one");
    let body = key("jobs/a");
    // Each use extends the token by another second.
    let until = Instant::now() + TIME_LIMIT;
    let void = loop {
        assert!(Instant::now() < until, "the token does not expire");
        std::thread::sleep(Duration::from_millis(1100));
        match result(&member, &bob, "/v3/kv/put", &body) {
            (0, _) => {}
            other => break other,
        }
    };
    assert_eq!(void, (16, "etcdserver: invalid auth token".to_owned()));
    member.kill();
    let member = files.start(0);
    let put = || post(member.address, "/v3/kv/put", &body);
    eventually("the member has recovered", || put().is_some_and(|it| it.0 != 503));
    assert_eq!(result(&member, "", "/v3/kv/put", &body).0, 3);
    let bob = token(&member, "bob", "one");
    assert_ne!(result(&member, &bob, "/v3/kv/put", &key("other")).0, 0);
}

#[test]
fn etcdctl_manages_and_authenticates_users() {
    let (_files, member) = Member::single();
    if etcdctl(&member).is_none() {
        return;
    }
    let run = |user: &str, words: &[&str]| {
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
        let (done, text) = run("", words);
        assert!(done, "{words:?}: {text}");
    }
    assert_eq!(run("bob:one", &["put", "jobs/a", "1"]), (true, "OK\n".into()));
    assert_eq!(run("bob:one", &["lock", "jobs/nightly", "echo", "in"]), (true, "in\n".into()));
    for (user, words, why) in [
        ("bob:one", &["put", "b", "1"][..], "permission denied"),
        ("bob:one", &["get", "", "--from-key"], "permission denied"),
        ("bob:one", &["lock", "other", "true"], "permission denied"),
        ("bob:one", &["watch", "other"], "permission denied"),
        ("bob:one", &["snapshot", "save", "/dev/null"], "permission denied"),
        ("bob:two", &["get", "jobs/a"], "authentication failed"),
        ("", &["get", "jobs/a"], "user name is empty"),
    ] {
        let (done, text) = run(user, words);
        assert!(!done && text.contains(why), "{user} {words:?}: {text}");
    }
    assert_eq!(run("root:secret", &["user", "list"]), (true, "bob\nroot\n".into()));
    let (_, role) = run("bob:one", &["role", "get", "jobs"]);
    assert!(role.contains("[jobs/, jobs0) (prefix jobs/)"), "{role}");
    let (done, text) = run("root:secret", &["role", "delete", "root"]);
    assert!(!done && text.contains("invalid auth management"), "{text}");
    assert!(run("root:secret", &["auth", "disable"]).0);
    assert!(run("", &["get", "jobs/a"]).0);
}

/// The snapshot of a member may be older than the users. The member must not judge the rights of a
/// caller before it has applied all entries that were committed before its start.
#[test]
fn restarted_member_judges_no_rights_before_its_recovery() {
    let (files, members) = start_with_timeouts([3_000; 3]);
    for number in 0..25 {
        members[0].put(&format!("k/{number}"), "1");
    }
    enable_users(&members[0], "READWRITE");
    let bob = token(&members[0], "bob", "one");
    let root = token(&members[1], "root", "secret");
    assert_eq!(result(&members[1], &root, "/v3/kv/range", &key("k/1")).0, 0);
    members.into_iter().for_each(Member::kill);
    let second = files.start(1);
    let address = second.address;
    // A valid token stays valid, although this member does not know its user yet.
    let until = Instant::now() + TIME_LIMIT;
    let writer = std::thread::spawn(move || {
        loop {
            assert!(Instant::now() < until, "the member serves no writes");
            let response = post_as(&bob, address, "/v3/kv/put", &key("jobs/a"));
            if let Some((status, response)) = response.filter(|(status, _)| *status != 503) {
                return (status, response);
            }
        }
    });
    let all = json!({ "key": base64("k/"), "range_end": base64("k0"), "start_revision": "2" });
    let watching = std::thread::spawn(move || {
        follow(address, "/v3/watch", &json!({ "create_request": all })).next()
    });
    let releasing = std::thread::spawn(move || {
        let release = json!({ "key": base64("k/1"), "released": "2" });
        post(address, "/v3/kv/deleterange", &release)
    });
    let (status, state) = get(address, "/dashboard/state");
    let state: Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!((status, &state["access"]), (200, &json!("recovering")), "{state}");
    let response = watching.join().expect("a thread").expect("a response");
    assert!(response.to_string().contains("etcdserver: no leader"), "{response}");
    let (status, response) = releasing.join().expect("a thread").expect("a response");
    assert_eq!(status, 503, "{response}");
    let _first = files.start(0);
    let (status, response) = writer.join().expect("a thread");
    assert_eq!(status, 200, "{response}");
    let (_, state) = get(address, "/dashboard/state");
    assert!(state.contains(r#""access":"needs-user""#), "{state}");
}
