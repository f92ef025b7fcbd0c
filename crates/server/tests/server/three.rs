//! Three members, of which one is killed.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::limits::metric;
use crate::member::{Files, Member, base64, eventually, follow, post};

/// Which of some members leads.
pub(crate) fn leader(members: &[Member]) -> usize {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        for (index, member) in members.iter().enumerate() {
            let status = member.ask("/v3/maintenance/status", &json!({}));
            if status["leader"] == status["header"]["member_id"] {
                return index;
            }
        }
        assert!(Instant::now() < until, "nobody leads");
    }
}

#[test]
fn any_of_three_serves_everything_and_two_go_on() {
    let files = Files::of(3);
    let mut members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    members[0].put("a", "1");
    for member in &members {
        assert_eq!(member.get("a"), Some(base64("1")), "read where it was not written");
    }
    let lease = members[1].ask("/v3/lease/grant", &json!({ "TTL": 60 }));
    let lock = json!({ "name": base64("jobs"), "lease": lease["ID"] });
    let held = members[2].ask("/v3/lock/lock", &lock);
    let others = members[0].ask("/v3/lease/grant", &json!({ "TTL": 60 }));
    let leads = leader(&members);
    let follower = (leads + 1) % 3;
    // Somebody waits at a member that stays.
    let waiting = json!({ "name": base64("jobs"), "lease": others["ID"] });
    let address = members[follower].address;
    let waiter = std::thread::spawn(move || post(address, "/v3/lock/lock", &waiting));
    let below = json!({ "key": base64("jobs/"), "range_end": base64("jobs0") });
    // Where it waits: the leader knows of it first, and what only the leader knows may be lost.
    eventually("it waits", || members[follower].ask("/v3/kv/range", &below)["count"] == "2");
    members.remove(leads).kill();
    members[0].put("a", "2");
    for member in &members {
        assert_eq!(member.get("a"), Some(base64("2")));
        let renewed = member.ask("/v3/lease/keepalive", &json!({ "ID": lease["ID"] }));
        assert_eq!(renewed["result"]["TTL"], "60", "{renewed}");
    }
    members[1].ask("/v3/lock/unlock", &json!({ "key": held["key"] }));
    let told = waiter.join().expect("a waiter").expect("an answer");
    assert_eq!(told.0, 200, "{told:?}");
    // The one that was killed comes back, and has all of it.
    members.push(Member::start(&files.files[leads]));
    assert_eq!(members[2].get("a"), Some(base64("2")));
    let hash = |member: &Member| -> Value {
        member.get("a");
        member.ask("/v3/maintenance/hashkv", &json!({}))["hash"].clone()
    };
    assert_eq!(hash(&members[0]), hash(&members[2]));
}

/// Three members that miss a leader after so many milliseconds.
pub(crate) fn started(files: &Files, timeouts: [u32; 3]) -> Vec<Member> {
    for (file, timeout) in files.files.iter().zip(timeouts) {
        let text = std::fs::read_to_string(file).expect("a file");
        let text = format!("{text}election-timeout = {timeout}\n");
        std::fs::write(file, text).expect("room");
    }
    files.files.iter().map(|file| Member::start(file)).collect()
}

/// Three members of which the first leads, and the others miss no leader within an hour: whoever
/// leads after it was told to stand.
fn led_by_the_first() -> (Files, [Member; 3]) {
    let files = Files::of(3);
    let members = started(&files, [1_500, 3_600_000, 3_600_000]);
    members[0].put("a", "1");
    // Who can read has heard of the leader and of its term.
    members.iter().for_each(|member| assert_eq!(member.get("a"), Some(base64("1"))));
    assert_eq!(leader(&members), 0);
    (files, members.try_into().unwrap_or_else(|_| unreachable!("three members")))
}

/// What would be passed on to a leader that was killed waits for the next one, and is done by it.
#[test]
fn what_is_asked_while_a_leader_is_gone_is_done_by_the_next() {
    let files = Files::of(3);
    // It is missed after two seconds at the earliest.
    let mut members = started(&files, [2_000; 3]);
    members[0].put("a", "1");
    let leads = leader(&members);
    members.remove(leads).kill();
    let link = format!("tenure_link_up{{peer=\"{}\"}}", ["a", "b", "c"][leads]);
    for member in &members {
        eventually("it is gone", || metric(member.address, &link) == 0);
        let asked = json!({ "key": base64("a"), "value": base64("2") });
        let told = post(member.address, "/v3/kv/put", &asked).expect("an answer");
        assert_eq!(told.0, 200, "{told:?}");
    }
}

