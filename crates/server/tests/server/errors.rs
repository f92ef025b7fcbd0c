//! Codes and messages of errors. Clients of etcd compare them literally, so the test does not take
//! them from the source.

use serde_json::{Value, json};

use crate::access::result;
use crate::member::{Member, base64};

#[test]
fn errors_have_codes_and_messages_of_etcd() {
    let (_files, member) = Member::single();
    // The revisions 2 to 4, of which the first is compacted.
    ["1", "2", "3"].iter().for_each(|value| drop(member.put("a", value)));
    member.ask("/v3/kv/compaction", &json!({ "revision": "3" }));
    member.ask("/v3/lease/grant", &json!({ "ID": 7, "TTL": 600 }));
    for (path, body) in [
        ("user/add", json!({ "name": "bob", "password": "one" })),
        ("role/add", json!({ "name": "jobs" })),
    ] {
        member.ask(&format!("/v3/auth/{path}"), &body);
    }
    for (path, body, code, message) in data_errors().into_iter().chain(service_errors()) {
        let found = result(&member, "", path, &body);
        assert_eq!(found, (code, message.to_owned()), "{path} {body}");
    }
}

type Case = (&'static str, Value, u64, &'static str);

/// Returns rejected requests for keys and leases.
fn data_errors() -> Vec<Case> {
    let (key, none) = (base64("a"), base64("none"));
    let put = json!({ "request_put": { "key": key, "value": key } });
    let range = json!({ "request_range": { "key": key } });
    let no_key = "etcdserver: key is not provided";
    let compacted = "etcdserver: mvcc: required revision has been compacted";
    let future = "etcdserver: mvcc: required revision is a future revision";
    let no_lease = "etcdserver: requested lease not found";
    vec![
        ("/v3/kv/range", json!({}), 3, no_key),
        ("/v3/kv/put", json!({}), 3, no_key),
        ("/v3/kv/deleterange", json!({}), 3, no_key),
        ("/v3/kv/range", json!({ "key": key, "revision": "2" }), 11, compacted),
        ("/v3/kv/range", json!({ "key": key, "revision": "99" }), 11, future),
        ("/v3/kv/compaction", json!({ "revision": "3" }), 11, compacted),
        ("/v3/kv/compaction", json!({ "revision": "99" }), 11, future),
        ("/v3/kv/put", json!({ "key": key, "lease": 77 }), 5, no_lease),
        (
            "/v3/kv/put",
            json!({ "key": key, "value": key, "ignore_value": true }),
            3,
            "etcdserver: value is provided",
        ),
        (
            "/v3/kv/put",
            json!({ "key": key, "lease": 7, "ignore_lease": true }),
            3,
            "etcdserver: lease is provided",
        ),
        (
            "/v3/kv/put",
            json!({ "key": none, "ignore_value": true }),
            3,
            "etcdserver: key not found",
        ),
        (
            "/v3/kv/txn",
            json!({ "success": [put, put] }),
            3,
            "etcdserver: duplicate key given in txn request",
        ),
        (
            "/v3/kv/txn",
            json!({ "success": vec![range; 129] }),
            3,
            "etcdserver: too many operations in txn request",
        ),
        ("/v3/lease/grant", json!({ "ID": 7, "TTL": 60 }), 9, "etcdserver: lease already exists"),
        ("/v3/lease/grant", json!({ "TTL": "9000000001" }), 11, "etcdserver: too large lease TTL"),
        ("/v3/lease/revoke", json!({ "ID": 77 }), 5, no_lease),
        // The services for locks and elections have no codes of their own.
        ("/v3/lock/lock", json!({ "name": key, "lease": 77 }), 2, no_lease),
        ("/v3/lock/unlock", json!({}), 2, no_key),
    ]
}

/// Returns rejected requests for elections, users, roles and members.
fn service_errors() -> Vec<Case> {
    let name = base64("office");
    let stale = json!({ "name": name, "key": base64("office/7"), "rev": 2, "lease": 7 });
    let no_leader_key = r#""leader" field must be provided"#;
    let jobs = json!({ "role": "jobs", "key": base64("a") });
    vec![
        (
            "/v3/election/campaign",
            json!({ "name": name, "lease": 77 }),
            2,
            "etcdserver: requested lease not found",
        ),
        ("/v3/election/leader", json!({ "name": name }), 2, "election: no leader"),
        ("/v3/election/proclaim", json!({ "leader": stale }), 2, "election: not leader"),
        ("/v3/election/proclaim", json!({}), 2, no_leader_key),
        ("/v3/election/resign", json!({}), 2, no_leader_key),
        ("/v3/auth/user/add", json!({ "password": "x" }), 3, "etcdserver: user name is empty"),
        (
            "/v3/auth/user/add",
            json!({ "name": "bob", "password": "x" }),
            9,
            "etcdserver: user name already exists",
        ),
        ("/v3/auth/user/get", json!({ "name": "eve" }), 9, "etcdserver: user name not found"),
        ("/v3/auth/role/add", json!({}), 3, "etcdserver: role name is empty"),
        ("/v3/auth/role/add", json!({ "name": "jobs" }), 9, "etcdserver: role name already exists"),
        ("/v3/auth/role/get", json!({ "role": "none" }), 9, "etcdserver: role name not found"),
        ("/v3/auth/role/grant", json!({ "name": "jobs" }), 3, "etcdserver: permission not given"),
        ("/v3/auth/role/revoke", jobs, 9, "etcdserver: permission is not granted to the role"),
        (
            "/v3/auth/user/revoke",
            json!({ "name": "bob", "role": "jobs" }),
            9,
            "etcdserver: role is not granted to the user",
        ),
        (
            "/v3/auth/authenticate",
            json!({ "name": "bob", "password": "one" }),
            9,
            "etcdserver: authentication is not enabled",
        ),
        ("/v3/auth/enable", json!({}), 9, "etcdserver: root user does not exist"),
        ("/v3/cluster/member/remove", json!({ "ID": "1" }), 5, "etcdserver: member not found"),
    ]
}
