//! The services as JSON.

use serde_json::json;

use crate::member::{Files, Member, base64, eventually, post};

#[test]
fn everything_is_there_as_json() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    assert_eq!(member.put("a", "1")["header"]["revision"], "2");
    let found = member.ask("/v3/kv/range", &json!({ "key": base64("a") }));
    assert_eq!(found["kvs"][0]["value"], base64("1"), "{found}");
    assert_eq!(found["count"], "1");
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 30 }));
    assert_eq!(lease["TTL"], "30");
    let lock = json!({ "name": base64("jobs"), "lease": lease["ID"] });
    let locked = member.ask("/v3/lock/lock", &lock);
    let id: i64 = lease["ID"].as_str().expect("a number").parse().expect("a number");
    assert_eq!(locked["key"], base64(&format!("jobs/{id:x}")));
    // The holder leaves, and whoever waits is told at once.
    let other = member.ask("/v3/lease/grant", &json!({ "TTL": 30 }));
    let waiting = json!({ "name": base64("jobs"), "lease": other["ID"] });
    let address = member.address;
    let waiter = std::thread::spawn(move || post(address, "/v3/lock/lock", &waiting));
    let below = json!({ "key": base64("jobs/"), "range_end": base64("jobs0") });
    eventually("it waits", || member.ask("/v3/kv/range", &below)["count"] == "2");
    member.ask("/v3/lock/unlock", &json!({ "key": locked["key"] }));
    let told = waiter.join().expect("a waiter").expect("an answer");
    assert_eq!(told.0, 200, "{told:?}");
    // What cannot be, with the code and the words of etcd.
    let (status, told) = post(address, "/v3/kv/range", &json!({})).expect("an answer");
    assert_eq!((status, &told["code"]), (400, &json!(3)));
    assert_eq!(told["message"], "etcdserver: key is not provided");
    let unlocked = json!({ "name": base64("jobs"), "lease": "77" });
    let (status, told) = post(address, "/v3/lock/lock", &unlocked).expect("an answer");
    assert_eq!((status, &told["code"]), (500, &json!(2)));
    assert_eq!(told["message"], "etcdserver: requested lease not found");
    assert_eq!(post(address, "/v3/nothing", &json!({})).expect("an answer").0, 404);
}

#[test]
fn a_member_is_told_of_with_the_port_that_the_system_chose() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let told = || member.ask("/v3/cluster/member/list", &json!({}));
    let (first, own) = (told(), format!("http://{}", member.address));
    assert_eq!(first["members"][0]["clientURLs"], json!([own]), "{first}");
    // All members know it by the time that something was committed.
    member.put("a", "1");
    assert_eq!(told()["members"][0]["clientURLs"], json!([own]));
}
