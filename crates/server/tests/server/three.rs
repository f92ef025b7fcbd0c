//! Clusters of three members with crashes, suspensions and changes of the leader.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::limits::metric;
use crate::member::{Files, Member, TIME_LIMIT, base64, eventually, follow, post};

pub(crate) fn leader(members: &[Member]) -> usize {
    let until = Instant::now() + TIME_LIMIT;
    loop {
        if let Some(index) = members.iter().position(Member::is_leader) {
            return index;
        }
        assert!(Instant::now() < until, "no leader");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn cluster_survives_the_crash_of_a_leader() {
    let files = Files::of(3);
    let mut members = start_led_by_first(&files, [600; 2]);
    let lease = members[1].ask("/v3/lease/grant", &json!({ "TTL": 600 }));
    let lock = json!({ "name": base64("jobs"), "lease": lease["ID"] });
    let held = members[2].ask("/v3/lock/lock", &lock);
    let others = members[0].ask("/v3/lease/grant", &json!({ "TTL": 600 }));
    let (leads, follower) = (0, 1);
    // A client waits at a member that keeps running.
    let waiting = json!({ "name": base64("jobs"), "lease": others["ID"] });
    let address = members[follower].address;
    let waiter = std::thread::spawn(move || post(address, "/v3/lock/lock", &waiting));
    // The test checks this at the follower, because entries that only the leader has may be lost.
    members[follower].wait_for_claims("jobs", 2);
    members.remove(leads).kill();
    members[0].put("a", "2");
    for member in &members {
        assert_eq!(member.get("a"), Some(base64("2")));
        let renewed = member.ask("/v3/lease/keepalive", &json!({ "ID": lease["ID"] }));
        assert_eq!(renewed["result"]["TTL"], "600", "{renewed}");
    }
    members[1].ask("/v3/lock/unlock", &json!({ "key": held["key"] }));
    let response = waiter.join().expect("a thread").expect("a response");
    assert_eq!(response.0, 200, "{response:?}");
    // The crashed member restarts and catches up.
    members.push(files.start(leads));
    assert_eq!(members[2].get("a"), Some(base64("2")));
    let hash = |member: &Member| -> Value {
        member.get("a");
        member.ask("/v3/maintenance/hashkv", &json!({}))["hash"].clone()
    };
    assert_eq!(hash(&members[0]), hash(&members[2]));
}

/// Starts three members. `timeouts` are their election timeouts, in milliseconds.
pub(crate) fn start_with_timeouts(timeouts: [u32; 3]) -> (Files, Vec<Member>) {
    let files = Files::of(3);
    for (index, timeout) in timeouts.into_iter().enumerate() {
        files.configure(index, &format!("election-timeout = {timeout}"));
    }
    let members = files.start_all();
    (files, members)
}

/// Election timeout of one hour, in milliseconds. It never expires during a test.
pub(crate) const HOUR: u32 = 3_600_000;

/// Election timeout of a member that starts the first election of its cluster, in milliseconds.
pub(crate) const SOON: u32 = 250;

/// Starts the three members of `files`, and makes the first member the leader. `timeouts` are the
/// election timeouts of the other two members, in milliseconds. The election timeout of the first
/// member is an hour. So the first member keeps leading and rejects elections, even on a busy
/// machine.
pub(crate) fn start_led_by_first(files: &Files, timeouts: [u32; 2]) -> Vec<Member> {
    let [second, third] = timeouts;
    for (index, timeout) in [HOUR, second, SOON].into_iter().enumerate() {
        files.configure(index, &format!("election-timeout = {timeout}"));
    }
    let mut members = files.start_all();
    let target = json!({ "targetID": members[0].id() });
    eventually("the first member leads", || {
        // A member that does not lead rejects the request.
        let transfer =
            |it: &Member| post(it.address, "/v3/maintenance/transfer-leadership", &target);
        members[0].is_leader() || {
            members[1..].iter().for_each(|it| drop(transfer(it)));
            members[0].is_leader()
        }
    });
    members[0].put("a", "1");
    if third != SOON {
        members.remove(2).kill();
        let (soon, later) = (format!("= {SOON}\n"), format!("= {third}\n"));
        files.edit(2, |text| text.replace(&soon, &later));
        members.push(files.start(2));
    }
    // After a linearizable read a member knows the leader and its term.
    members.iter().for_each(|member| assert_eq!(member.get("a"), Some(base64("1"))));
    members
}

/// Starts three members, of which the first leads. The other two members start an election only
/// after an hour, or in a handover.
pub(crate) fn led_by_first_member() -> (Files, [Member; 3]) {
    let files = Files::of(3);
    let members = start_led_by_first(&files, [HOUR; 2]);
    (files, members.try_into().unwrap_or_else(|_| unreachable!("three members")))
}

/// A follower receives a request after the leader has crashed. The follower keeps the request until
/// the next leader is known. It must not forward the request to the crashed leader.
#[test]
fn request_without_leader_is_executed_by_the_next() {
    // Followers start an election after a second at the earliest.
    let (_files, mut members) = start_with_timeouts([1_000; 3]);
    members[0].put("a", "1");
    let leads = leader(&members);
    members.remove(leads).kill();
    let link = format!("tenure_link_up{{peer=\"{}\"}}", ["a", "b", "c"][leads]);
    for member in &members {
        eventually("the leader is disconnected", || metric(member.address, &link) == 0);
        let body = json!({ "key": base64("a"), "value": base64("2") });
        let response = post(member.address, "/v3/kv/put", &body).expect("a response");
        assert_eq!(response.0, 200, "{response:?}");
    }
}

impl Member {
    pub(crate) fn term(&self) -> u64 {
        let status = self.status();
        status["raftTerm"].as_str().and_then(|term| term.parse().ok()).expect("a term")
    }
}

#[test]
fn serializable_transaction_needs_no_majority() {
    let (_files, [first, second, third]) = led_by_first_member();
    [&first, &third].iter().for_each(|it| it.signal("STOP"));
    let range = |it: &bool| json!({ "requestRange": { "key": base64("a"), "serializable": it } });
    let txn = |ranges: &[bool]| {
        let ranges: Vec<Value> = ranges.iter().map(range).collect();
        json!({ "success": ranges })
    };
    let (address, body) = (second.address, txn(&[true, false]));
    let waiter = std::thread::spawn(move || post(address, "/v3/kv/txn", &body));
    let response = second.ask("/v3/kv/txn", &txn(&[true, true]));
    let value =
        |response: &Value| response["responses"][1]["response_range"]["kvs"][0]["value"].clone();
    assert_eq!(value(&response), base64("1"), "{response}");
    assert!(!waiter.is_finished(), "one of its ranges is linearizable");
    [&first, &third].iter().for_each(|it| it.signal("CONT"));
    let response = waiter.join().expect("a thread").expect("a response");
    assert_eq!(response.0, 200, "{response:?}");
}

/// A waiter at another member is notified of a release before the release is committed. The test
/// suspends the leader, so that no entry is committed. The election timeouts are an hour, so that
/// no election begins.
#[test]
fn waiter_at_another_member_is_notified_before_commit() {
    let (_files, [first, second, third]) = led_by_first_member();
    let [made, own] = ["1", "2"].map(|key| first.put(key, "")["header"]["revision"].clone());
    second.get("2");
    first.signal("STOP");
    let waiting = json!({ "key": base64("2"), "create_revision": own });
    let create = json!({ "key": base64("1"), "waiting": waiting });
    let (address, watch) = (second.address, json!({ "create_request": create }));
    let mut watching = follow(second.address, "/v3/watch", &watch);
    assert_eq!(watching.next().expect("a response")["result"]["created"], true);
    let delete = json!({ "requestDeleteRange": { "key": base64("1"), "released": made } });
    let (body, third) = (json!({ "success": [delete] }), third.address);
    let releaser = std::thread::spawn(move || post(third, "/v3/kv/txn", &body));
    let response = watching.next().expect("a response");
    assert_eq!(response["result"]["released"], made, "{response}");
    let known = json!({ "key": base64("1"), "serializable": true });
    let (_, there) = post(address, "/v3/kv/range", &known).expect("a response");
    assert_eq!(there["count"], "1", "{there}");
    assert!(!releaser.is_finished());
    first.signal("CONT");
    let response = watching.next().expect("a response");
    assert_eq!(response["result"]["events"][0]["type"], "DELETE", "{response}");
    let (status, _) = releaser.join().expect("a thread").expect("a response");
    assert_eq!(status, 200);
}

#[test]
fn restarted_member_alone_serves_no_stale_reads() {
    let (files, members) = Member::cluster();
    members[0].put("a", "1");
    assert_eq!(members[1].get("a"), Some(base64("1")));
    members.into_iter().for_each(Member::kill);
    let second = files.start(1);
    let body = json!({ "key": base64("a"), "serializable": true });
    // A new watcher must not receive old events either. Both requests wait for a leader.
    let watch = json!({ "create_request": { "key": base64("a") } });
    let address = second.address;
    let watching = std::thread::spawn(move || post(address, "/v3/watch", &watch));
    let (status, response) = post(second.address, "/v3/kv/range", &body).expect("a response");
    assert_eq!(
        (status, &response["message"]),
        (503, &json!("etcdserver: no leader")),
        "{response}"
    );
    let (_, response) = watching.join().expect("a thread").expect("a response");
    assert!(response.to_string().contains("no leader"), "{response}");
    let _third = files.start(2);
    assert_eq!(second.ask("/v3/kv/range", &body)["kvs"][0]["value"], base64("1"));
}

#[test]
fn only_leader_transfers_leadership() {
    let (_files, [first, second, _third]) = led_by_first_member();
    let term = first.term();
    let body = json!({ "targetID": first.id() });
    let response = post(second.address, "/v3/maintenance/transfer-leadership", &body);
    let (status, response) = response.expect("a response");
    assert_eq!((status, &response["message"]), (400, &json!("etcdserver: not leader")));
    first.ask("/v3/maintenance/transfer-leadership", &body);
    assert_eq!(first.term(), term);
}

#[test]
fn stopping_leader_hands_over_leadership() {
    let (_files, [first, second, third]) = led_by_first_member();
    let term = second.term();
    first.terminate();
    second.put("a", "2");
    assert_eq!(third.get("a"), Some(base64("2")));
    assert_eq!((second.term(), third.term()), (term + 1, term + 1), "one election");
}

#[test]
fn handover_skips_unresponsive_member() {
    let (_files, [first, second, third]) = led_by_first_member();
    let term = third.term();
    // Suspends the second member, which follows the leader in the order of names. The handover must
    // choose the third member.
    second.signal("STOP");
    first.terminate();
    let members = [third];
    assert_eq!(leader(&members), 0, "elected with the vote of the first member");
    assert_eq!(members[0].term(), term + 1);
    second.signal("CONT");
    second.put("a", "2");
    assert_eq!(members[0].get("a"), Some(base64("2")));
    assert_eq!(second.term(), term + 1, "one election");
}

#[test]
fn stopped_follower_delays_no_writes_and_catches_up() {
    let (_files, members) = Member::cluster();
    members[0].put("a", "1");
    let leads = leader(&members);
    let slow = &members[(leads + 1) % 3];
    slow.signal("STOP");
    // The value is larger than the buffers of the sockets between the members.
    let value = "x".repeat(1 << 18);
    (0..50).for_each(|_| drop(members[leads].put("a", &value)));
    slow.signal("CONT");
    assert_eq!(slow.get("a"), Some(base64(&value)));
}

#[test]
fn leader_is_removed_through_any_member() {
    // The removal is requested only once, so no election may occur meanwhile.
    let (_files, mut members) = start_with_timeouts([3_000; 3]);
    members[0].put("a", "1");
    // The first request goes to a follower of three members, and the second one to the leader of
    // the remaining two.
    for asks_follower in [true, false] {
        let leads = leader(&members);
        let remove = json!({ "ID": members[leads].id() });
        let receiver = if asks_follower { (leads + 1) % members.len() } else { leads };
        let response = post(members[receiver].address, "/v3/cluster/member/remove", &remove);
        let (status, response) = response.expect("a response");
        assert_eq!(status, 200, "{response}");
        members.remove(leads);
        assert_eq!(response["members"].as_array().map(Vec::len), Some(members.len()));
        members[0].put("a", "2");
    }
}

#[test]
fn abandoned_claim_leaves_the_queue_after_its_commit() {
    let (_files, [first, second, third]) = led_by_first_member();
    let below = json!({ "key": base64("jobs/"), "range_end": base64("jobs0") });
    let revision = || {
        let found = first.ask("/v3/kv/range", &below);
        let revision = found["header"]["revision"].as_str().map(str::to_owned);
        let revision: u64 = revision.and_then(|it| it.parse().ok()).expect("a revision");
        (revision, found["count"].clone())
    };
    // While the followers are suspended, no entry is committed. The leader does not step down so
    // soon.
    let try_once = || {
        let lease = first.ask("/v3/lease/grant", &json!({ "TTL": 600 }));
        let body = json!({ "name": base64("jobs"), "lease": lease["ID"] }).to_string();
        [&second, &third].iter().for_each(|it| it.signal("STOP"));
        let mut stream = TcpStream::connect(first.address).expect("a listener");
        let head = format!("POST /v3/lock/lock HTTP/1.0\r\ncontent-length: {}\r\n", body.len());
        write!(stream, "{head}\r\n{body}").expect("an open connection");
        std::thread::sleep(Duration::from_millis(50));
        drop(stream);
        // The only open connection is then that of the request for the metric.
        eventually("the member noticed", || metric(first.address, "tenure_connections") == 1);
        [&second, &third].iter().for_each(|it| it.signal("CONT"));
    };
    let (until, started) = (Instant::now() + TIME_LIMIT, revision());
    loop {
        assert!(Instant::now() < until, "the claim was never queued");
        try_once();
        let is_queued = (0..20).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            revision() != started
        });
        if is_queued {
            return eventually("the claim was withdrawn", || {
                let (now, count) = revision();
                now >= started.0 + 2 && count == started.1
            });
        }
    }
}
