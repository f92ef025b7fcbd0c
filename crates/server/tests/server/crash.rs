//! Members that crash and restart.

use serde_json::json;

use crate::member::{Files, Member, base64};

#[test]
fn acknowledged_writes_survive_a_crash() {
    let files = Files::single();
    let mut acknowledged = Vec::new();
    for session in 0..4 {
        let member = Member::start(&files.files[0]);
        for number in &acknowledged {
            let key = format!("k{number}");
            assert_eq!(member.get(&key), Some(base64(&key)), "in session {session}");
        }
        // Another client writes at the same time, and is interrupted.
        let address = member.address;
        let writer = std::thread::spawn(move || {
            (0..)
                .take_while(|number| {
                    let key = base64(&format!("w{number}"));
                    let body = json!({ "key": key, "value": key });
                    crate::member::post(address, "/v3/kv/put", &body).is_some_and(|it| it.0 == 200)
                })
                .count()
        });
        for number in session * 5..session * 5 + 5 {
            let key = format!("k{number}");
            member.put(&key, &key);
            acknowledged.push(number);
        }
        member.kill();
        let written = writer.join().expect("a writer");
        let member = Member::start(&files.files[0]);
        for number in 0..written {
            let key = format!("w{number}");
            assert_eq!(member.get(&key), Some(base64(&key)), "written before the kill");
        }
        member.kill();
    }
}

#[test]
fn leases_and_claims_survive_a_crash() {
    let files = Files::single();
    let member = Member::start(&files.files[0]);
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 2 }));
    let long = member.ask("/v3/lease/grant", &json!({ "TTL": 100 }));
    let lock = |lease: &serde_json::Value| json!({ "name": base64("jobs"), "lease": lease["ID"] });
    let held = member.ask("/v3/lock/lock", &lock(&lease));
    member.kill();
    let member = Member::start(&files.files[0]);
    let again = member.ask("/v3/lock/lock", &lock(&lease));
    assert_eq!(again["key"], held["key"], "the same claim");
    // The first lease is not renewed any more, so the second claim acquires the lock.
    member.ask("/v3/lock/lock", &lock(&long));
    let left = member.ask("/v3/lease/timetolive", &json!({ "ID": lease["ID"] }));
    assert_eq!(left["TTL"], "-1");
    let left = member.ask("/v3/lease/timetolive", &json!({ "ID": long["ID"], "keys": true }));
    assert_eq!(left["keys"].as_array().map(Vec::len), Some(1), "{left}");
    member.terminate();
}
