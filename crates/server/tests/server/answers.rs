//! Answers that are those of etcd, where it matters for whoever counts on them.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::member::{Files, Member, base64, post};

/// Whether what is compared of a key holds.
fn holds(member: &Member, key: &str, compare: &Value) -> bool {
    let mut compare = compare.clone();
    compare["key"] = base64(key).into();
    let told = member.ask("/v3/kv/txn", &json!({ "compare": [compare] }));
    told["succeeded"] == true
}

#[test]
fn a_name_that_no_enum_has_is_refused_and_does_nothing() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let put = json!({ "request_put": { "key": base64("a") } });
    let compare = json!({ "key": base64("a"), "target": "MODREV", "version": "0" });
    let txn = json!({ "compare": [compare], "success": [put] });
    let (status, told) = post(member.address, "/v3/kv/txn", &txn).expect("an answer");
    assert_eq!((status, &told["code"]), (400, &json!(3)), "{told}");
    assert_eq!(member.get("a"), None);
}

#[test]
fn numbers_of_another_target_do_not_count_and_there_are_some_below_zero() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
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
fn whoever_proclaims_leads_and_does_so_no_longer_than_with_its_lease() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let proclaim = |leader: &Value| {
        let asked = json!({ "leader": leader, "value": base64("2") });
        post(member.address, "/v3/election/proclaim", &asked).expect("an answer")
    };
    for rev in ["-1", "0", "1"] {
        let (status, told) = proclaim(&json!({ "key": base64("e/1"), "rev": rev }));
        assert_eq!((status, &told["message"]), (500, &json!("election: not leader")), "{rev}");
    }
    assert_eq!(member.get("e/1"), None);
    let asked = json!({ "name": base64("e"), "value": base64("1") });
    let mut leader = member.ask("/v3/election/campaign", &asked)["leader"].take();
    let lease = leader["lease"].take();
    let (status, told) = proclaim(&leader);
    assert_eq!(status, 200, "{told}");
    let found = member.ask("/v3/kv/range", &json!({ "key": leader["key"] }));
    assert_eq!(
        (&found["kvs"][0]["value"], &found["kvs"][0]["lease"]),
        (&json!(base64("2")), &lease)
    );
}

#[test]
fn a_transaction_says_what_it_does_and_its_answer_what_etcd_says() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let txn = |success: &Value| {
        let asked = json!({ "success": [success] });
        post(member.address, "/v3/kv/txn", &asked).expect("an answer")
    };
    for nothing in [json!({}), json!({ "request_txn": { "failure": [{}] } })] {
        let (status, told) = txn(&nothing);
        assert_eq!((status, &told["code"]), (400, &json!(3)), "{nothing}");
        assert_eq!(told["message"], "etcdserver: key not found");
    }
    let (_, told) = txn(&json!({ "request_txn": {} }));
    assert_eq!(told["responses"][0]["response_txn"]["header"], json!({}), "{told}");
}

#[test]
fn no_key_has_a_revision_below_zero() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
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
fn a_path_has_its_method_and_another_is_not_allowed() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    for (method, path, status) in [
        ("HEAD", "/metrics", 200),
        ("GET", "/v3/kv/range", 405),
        ("PUT", "/v3beta/kv/range", 405),
        ("POST", "/health", 405),
        ("HEAD", "/version", 405),
        ("GET", "/v3/kv/other", 404),
    ] {
        let mut stream = TcpStream::connect(member.address).expect("it listens");
        write!(stream, "{method} {path} HTTP/1.0\r\n\r\n").expect("it reads");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("an answer");
        let code = told.split(' ').nth(1).and_then(|code| code.parse().ok());
        assert_eq!(code, Some(status), "{method} {path}");
    }
    let put = json!({ "key": base64("a"), "value": base64("1") });
    let (status, _) = post(member.address, "/v3beta/kv/put", &put).expect("an answer");
    assert_eq!((status, member.get("a")), (200, Some(base64("1"))));
}
