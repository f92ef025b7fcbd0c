//! Responses that must be equal to those of etcd, because clients rely on them.

use serde_json::{Value, json};

use crate::member::{Member, base64, exchange, post};

/// Returns true if the comparison `compare` holds for the key, according to a transaction.
fn holds(member: &Member, key: &str, compare: &Value) -> bool {
    let mut compare = compare.clone();
    compare["key"] = base64(key).into();
    let response = member.ask("/v3/kv/txn", &json!({ "compare": [compare] }));
    response["succeeded"] == true
}

#[test]
fn rejects_unknown_name_of_enum_value() {
    let (_files, member) = Member::single();
    let put = json!({ "request_put": { "key": base64("a") } });
    let compare = json!({ "key": base64("a"), "target": "MODREV", "version": "0" });
    let txn = json!({ "compare": [compare], "success": [put] });
    let (status, response) = post(member.address, "/v3/kv/txn", &txn).expect("a response");
    assert_eq!((status, &response["code"]), (400, &json!(3)), "{response}");
    assert_eq!(member.get("a"), None);
}

#[test]
fn comparison_ignores_other_targets_and_accepts_negative_numbers() {
    let (_files, member) = Member::single();
    member.put("a", "1");
    for (target, given) in [
        (json!("VERSION"), json!({ "lease": "1" })),
        (json!("CREATE"), json!({ "mod_revision": "2" })),
        (json!("MOD"), json!({ "create_revision": "2" })),
        (json!("LEASE"), json!({ "version": "1" })),
        (json!("VALUE"), json!({ "version": "1" })),
    ] {
        let mut compare = given.clone();
        compare["target"] = target.clone();
        assert_eq!(holds(&member, "a", &compare), target == "LEASE", "{compare}");
    }
    let fields = [
        ("VERSION", "version"),
        ("CREATE", "create_revision"),
        ("MOD", "mod_revision"),
        ("LEASE", "lease"),
    ];
    for (target, field) in fields {
        for (result, right) in
            [("EQUAL", false), ("NOT_EQUAL", true), ("GREATER", true), ("LESS", false)]
        {
            let compare = json!({ "target": target, "result": result, field: "-1" });
            for key in ["a", "nothing"] {
                assert_eq!(holds(&member, key, &compare), right, "{key} {compare}");
            }
        }
    }
}

#[test]
fn only_the_leader_proclaims_and_its_key_keeps_the_lease() {
    let (_files, member) = Member::single();
    let proclaim = |leader: &Value| {
        let body = json!({ "leader": leader, "value": base64("2") });
        post(member.address, "/v3/election/proclaim", &body).expect("a response")
    };
    for rev in ["-1", "0", "1"] {
        let (status, response) = proclaim(&json!({ "key": base64("e/1"), "rev": rev }));
        assert_eq!((status, &response["message"]), (500, &json!("election: not leader")), "{rev}");
    }
    assert_eq!(member.get("e/1"), None);
    let body = json!({ "name": base64("e"), "value": base64("1") });
    let mut leader = member.ask("/v3/election/campaign", &body)["leader"].take();
    let lease = leader["lease"].take();
    let (status, response) = proclaim(&leader);
    assert_eq!(status, 200, "{response}");
    let found = member.ask("/v3/kv/range", &json!({ "key": leader["key"] }));
    assert_eq!(
        (&found["kvs"][0]["value"], &found["kvs"][0]["lease"]),
        (&json!(base64("2")), &lease)
    );
}

#[test]
fn rejects_empty_operation_and_leaves_nested_header_empty() {
    let (_files, member) = Member::single();
    let txn = |success: &Value| {
        let body = json!({ "success": [success] });
        post(member.address, "/v3/kv/txn", &body).expect("a response")
    };
    for nothing in [json!({}), json!({ "request_txn": { "failure": [{}] } })] {
        let (status, response) = txn(&nothing);
        assert_eq!((status, &response["code"]), (400, &json!(3)), "{nothing}");
        assert_eq!(response["message"], "etcdserver: key not found");
    }
    let (_, response) = txn(&json!({ "request_txn": {} }));
    assert_eq!(response["responses"][0]["response_txn"]["header"], json!({}), "{response}");
}

#[test]
fn no_key_has_a_negative_revision() {
    let (_files, member) = Member::single();
    member.put("a", "1");
    let found = |field: &str| {
        let found = member.ask("/v3/kv/range", &json!({ "key": base64("a"), field: "-1" }));
        assert_eq!(found["count"], "1", "{found}");
        found["kvs"].as_array().map_or(0, Vec::len)
    };
    assert_eq!([found("max_mod_revision"), found("max_create_revision")], [0, 0]);
    assert_eq!([found("min_mod_revision"), found("min_create_revision")], [1, 1]);
}

#[test]
fn paths_reject_wrong_methods() {
    let (_files, member) = Member::single();
    for (method, path, status) in [
        ("HEAD", "/metrics", 200),
        ("GET", "/v3/kv/range", 405),
        ("PUT", "/v3beta/kv/range", 405),
        ("POST", "/health", 405),
        ("HEAD", "/version", 405),
        ("GET", "/v3/kv/other", 404),
    ] {
        let request = format!("{method} {path} HTTP/1.0\r\n\r\n");
        let response = exchange(member.address, &request).expect("a response");
        assert_eq!(response.status, status, "{method} {path}");
    }
    let put = json!({ "key": base64("a"), "value": base64("1") });
    let (status, _) = post(member.address, "/v3beta/kv/put", &put).expect("a response");
    assert_eq!((status, member.get("a")), (200, Some(base64("1"))));
}
