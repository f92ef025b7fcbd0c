//! Quota of the store, and limits of requests that an operator sets.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::etcdctl::etcdctl;
use crate::limits::metric;
use crate::member::{Files, Member, base64, eventually, follow, get};
use crate::three::{HOUR, start_led_by_first};

const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";

/// Returns 1 if the metrics of a member report the alarm NOSPACE, and 0 otherwise.
fn alarm_metric(member: &Member) -> u64 {
    metric(member.address, "tenure_alarm_active{alarm=\"NOSPACE\"}")
}

fn health(address: SocketAddr) -> (u16, String) {
    get(address, "/health")
}

fn alarms(member: &Member) -> Vec<Value> {
    let response = member.ask("/v3/maintenance/alarm", &json!({ "action": "GET" }));
    response["alarms"].as_array().cloned().unwrap_or_default()
}

/// Sends a request that the member rejects. Returns the HTTP status, the gRPC code and the message.
fn rejected(member: &Member, path: &str, body: &Value) -> (u16, Value, Value) {
    let (status, mut response) = member.decided(path, body);
    (status, response["code"].take(), response["message"].take())
}

/// Puts keys of 10,000 bytes until the member rejects a key. Returns the number of accepted keys.
fn fill(member: &Member) -> usize {
    for count in 0..100 {
        let key = base64(&format!("k/{count:02}"));
        let put = json!({ "key": key, "value": base64(&"x".repeat(10_000)) });
        let (status, response) = member.decided("/v3/kv/put", &put);
        if status != 200 {
            assert_eq!((status, &response["message"]), (429, &json!(NO_SPACE)), "{response}");
            return count;
        }
    }
    panic!("all puts were accepted");
}

