//! Tests of the page for operators: the state that it shows, and the rights that a client needs to
//! see it.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::access::{enable_users, token};
use crate::member::{Member, Response, authorization, base64, eventually, exchange, post, post_as};
use crate::three::led_by_first_member;

/// Sends a `GET` request with a token, as a web page of another origin does.
fn get_as(token: &str, address: SocketAddr, path: &str) -> Response {
    let token = authorization(token);
    let request = format!("GET {path} HTTP/1.0\r\norigin: http://a\r\n{token}\r\n");
    exchange(address, &request).expect("a response")
}

fn state(token: &str, address: SocketAddr) -> Value {
    let Response { status, body, .. } = get_as(token, address, "/dashboard/state");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

/// Requests a lock for the lease `lease` in another thread, and waits until the claim is queued.
fn lock_in_background(member: &Member, name: &str, lease: u64) {
    let before = claims(member);
    let (address, request) = (member.address, json!({ "name": base64(name), "lease": lease }));
    std::thread::spawn(move || post(address, "/v3/lock/lock", &request));
    eventually("the claim is queued", || claims(member) > before);
}

fn claims(member: &Member) -> u64 {
    let totals = &state("", member.address)["totals"];
    [&totals["holding"], &totals["waiting"]].iter().filter_map(|it| it.as_u64()).sum()
}

fn grant(member: &Member, lease: u64) {
    member.ask("/v3/lease/grant", &json!({ "ID": lease, "TTL": 600 }));
}

#[test]
fn state_has_members_locks_queues_and_blocked_clients() {
    let (_files, members) = led_by_first_member();
    for lease in [10, 11, 12] {
        grant(&members[0], lease);
    }
    for lease in [10, 11, 12] {
        lock_in_background(&members[0], "jobs/nightly", lease);
    }
    eventually("all members are connected and have applied the claims", || {
        members.iter().all(|member| {
            let state = state("", member.address);
            let connected = state["members"].as_array().expect("members").iter();
            let connected = connected.filter(|it| it["is_connected"] == true).count();
            state["leader"].is_string() && connected == 3 && claims(member) == 3
        })
    });
    let mut timed = 0;
    for (member, name) in members.iter().zip(["a", "b", "c"]) {
        let state = state("", member.address);
        assert_eq!((&state["member"], &state["access"]), (&json!(name), &json!("granted")));
        let names: Vec<&Value> =
            state["members"].as_array().expect("members").iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let roles = state["members"].as_array().expect("members").iter();
        let leaders = roles.filter(|it| it["role"] == "leader").map(|it| &it["name"]);
        assert_eq!(leaders.collect::<Vec<_>>(), [&state["leader"]]);
        let lock = &state["locks"][0];
        assert_eq!((&lock["name"], &lock["waiting"]), (&json!("jobs/nightly"), &json!(2)));
        assert_eq!(lock["holders"][0]["lease"], "a");
        // A member that applied the claim in a later term does not know the time.
        timed += u32::from(lock["waiters"][0]["for_ms"].is_u64());
        // Only the leader knows the remaining time of a lease.
        let is_leader = state["leader"] == name;
        assert_eq!(lock["holders"][0]["left_ms"].is_u64(), is_leader, "{lock}");
        let blocked = state["blocked"].as_array().expect("clients");
        let pairs = blocked.iter().map(|it| (it["lease"].as_str(), it["by"][0].as_str()));
        assert_eq!(pairs.collect::<Vec<_>>(), [(Some("b"), Some("a")), (Some("c"), Some("a"))]);
        assert_eq!(state["deadlocks"], json!([]));
    }
    assert_ne!(timed, 0, "no member knows how long a client waits");
}

#[test]
fn clients_that_block_each_other_are_reported() {
    let (_files, member) = Member::single();
    for lease in [1, 2] {
        grant(&member, lease);
    }
    for (name, lease) in [("a", 1), ("b", 2), ("a", 2)] {
        lock_in_background(&member, name, lease);
        assert_eq!(state("", member.address)["deadlocks"], json!([]));
    }
    lock_in_background(&member, "b", 1);
    assert_eq!(state("", member.address)["deadlocks"], json!([["1", "2"]]));
}

#[test]
fn page_is_one_file_that_other_origins_cannot_read() {
    let (_files, member) = Member::single();
    let page = get_as("", member.address, "/dashboard");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").expect("a policy");
    let nonce = policy.split("'nonce-").nth(1).and_then(|it| it.split('\'').next());
    let nonce = nonce.expect("a nonce");
    assert!(page.body.contains(&format!("<script nonce=\"{nonce}\">")), "{policy}");
    assert!(!get_as("", member.address, "/dashboard").body.contains(nonce), "it is used once");
    for path in ["/dashboard", "/dashboard/state"] {
        let head = get_as("", member.address, path).head;
        assert!(!head.contains("access-control-allow-origin"), "{head}");
        assert!(head.contains("cache-control: no-store"), "{head}");
    }
    // Control: etcd's JSON allows other origins.
    assert!(get_as("", member.address, "/version").head.contains("access-control-allow-origin"));
    assert_eq!(get_as("", member.address, "/dashboard/other").status, 404);
}

#[test]
fn users_see_only_the_locks_that_they_may_read() {
    let (_files, member) = Member::single();
    grant(&member, 7);
    for name in ["jobs/one", "secret/two"] {
        member.ask("/v3/lock/lock", &json!({ "name": base64(name), "lease": 7 }));
    }
    enable_users(&member, "READ");
    let (root, bob) = (token(&member, "root", "secret"), token(&member, "bob", "one"));
    let names = |state: &Value| -> Vec<String> {
        let locks = state["locks"].as_array().expect("locks").iter();
        locks.map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
    };
    let shown = state(&root, member.address);
    assert_eq!(
        (names(&shown), &shown["user"]),
        (vec!["jobs/one".into(), "secret/two".into()], &json!("root"))
    );
    let shown = state(&bob, member.address);
    assert_eq!((names(&shown), &shown["hidden_locks"]), (vec!["jobs/one".into()], &json!(1)));
    let anonymous = get_as("", member.address, "/dashboard/state").body;
    for secret in ["jobs/one", "secret/two", "http://"] {
        assert!(!anonymous.contains(secret), "{secret}: {anonymous}");
    }
    let anonymous = state("", member.address);
    assert_eq!(anonymous["access"], "needs-user");
    assert_eq!(anonymous["totals"]["holding"], 2);
    assert_eq!(get_as("wrong", member.address, "/dashboard/state").status, 401);
    // Control: the same user may read the names in a range request.
    let (key, range_end) = (base64("jobs/"), base64("jobs0"));
    let read = json!({ "key": key, "range_end": range_end });
    let read = post_as(&bob, member.address, "/v3/kv/range", &read);
    assert_eq!(read.map(|it| it.0), Some(200));
}

#[test]
fn metrics_url_shows_no_names_of_locks() {
    let metrics = tenure_runtime::ports::reserve_address();
    let (_files, member) =
        Member::configured(&format!("listen-metrics-urls = \"http://{metrics}\""));
    grant(&member, 7);
    member.ask("/v3/lock/lock", &json!({ "name": base64("jobs"), "lease": 7 }));
    assert_eq!(state("", member.address)["locks"][0]["name"], "jobs");
    let Response { status, body, .. } = get_as("", metrics, "/dashboard/state");
    assert_eq!(status, 200);
    assert!(!body.contains("jobs"), "{body}");
    let shown = state("", metrics);
    assert_eq!((&shown["access"], &shown["locks"]), (&json!("metrics-only"), &json!([])));
    assert_eq!(shown["totals"]["holding"], 1);
    assert_eq!(get_as("", metrics, "/dashboard").status, 200);
}

/// Creates a claim with the key `key`, which contains the mode of the claim.
fn claim(member: &Member, key: &str, lease: u64) {
    member.ask("/v3/kv/put", &json!({ "key": base64(key), "value": "", "lease": lease }));
}

#[test]
fn semaphore_with_another_holder_is_no_deadlock() {
    let (_files, member) = Member::single();
    for lease in [1, 2, 3] {
        grant(&member, lease);
    }
    for (key, lease) in [("s/1.slots-2", 1), ("s/3.slots-2", 3), ("s/2.slots-2", 2)] {
        claim(&member, key, lease);
    }
    for (key, lease) in [("b/2", 2), ("b/1", 1)] {
        claim(&member, key, lease);
    }
    let shown = state("", member.address);
    assert_eq!(shown["blocked"].as_array().map(Vec::len), Some(2), "{shown}");
    assert_eq!(shown["deadlocks"], json!([]), "the holder 3 may end: {shown}");
    member.ask("/v3/kv/deleterange", &json!({ "key": base64("s/3.slots-2") }));
    claim(&member, "s/4.slots-1", 3);
    let shown = state("", member.address);
    assert_eq!(shown["locks"].as_array().map(Vec::len), Some(2), "{shown}");
}

#[test]
fn waiters_behind_many_holders_are_listed() {
    let (_files, member) = Member::single();
    grant(&member, 1);
    for number in 1..=46 {
        claim(&member, &format!("m/1.{number}.slots-45"), 1);
    }
    let shown = state("", member.address);
    let lock = &shown["locks"][0];
    assert_eq!((&lock["holding"], &lock["waiting"]), (&json!(45), &json!(1)), "{lock}");
    assert_eq!(lock["waiters"].as_array().map(Vec::len), Some(1), "{lock}");
}
