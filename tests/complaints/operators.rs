//! Tests of complaints 19 and 20: users with permissions, and locks that an operator takes away.

use std::process::Command;

use serde_json::json;

use crate::server::{Server, is_running, post, servers};

/// Gives a user the permission to read and write the keys of a lock. The user may then call `Lock`
/// for this lock, without any other permission.
#[test]
fn complaint_19_user_with_permission_may_call_lock() {
    let server = Server::tenure();
    // Permission to read and write all keys below `a/`: the range from `a/` to `a0`.
    let permission = json!({ "name": "locks", "perm":
        { "permType": "READWRITE", "key": "YS8=", "range_end": "YTA=" } });
    for (path, body) in [
        ("user/add", json!({ "name": "root", "password": "secret" })),
        ("user/grant", json!({ "user": "root", "role": "root" })),
        ("user/add", json!({ "name": "bob", "password": "one" })),
        ("role/add", json!({ "name": "locks" })),
        ("role/grant", permission),
        ("user/grant", json!({ "user": "bob", "role": "locks" })),
        ("enable", json!({})),
    ] {
        let (status, response) = server.post(&format!("/v3/auth/{path}"), &body);
        assert_eq!(status, 200, "{path}: {response}");
    }
    assert_eq!(server.run("lock --user bob:one a", "exit 3"), Some(3));
    assert_eq!(server.run("lock --user bob:one b", "exit 3"), Some(120), "not permitted");
    let named = json!({ "name": "bob", "password": "one" });
    let (_, response) = server.post("/v3/auth/authenticate", &named);
    let token = response["token"].as_str().expect("a token").to_owned();
    let call = |path: &str, body| server.post_as(&token, path, &body);
    let lease = call("/v3/lease/grant", json!({ "TTL": 600 })).1["ID"].clone();
    let (status, held) = call("/v3/lock/lock", json!({ "name": "YQ==", "lease": lease }));
    assert_eq!(status, 200, "{held}");
    let (status, response) = call("/v3/lock/unlock", json!({ "key": held["key"] }));
    assert_eq!(status, 200, "{response}");
    // `b` is the lock of other users.
    assert_ne!(call("/v3/lock/lock", json!({ "name": "Yg==", "lease": lease })).0, 200);
    let anonymous = post(server.address(), "/v3/lock/lock", &json!({ "name": "YQ==" }));
    assert_ne!(anonymous.expect("a response").0, 200);
}

#[test]
fn complaint_20_operator_takes_a_lock_away() {
    for server in servers() {
        let (holder, id) = server.running("lock --ttl 600s a", "echo $$; exec sleep 600");
        let broken = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["locks", "break", "a", "--yes", "--endpoints", &server.url()])
            .output()
            .expect("the command starts");
        assert!(broken.status.success(), "{}: {broken:?}", server.name());
        let (status, message) = holder.wait();
        assert_eq!(status, Some(121), "{}: {message}", server.name());
        assert!(!is_running(&id), "{}: the command has ended", server.name());
        assert_eq!(server.run("lock --timeout 150s a", "exit 3"), Some(3));
    }
}