impl Member {
    /// The term, as it knows.
    pub(crate) fn term(&self) -> u64 {
        let status = self.ask("/v3/maintenance/status", &json!({}));
        status["raftTerm"].as_str().and_then(|term| term.parse().ok()).expect("a term")
    }
}

#[test]
fn what_a_member_knows_it_says_without_the_others_if_that_is_asked() {
    let (_files, [first, second, third]) = led_by_the_first();
    [&first, &third].iter().for_each(|it| it.signal("STOP"));
    let range = |it: &bool| json!({ "requestRange": { "key": base64("a"), "serializable": it } });
    let txn = |ranges: &[bool]| {
        let ranges: Vec<Value> = ranges.iter().map(range).collect();
        json!({ "success": ranges })
    };
    let (address, asked) = (second.address, txn(&[true, false]));
    let waiter = std::thread::spawn(move || post(address, "/v3/kv/txn", &asked));
    let told = second.ask("/v3/kv/txn", &txn(&[true, true]));
    let value = |told: &Value| told["responses"][1]["response_range"]["kvs"][0]["value"].clone();
    assert_eq!(value(&told), base64("1"), "{told}");
    assert!(!waiter.is_finished(), "one of its ranges is to be confirmed");
    [&first, &third].iter().for_each(|it| it.signal("CONT"));
    let told = waiter.join().expect("a waiter").expect("an answer");
    assert_eq!(told.0, 200, "{told:?}");
}

/// The leader is stopped, so that nothing is committed, and nobody misses it within an hour.
#[test]
fn who_waits_at_another_member_is_told_of_a_release_before_that_is_committed() {
    let (_files, [first, second, third]) = led_by_the_first();
    let [made, own] = ["1", "2"].map(|key| first.put(key, "")["header"]["revision"].clone());
    second.get("2");
    first.signal("STOP");
    let waiting = json!({ "key": base64("2"), "create_revision": own });
    let create = json!({ "key": base64("1"), "waiting": waiting });
    let (address, watch) = (second.address, json!({ "create_request": create }));
    let mut watching = follow(second.address, "/v3/watch", &watch);
    assert_eq!(watching.next().expect("an answer")["result"]["created"], true);
    let delete = json!({ "requestDeleteRange": { "key": base64("1"), "released": made } });
    let (asked, third) = (json!({ "success": [delete] }), third.address);
    let leaver = std::thread::spawn(move || post(third, "/v3/kv/txn", &asked));
    let told = watching.next().expect("an answer");
    assert_eq!(told["result"]["released"], made, "{told}");
    let known = json!({ "key": base64("1"), "serializable": true });
    let (_, there) = post(address, "/v3/kv/range", &known).expect("an answer");
    assert_eq!(there["count"], "1", "{there}");
    assert!(!leaver.is_finished());
    first.signal("CONT");
    let told = watching.next().expect("an answer");
    assert_eq!(told["result"]["events"][0]["type"], "DELETE", "{told}");
    let (status, _) = leaver.join().expect("who leaves").expect("an answer");
    assert_eq!(status, 200);
}

#[test]
fn a_member_that_comes_back_alone_does_not_tell_of_what_was_long_ago() {
    let files = Files::of(3);
    let members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    members[0].put("a", "1");
    assert_eq!(members[1].get("a"), Some(base64("1")));
    members.into_iter().for_each(Member::kill);
    let second = Member::start(&files.files[1]);
    let asked = json!({ "key": base64("a"), "serializable": true });
    let (status, told) = post(second.address, "/v3/kv/range", &asked).expect("an answer");
    assert_eq!((status, &told["message"]), (503, &json!("etcdserver: no leader")), "{told}");
    // Nor is what was long ago news to who watches from now on.
    let watch = json!({ "create_request": { "key": base64("a") } });
    let (_, told) = post(second.address, "/v3/watch", &watch).expect("an answer");
    assert!(told.to_string().contains("no leader"), "{told}");
    let _third = Member::start(&files.files[2]);
    assert_eq!(second.ask("/v3/kv/range", &asked)["kvs"][0]["value"], base64("1"));
}

#[test]
fn the_lead_is_given_by_who_has_it_and_to_itself_by_doing_nothing() {
    let (_files, [first, second, _third]) = led_by_the_first();
    let term = first.term();
    let own = first.ask("/v3/maintenance/status", &json!({}))["leader"].clone();
    let asked = json!({ "targetID": own });
    let told = post(second.address, "/v3/maintenance/transfer-leadership", &asked);
    let (status, told) = told.expect("an answer");
    assert_eq!((status, &told["message"]), (400, &json!("etcdserver: not leader")));
    first.ask("/v3/maintenance/transfer-leadership", &asked);
    assert_eq!(first.term(), term);
}

