//! Details of responses that clients, exporters and dashboards expect from etcd.

use serde_json::{Value, json};

use crate::etcdctl::etcdctl;
use crate::limits::metric;
use crate::member::{Files, Member, base64, eventually, follow_with, get, post};
use crate::three::{leader, led_by_first_member};

#[test]
fn defragment_and_move_leader_return_no_header() {
    let (_files, members) = Member::cluster();
    members[0].put("a", "1");
    assert_eq!(members[0].ask("/v3/maintenance/defragment", &json!({})), json!({}));
    // A busy machine may cause an election, and then another member leads.
    eventually("the leader hands over", || {
        let leads = leader(&members);
        let target = json!({ "targetID": members[(leads + 1) % 3].id() });
        let path = "/v3/maintenance/transfer-leadership";
        let (status, response) = members[leads].decided(path, &target);
        status == 200 && {
            assert_eq!(response, json!({}));
            true
        }
    });
}

#[test]
fn hashes_are_equal_and_contain_compacted_revision() {
    let (_files, members) = Member::cluster();
    members[0].put("a", "1");
    members[0].ask("/v3/lease/grant", &json!({ "TTL": "600", "ID": "7" }));
    let hash = |member: &Member, path: &str| {
        // Waits until the member has applied all committed entries.
        member.get("a");
        member.ask(path, &json!({}))
    };
    for path in ["/v3/maintenance/hash", "/v3/maintenance/hashkv"] {
        let first = hash(&members[0], path)["hash"].take();
        assert!(first.is_number(), "{first}");
        for member in &members {
            eventually("the hashes are equal", || hash(member, path)["hash"] == first);
        }
        members[0].put("a", "2");
        assert_ne!(hash(&members[0], path)["hash"], first);
    }
    let compacted = || hash(&members[1], "/v3/maintenance/hashkv")["compact_revision"].take();
    assert_eq!(compacted(), "-1");
    members[0].ask("/v3/kv/compaction", &json!({ "revision": "3" }));
    assert_eq!(compacted(), "3");
}

#[test]
fn every_member_lists_leases_by_expiry() {
    // The leader must not change: a new leader would measure both leases of 100 s from its
    // election.
    let (_files, members) = led_by_first_member();
    for (id, ttl) in [("5", "900"), ("3", "100"), ("9", "500"), ("4", "100")] {
        members[0].ask("/v3/lease/grant", &json!({ "ID": id, "TTL": ttl }));
    }
    // After the renewal, this lease expires later than the other lease of the same length.
    members[0].ask("/v3/lease/keepalive", &json!({ "ID": "3" }));
    for member in &members {
        let response = member.ask("/v3/lease/leases", &json!({}));
        let ids: Vec<&Value> =
            response["leases"].as_array().expect("leases").iter().map(|it| &it["ID"]).collect();
        assert_eq!(ids, ["4", "3", "9", "5"]);
    }
}

#[test]
fn metrics_include_those_of_the_process() {
    let (_files, member) = Member::single();
    member.put("a", "1");
    let text = get(member.address, "/metrics").1;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name}")).parse::<f64>().expect("a number")
    };
    let mib = f64::from(1 << 20);
    assert!(value("process_resident_memory_bytes") > mib);
    assert!(value("process_virtual_memory_bytes") > mib);
    assert!((5.0..1024.0).contains(&value("process_open_fds")));
    assert!(value("process_max_fds") >= 1024.0);
    assert!(value("process_cpu_seconds_total") >= 0.0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
    let age = now.as_secs_f64() - value("process_start_time_seconds");
    assert!((-5.0..600.0).contains(&age), "{age} seconds");
    assert!(value("etcd_debugging_mvcc_watcher_total") == 0.0);
    assert!(value("tenure_directory_bytes") > 0.0);
}

#[test]
#[ignore = "minutes: ten thousand keys by etcdctl"]
fn etcdctl_check_datascale_passes() {
    let (_files, member) = Member::single();
    let Some(mut command) = etcdctl(&member) else { return };
    let output = command.args(["check", "datascale", "--load", "s"]).output().expect("etcdctl");
    let response = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && response.contains("PASS"), "{response}");
}

#[test]
fn stream_without_leader_fails_like_etcd_gateway() {
    let (_files, mut members) = Member::cluster();
    let granted = members[0].ask("/v3/lease/grant", &json!({ "TTL": "60" }));
    members.drain(1..).for_each(Member::kill);
    let address = members[0].address;
    eventually("no leader is known", || metric(address, "etcd_server_has_leader") == 0);
    // Both requests wait for a leader.
    let put = json!({ "key": base64("a") });
    let put = std::thread::spawn(move || post(address, "/v3/kv/put", &put));
    let body = json!({ "ID": granted["ID"] });
    let (status, response) = post(address, "/v3/lease/keepalive", &body).expect("a response");
    let error = &response["error"];
    let code = (&error["grpc_code"], &error["http_code"], &error["http_status"]);
    let unavailable = (&json!(14), &json!(503), &json!("Service Unavailable"));
    assert_eq!((status, code), (503, unavailable), "{response}");
    assert!(
        error["message"].as_str().is_some_and(|it| it.starts_with("etcdserver: ")),
        "{response}"
    );
    assert_eq!(put.join().expect("a thread").map(|it| it.0), Some(503));
}

