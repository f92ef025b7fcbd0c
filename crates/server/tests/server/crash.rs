//! Members that are killed and start again.

use serde_json::json;

use crate::member::{Files, Member, base64};

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let files = Files::alone();
    let mut acknowledged = Vec::new();
    for life in 0..4 {
        let member = Member::start(&files.files[0]);
        for number in &acknowledged {
            let key = format!("k{number}");
            assert_eq!(member.get(&key), Some(base64(&key)), "in life {life}");
        }
        // Others write at the same time, and are cut off in the middle.
        let address = member.address;
        let writer = std::thread::spawn(move || {
            (0..)
                .take_while(|number| {
                    let key = base64(&format!("w{number}"));
                    let asked = json!({ "key": key, "value": key });
                    crate::member::post(address, "/v3/kv/put", &asked).is_some_and(|it| it.0 == 200)
                })
                .count()
        });
        for number in life * 5..life * 5 + 5 {
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
fn leases_and_claims_outlive_a_kill() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 2 }));
    let long = member.ask("/v3/lease/grant", &json!({ "TTL": 100 }));
    let lock = |lease: &serde_json::Value| json!({ "name": base64("jobs"), "lease": lease["ID"] });
    let held = member.ask("/v3/lock/lock", &lock(&lease));
    member.kill();
    let member = Member::start(&files.files[0]);
    let again = member.ask("/v3/lock/lock", &lock(&lease));
    assert_eq!(again["key"], held["key"], "the same claim");
    // It is not renewed any more, so that the next one comes in.
    member.ask("/v3/lock/lock", &lock(&long));
    let left = member.ask("/v3/lease/timetolive", &json!({ "ID": lease["ID"] }));
    assert_eq!(left["TTL"], "-1");
    let left = member.ask("/v3/lease/timetolive", &json!({ "ID": long["ID"], "keys": true }));
    assert_eq!(left["keys"].as_array().map(Vec::len), Some(1), "{left}");
    member.terminate();
}