#[test]
fn a_leader_that_is_asked_to_end_has_another_stand() {
    let (_files, [first, second, third]) = led_by_the_first();
    let term = second.term();
    first.terminate();
    second.put("a", "2");
    assert_eq!(third.get("a"), Some(base64("2")));
    assert_eq!((second.term(), third.term()), (term + 1, term + 1), "one election");
}

#[test]
fn a_leader_that_is_asked_to_end_asks_nobody_to_stand_who_does_not_answer() {
    let (_files, [first, second, third]) = led_by_the_first();
    let term = third.term();
    // The next in any order but that of answers.
    second.signal("STOP");
    first.terminate();
    let members = [third];
    assert_eq!(leader(&members), 0, "with the vote of the first");
    assert_eq!(members[0].term(), term + 1);
    second.signal("CONT");
    second.put("a", "2");
    assert_eq!(members[0].get("a"), Some(base64("2")));
    assert_eq!(second.term(), term + 1, "one election");
}

#[test]
fn a_member_that_reads_nothing_holds_up_nobody_and_has_all_of_it_afterwards() {
    let files = Files::of(3);
    let members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    members[0].put("a", "1");
    let leads = leader(&members);
    let slow = &members[(leads + 1) % 3];
    slow.signal("STOP");
    // More than the sockets between them hold.
    let value = "x".repeat(1 << 18);
    (0..50).for_each(|_| drop(members[leads].put("a", &value)));
    slow.signal("CONT");
    assert_eq!(slow.get("a"), Some(base64(&value)));
}

#[test]
fn a_leader_is_removed_by_whomever_that_is_asked() {
    let files = Files::of(3);
    let mut members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    members[0].put("a", "1");
    // Of three at a follower, and of the two that are left at the leader itself.
    for asks_another in [true, false] {
        let leads = leader(&members);
        let status = members[leads].ask("/v3/maintenance/status", &json!({}));
        let remove = json!({ "ID": status["leader"] });
        let asked = if asks_another { (leads + 1) % members.len() } else { leads };
        let told = post(members[asked].address, "/v3/cluster/member/remove", &remove);
        let (status, told) = told.expect("an answer");
        assert_eq!(status, 200, "{told}");
        members.remove(leads);
        assert_eq!(told["members"].as_array().map(Vec::len), Some(members.len()));
        members[0].put("a", "2");
    }
}

#[test]
fn whoever_stops_waiting_before_the_claim_is_committed_leaves_the_queue() {
    let (_files, [first, second, third]) = led_by_the_first();
    let below = json!({ "key": base64("jobs/"), "range_end": base64("jobs0") });
    let revision = || {
        let found = first.ask("/v3/kv/range", &below);
        let revision = found["header"]["revision"].as_str().map(str::to_owned);
        let revision: u64 = revision.and_then(|it| it.parse().ok()).expect("a revision");
        (revision, found["count"].clone())
    };
    // Nothing is committed while the others stand still; the leader waits for them long enough.
    let try_once = || {
        let lease = first.ask("/v3/lease/grant", &json!({ "TTL": 600 }));
        let body = json!({ "name": base64("jobs"), "lease": lease["ID"] }).to_string();
        [&second, &third].iter().for_each(|it| it.signal("STOP"));
        let mut stream = TcpStream::connect(first.address).expect("it listens");
        let head = format!("POST /v3/lock/lock HTTP/1.0\r\ncontent-length: {}\r\n", body.len());
        write!(stream, "{head}\r\n{body}").expect("it reads");
        std::thread::sleep(Duration::from_millis(50));
        drop(stream);
        // Only whoever asks for this is connected then.
        eventually("it has seen that", || metric(first.address, "tenure_connections") == 1);
        [&second, &third].iter().for_each(|it| it.signal("CONT"));
    };
    let until = Instant::now() + Duration::from_secs(40);
    loop {
        assert!(Instant::now() < until, "it never queued");
        let (term, begun) = (first.term(), revision());
        try_once();
        let is_queued = (0..20).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            revision() != begun
        });
        // Who was deposed meanwhile does not know what became of it, and leaves it there.
        if is_queued && first.term() == term {
            return eventually("the claim was made, and is gone", || {
                let (now, count) = revision();
                now >= begun.0 + 2 && count == begun.1
            });
        }
    }
}