#[test]
fn single_member_lists_no_peer_url() {
    let files = Files::of(1);
    files.edit(0, |text| {
        let lines = text.lines().filter(|line| !line.starts_with("initial-cluster"));
        lines.map(|line| format!("{line}\n")).collect()
    });
    let listed = |member: &Member| {
        member.put("a", "1");
        member.ask("/v3/cluster/member/list", &json!({}))["members"][0]["peerURLs"].take()
    };
    let member = files.start(0);
    assert_eq!(listed(&member), Value::Null);
    member.terminate();
    // A URL can be configured later, and the data directory stays valid.
    files.configure(0, "initial-advertise-peer-urls = \"http://10.0.0.1:2380\"");
    let member = files.start(0);
    assert_eq!(listed(&member), json!(["http://10.0.0.1:2380"]));
    assert_eq!(member.get("a"), Some(base64("1")));
}

#[test]
fn metrics_port_serves_metrics_and_health_only() {
    let address = tenure_runtime::ports::reserve_address();
    let (_files, member) =
        Member::configured(&format!("listen-metrics-urls = \"http://{address}\""));
    member.put("a", "1");
    assert_eq!(get(address, "/health").0, 200);
    assert!(get(address, "/metrics").1.contains("etcd_server_has_leader 1"));
    let (status, _) = post(address, "/v3/kv/range", &json!({ "key": "YQ==" })).expect("a response");
    assert_eq!(status, 404);
}

/// Opens a watch stream, sends the requests in `body`, and returns the responses.
fn watching(member: &Member, body: &[Value]) -> impl Iterator<Item = Value> + use<> {
    let body: String = body.iter().map(|it| format!("{it}\n")).collect();
    let lines = follow_with(&[], member.address, "/v3/watch", &body);
    lines.map(|mut line| line["result"].take())
}

fn revisions(answer: &Value) -> Vec<u64> {
    let revision = |event: &Value| event["kv"]["mod_revision"].as_str()?.parse().ok();
    answer["events"].as_array().into_iter().flatten().filter_map(revision).collect()
}

/// Requests a progress notification on a stream with two watchers. The notification must follow all
/// events up to its revision. The member must send the notification although one watcher has
/// received no event.
///
/// etcd has followed the first rule since version 3.5.8, and the second rule since version 3.5.13.
/// Kubernetes and Cilium read the version that the server reports, and rely on the rules of this
/// version.
#[test]
fn requested_progress_follows_all_events_and_needs_none() {
    let (_files, member) = Member::single();
    (0..300).for_each(|number| drop(member.put(&format!("k/{number:03}"), "1")));
    let create = |key: &str, start: u64| {
        let (key, end) = (base64(key), base64("l"));
        json!({ "create_request": { "key": key, "range_end": end, "start_revision": start } })
    };
    let never = json!({ "create_request": { "key": base64("never") } });
    // The first watcher has to catch up, and the second one never receives an event.
    let body = [create("k/", 1), never, json!({ "progress_request": {} })];
    let mut seen = Vec::new();
    for answer in watching(&member, &body) {
        seen.extend(revisions(&answer));
        if answer["watch_id"] == "-1" {
            assert_eq!(answer["header"]["revision"], "301", "{answer}");
            break;
        }
    }
    assert_eq!(seen, (2..=301).collect::<Vec<u64>>());
}

#[test]
fn watch_of_a_future_revision_reports_nothing_older() {
    let (_files, member) = Member::single();
    member.put("a", "1");
    let create = json!({ "key": base64("a"), "start_revision": "10" });
    let mut answers = watching(&member, &[json!({ "create_request": create })]);
    assert_eq!(answers.next().expect("a response")["created"], true);
    (3..=11).for_each(|number| drop(member.put("a", &number.to_string())));
    let mut seen = Vec::new();
    while seen.len() < 2 {
        seen.extend(revisions(&answers.next().expect("a response")));
    }
    assert_eq!(seen, [10, 11]);
}

#[test]
fn watch_loses_no_event_to_a_compaction() {
    let (_files, member) = Member::single();
    (2..=20).for_each(|number| drop(member.put("a", &number.to_string())));
    member.ask("/v3/kv/compaction", &json!({ "revision": "10" }));
    let from = |start: u64| {
        let create = json!({ "key": base64("a"), "start_revision": start });
        watching(&member, &[json!({ "create_request": create })])
    };
    let mut seen = Vec::new();
    for answer in from(10) {
        seen.extend(revisions(&answer));
        if seen.last() == Some(&20) {
            break;
        }
    }
    assert_eq!(seen, (10..=20).collect::<Vec<u64>>());
    let mut late = from(9);
    let canceled = late.find(|answer| answer["canceled"] == true).expect("a response");
    assert_eq!(canceled["compact_revision"], "10");
}

#[test]
fn reported_version_is_the_newest_whose_behaviour_is_tested() {
    let (_files, member) = Member::single();
    assert_eq!(member.status()["version"], "3.5.13");
    let response = get(member.address, "/version").1;
    assert_eq!(response, r#"{"etcdserver":"3.5.13","etcdcluster":"3.5.0"}"#);
    // Features since 3.5.10, 3.5.11 and 3.5.3.
    for path in ["/livez", "/readyz", "/health?serializable=true"] {
        eventually(path, || get(member.address, path).0 == 200);
    }
    let hashed = member.ask("/v3/maintenance/hash", &json!({}));
    assert!(hashed["compact_revision"].is_null() && hashed["hash"].is_number(), "{hashed}");
}
