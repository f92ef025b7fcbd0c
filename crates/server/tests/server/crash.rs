//! Members that crash and restart.

use serde_json::{Value, json};

use crate::member::{Files, Member, base64, post};

#[test]
fn acknowledged_writes_survive_a_crash() {
    let files = Files::of(1);
    let mut acknowledged = Vec::new();
    for session in 0..4 {
        let member = files.start(0);
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
                    post(address, "/v3/kv/put", &body).is_some_and(|it| it.0 == 200)
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
        let member = files.start(0);
        for number in 0..written {
            let key = format!("w{number}");
            assert_eq!(member.get(&key), Some(base64(&key)), "written before the kill");
        }
        member.kill();
    }
}

#[test]
fn leases_and_claims_survive_a_crash() {
    let (files, member) = Member::single();
    let grant = |ttl: u32| member.ask("/v3/lease/grant", &json!({ "TTL": ttl }));
    let lock = |name: &str, lease: &Value| json!({ "name": base64(name), "lease": lease["ID"] });
    let long = grant(600);
    let held = member.ask("/v3/lock/lock", &lock("kept", &long));
    // A busy machine may take longer for both requests than this lease lasts.
    let short = (0..60).map(|_| grant(2)).find(|short| {
        let (status, _) = member.decided("/v3/lock/lock", &lock("jobs", short));
        status == 200
    });
    let short = short.expect("a lock");
    member.kill();
    let member = files.start(0);
    let again = member.ask("/v3/lock/lock", &lock("kept", &long));
    assert_eq!(again["key"], held["key"], "the same claim");
    // The short lease is not renewed, so the other claim acquires the lock.
    member.ask("/v3/lock/lock", &lock("jobs", &long));
    let left = member.ask("/v3/lease/timetolive", &json!({ "ID": short["ID"] }));
    assert_eq!(left["TTL"], "-1");
    let left = member.ask("/v3/lease/timetolive", &json!({ "ID": long["ID"], "keys": true }));
    assert_eq!(left["keys"].as_array().map(Vec::len), Some(2), "{left}");
    member.terminate();
}