#[test]
fn full_store_raises_alarm_until_it_is_disarmed() {
    // There is no election. After an election, the deletion below could be repeated, and would then
    // delete nothing.
    let files = Files::configured(3, "quota-backend-bytes = 100000");
    let mut members = start_led_by_first(&files, [HOUR; 2]);
    let accepted = fill(&members[1]);
    assert!((5..10).contains(&accepted), "{accepted} of 10 kB each");
    let size = metric(members[1].address, "etcd_mvcc_db_total_size_in_bytes");
    assert!((50_000..100_000).contains(&size), "{size} bytes");
    assert_eq!(metric(members[1].address, "etcd_server_quota_backend_bytes"), 100_000);
    // The alarm belongs to the member that received the request, and all members know it.
    eventually("the alarm is known", || !alarms(&members[0]).is_empty());
    let [alarm] = &alarms(&members[0])[..] else { panic!("one alarm") };
    assert_eq!(alarm["alarm"], "NOSPACE");
    for member in &members {
        eventually("the member is unhealthy", || health(member.address).0 == 503);
        let response = health(member.address).1;
        assert!(response.contains(r#""health":"false","reason":"ALARM NOSPACE""#), "{response}");
        let errors = member.status()["errors"].to_string();
        assert!(errors.contains("alarm:NOSPACE"), "{errors}");
        assert_eq!(alarm_metric(member), 1);
    }
    let put = json!({ "request_put": { "key": base64("a") } });
    let range = json!({ "request_range": { "key": base64("k/00") } });
    for (path, body) in [
        ("/v3/kv/put", json!({ "key": base64("a") })),
        ("/v3/kv/txn", json!({ "success": [put] })),
        ("/v3/kv/txn", json!({ "failure": [{ "request_txn": { "success": [put] } }] })),
        ("/v3/lease/grant", json!({ "TTL": "60" })),
        ("/v3/lock/lock", json!({ "name": base64("lock") })),
    ] {
        let response = rejected(&members[2], path, &body);
        assert_eq!(response, (429, json!(8), json!(NO_SPACE)), "{path} {body}");
    }
    // Reads and deletions continue. The alarm survives a restart and deletions.
    assert_eq!(members[2].ask("/v3/kv/txn", &json!({ "success": [range] }))["succeeded"], true);
    let all = json!({ "key": base64("k/"), "range_end": base64("k0") });
    members.remove(1).kill();
    members.insert(1, files.start(1));
    assert_eq!(members[1].ask("/v3/kv/deleterange", &all)["deleted"], accepted.to_string());
    assert_eq!(alarms(&members[1]).len(), 1);
    let small = json!({ "key": base64("a") });
    assert_eq!(rejected(&members[1], "/v3/kv/put", &small).2, NO_SPACE);
    let disarm =
        json!({ "action": "DEACTIVATE", "memberID": alarm["memberID"], "alarm": "NOSPACE" });
    let response = members[0].ask("/v3/maintenance/alarm", &disarm);
    assert_eq!(response["alarms"].as_array().map(Vec::len), Some(1), "{response}");
    assert_eq!(alarms(&members[0]), [Value::Null; 0]);
    for member in &members {
        // A member that lags behind waits for the leader before it rejects a request.
        let (status, response) = member.decided("/v3/kv/put", &small);
        assert_eq!(status, 200, "{response}");
        eventually("the member is healthy", || health(member.address).0 == 200);
        assert_eq!(alarm_metric(member), 0);
    }
}

#[test]
fn late_member_receives_alarm_by_snapshot() {
    let files = Files::configured(3, "snapshot-catchup-entries = 10");
    let mut members = files.start_all();
    members[0].put("a", "1");
    members.pop().expect("a third").kill();
    let id = members[0].status()["header"]["member_id"].take();
    let alarm = json!({ "action": "ACTIVATE", "memberID": id, "alarm": "NOSPACE" });
    members[0].ask("/v3/maintenance/alarm", &alarm);
    // The log keeps fewer than 60 entries, so the third member will need a snapshot.
    let delete = json!({ "key": base64("nothing") });
    (0..60).for_each(|_| drop(members[0].ask("/v3/kv/deleterange", &delete)));
    let late = files.start(2);
    eventually("the member has the alarm", || health(late.address).1.contains("ALARM NOSPACE"));
    assert_eq!(alarms(&late).len(), 1);
    // Only NOSPACE can be raised, and only for an existing member.
    let corrupt = json!({ "action": "ACTIVATE", "memberID": id, "alarm": "CORRUPT" });
    assert_eq!(rejected(&late, "/v3/maintenance/alarm", &corrupt).1, 12);
    let unknown = json!({ "action": "ACTIVATE", "memberID": "7", "alarm": "NOSPACE" });
    assert_eq!(rejected(&late, "/v3/maintenance/alarm", &unknown).1, 5);
}

#[test]
fn etcdctl_lists_and_disarms_alarm() {
    let (_files, member) = Member::configured("quota-backend-bytes = 50000");
    let etcdctl_output = |words: &[&str]| {
        let output = etcdctl(&member)?.args(words).output().expect("etcdctl");
        let (out, err) = (output.stdout, output.stderr);
        Some(String::from_utf8_lossy(&[out, err].concat()).into_owned())
    };
    let Some(listed) = etcdctl_output(&["alarm", "list"]) else { return };
    assert_eq!(listed, "");
    fill(&member);
    let alarm = etcdctl_output(&["alarm", "list"]).expect("etcdctl");
    assert!(alarm.starts_with("memberID:") && alarm.ends_with(" alarm:NOSPACE \n"), "{alarm}");
    let put = etcdctl_output(&["put", "a", "1"]).expect("etcdctl");
    assert!(put.contains(NO_SPACE), "{put}");
    etcdctl_output(&["del", "k/", "--prefix"]);
    assert_eq!(etcdctl_output(&["alarm", "disarm"]), Some(alarm));
    assert_eq!(etcdctl_output(&["put", "a", "1"]).as_deref(), Some("OK\n"));
}

#[test]
fn negative_quota_means_no_quota() {
    let (_files, member) = Member::configured("quota-backend-bytes = -1");
    assert_eq!(metric(member.address, "etcd_server_quota_backend_bytes"), 0);
    member.put("a", "1");
}

#[test]
fn options_limit_requests_and_transactions() {
    let files = Files::configured(3, "max-request-bytes = 4000000\nmax-txn-ops = 200");
    let members = files.start_all();
    let large = |bytes| json!({ "key": base64("a"), "value": base64(&"x".repeat(bytes)) });
    let put = |bytes| rejected(&members[0], "/v3/kv/put", &large(bytes));
    members[0].put("a", "1");
    members[1].ask("/v3/kv/put", &large(3_900_000));
    assert_eq!(put(4_000_001).2, "etcdserver: request is too large");
    assert_eq!(put(5_000_000).1, 8);
    let txn = |count| {
        let op = |key| json!({ "request_put": { "key": base64(&format!("t/{key}")) } });
        json!({ "success": (0..count).map(op).collect::<Vec<_>>() })
    };
    members[2].ask("/v3/kv/txn", &txn(200));
    let response = rejected(&members[2], "/v3/kv/txn", &txn(201));
    assert_eq!(response.2, "etcdserver: too many operations in txn request");
    // All members have applied the transaction.
    let count = json!({ "key": base64("t/"), "range_end": base64("t0"), "count_only": true });
    for member in &members {
        assert_eq!(member.ask("/v3/kv/range", &count)["count"], "200");
    }
}

#[test]
fn idle_watcher_receives_progress_periodically() {
    let (_files, member) =
        Member::configured("experimental-watch-progress-notify-interval = \"200ms\"");
    member.put("a", "1");
    let create = json!({ "key": base64("a"), "progress_notify": true });
    let mut response = follow(member.address, "/v3/watch", &json!({ "create_request": create }));
    assert_eq!(response.next().expect("a response")["result"]["created"], true);
    for _ in 0..3 {
        let progress = response.next().expect("progress");
        assert_eq!(progress["result"]["header"]["revision"], "2", "{progress}");
        assert!(progress["result"]["events"].is_null());
    }
}
