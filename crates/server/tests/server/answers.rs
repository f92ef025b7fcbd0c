//! Answers that are those of etcd, where it matters for whoever counts on them.

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
