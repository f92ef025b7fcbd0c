//! Metrics of a member, and the documents and alert rules that name them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::member::{Member, base64, eventually, follow, get, post};
use crate::three::led_by_first_member;

pub(crate) fn document(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(document(name)).expect("a document")
}

/// Returns the name and the type of each metric that a member serves.
fn served(member: &Member) -> BTreeMap<String, String> {
    let (status, text) = get(member.address, "/metrics");
    assert_eq!(status, 200);
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect()
}

/// Returns the name and the type of each metric in the table of the documentation.
fn documented() -> BTreeMap<String, String> {
    let text = read("monitoring.md");
    let (_, section) = text.split_once("\n## Metrics\n").expect("a section of metrics");
    let rows = section.lines().take_while(|line| !line.starts_with("## "));
    let rows = rows.filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let name = cells.next()?.split(['`', '{']).next()?;
        Some((name.to_owned(), cells.next()?.to_owned()))
    });
    rows.collect()
}

fn alerts() -> BTreeSet<String> {
    let text = read("monitoring/alerts.yml");
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.map(str::to_owned).collect()
}

fn value(member: &Member, name: &str) -> f64 {
    let (_, text) = get(member.address, "/metrics");
    let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    values.next().expect("the metric").parse().expect("a number")
}

#[test]
fn documentation_lists_exactly_the_metrics_that_exist() {
    let (_files, members) = Member::cluster();
    members[0].put("a", "1");
    let (served, documented) = (served(&members[0]), documented());
    assert!(served.len() > 40, "{served:?}");
    assert_eq!(served, documented);
}

#[test]
fn alerts_dashboard_and_pages_name_only_documented_metrics() {
    let documented = documented();
    let files = ["monitoring/alerts.yml", "monitoring/dashboard.json", "runbook.md", "service.md"];
    for file in files {
        let text = read(file);
        let words = text.split(|each: char| !each.is_ascii_alphanumeric() && each != '_');
        let prefixes = ["tenure_", "etcd_", "process_"];
        let named = words.filter(|word| prefixes.iter().any(|it| word.starts_with(it)));
        let named: BTreeSet<&str> = named.collect();
        assert!(named.len() > 2, "{file}: {named:?}");
        for word in named {
            let histogram = ["_bucket", "_sum", "_count"].iter().find_map(|it| {
                let name = word.strip_suffix(it)?;
                (documented.get(name).map(String::as_str) == Some("histogram")).then_some(name)
            });
            let name = histogram.unwrap_or(word);
            assert!(documented.contains_key(name), "{file} names {word}");
        }
    }
}

#[test]
fn each_alert_has_a_runbook_entry_and_a_unit_test() {
    let (alerts, runbook) = (alerts(), read("runbook.md"));
    assert!(alerts.len() > 10);
    let entries = runbook.lines().filter_map(|line| line.strip_prefix("### "));
    let entries = entries.filter(|entry| entry.starts_with("Tenure")).map(str::to_owned);
    assert_eq!(alerts, entries.collect(), "alerts, and entries of the runbook");
    let (rules, tests) = (read("monitoring/alerts.yml"), read("monitoring/alerts_test.yml"));
    for alert in alerts {
        let anchor = format!("docs/runbook.md#{}\n", alert.to_lowercase());
        assert!(rules.contains(&anchor), "{alert} has no link to the runbook");
        let fires = format!("alertname: {alert}\n        exp_alerts:\n          - exp_labels:");
        let is_quiet = format!("alertname: {alert}\n        exp_alerts: []");
        assert!(tests.contains(&fires) && tests.contains(&is_quiet), "{alert} has no unit test");
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|it| it.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|it| it.is_dir());
    let files = files.into_iter().filter(|it| it.extension().is_some_and(|it| it == "rs"));
    files.chain(folders.iter().flat_map(|it| sources(it))).collect()
}

#[test]
fn runbook_names_only_tests_that_exist() {
    let runbook = read("runbook.md");
    let tested = runbook.split("*Test:*").skip(1).map(|it| it.split("\n\n").next().unwrap_or(it));
    let names: BTreeSet<&str> = tested.flat_map(|it| it.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() > 20, "{names:?}");
    let root = document("..");
    let folders = ["crates", "tests"].map(|folder| sources(&root.join(folder)));
    let texts: Vec<String> =
        folders.iter().flatten().map(|file| fs::read_to_string(file).expect("a file")).collect();
    let is_test = |name: &str| texts.iter().any(|text| text.contains(&format!("fn {name}()")));
    let missing: Vec<&&str> = names.iter().filter(|name| !is_test(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(!is_test("this_name_belongs_to_no_test_at_all"), "the control");
}

#[test]
fn histograms_record_waits_holds_commits_renewals_and_watches() {
    let (_files, member) = Member::single();
    let lease = |id: u64| {
        member.ask("/v3/lease/grant", &json!({ "ID": id, "TTL": 600 }));
        id
    };
    let lock = |id: u64| {
        let request = json!({ "name": base64("jobs"), "lease": id });
        move |address| post(address, "/v3/lock/lock", &request)
    };
    let first = lock(lease(7))(member.address).expect("a response").1;
    let (second, address) = (lock(lease(8)), member.address);
    let waiter = std::thread::spawn(move || second(address));
    eventually("the second client waits", || value(&member, "tenure_claims_waiting") == 1.0);
    assert_eq!(value(&member, "tenure_lock_wait_seconds_count"), 1.0);
    assert_eq!(value(&member, "tenure_lock_hold_seconds_count"), 0.0);
    let create = json!({ "create_request": { "key": base64("a") } });
    let mut watched = follow(member.address, "/v3/watch", &create).fuse();
    assert_eq!(watched.next().expect("a response")["result"]["created"], json!(true));
    member.put("a", "1");
    assert!(watched.next().is_some_and(|it| it["result"]["events"].is_array()));
    member.ask("/v3/lock/unlock", &json!({ "key": first["key"] }));
    let granted = waiter.join().expect("a client").expect("a response");
    assert_eq!(granted.0, 200, "{granted:?}");
    post(member.address, "/v3/lease/keepalive", &json!({ "ID": 8 })).expect("a response");
    assert_eq!(value(&member, "tenure_lock_wait_seconds_count"), 2.0);
    assert_eq!(value(&member, "tenure_lock_hold_seconds_count"), 1.0);
    let waited = value(&member, "tenure_lock_wait_seconds_sum");
    let held = value(&member, "tenure_lock_hold_seconds_sum");
    assert!(0.0 < waited && waited <= held, "{waited} {held}");
    for name in ["tenure_commit_seconds", "tenure_fsync_seconds", "tenure_renewal_seconds"] {
        assert!(value(&member, &format!("{name}_count")) > 0.0, "{name}");
    }
    eventually("the event is recorded", || value(&member, "tenure_watch_lag_seconds_count") == 1.0);
    let saves = value(&member, "tenure_saves_total");
    assert!(value(&member, "tenure_fsync_seconds_count") >= saves, "{saves}");
}

#[test]
fn gauges_describe_a_known_store() {
    let (_files, [first, second, third]) = led_by_first_member();
    // Revision 3. The first member has put `a` in revision 2.
    first.put("b", "1");
    for lease in [7, 8] {
        first.ask("/v3/lease/grant", &json!({ "ID": lease, "TTL": 600 }));
    }
    let request = |lease: u64| json!({ "name": base64("jobs"), "lease": lease });
    first.ask("/v3/lock/lock", &request(7));
    let address = first.address;
    let waiter = std::thread::spawn(move || post(address, "/v3/lock/lock", &request(8)));
    first.wait_for_claims("jobs", 2);
    first.ask("/v3/kv/compaction", &json!({ "revision": "3" }));
    // A linearizable read makes the other members apply these entries.
    [&second, &third].iter().for_each(|it| drop(it.get("a")));
    for (member, is_leader) in [(&first, 1.0), (&second, 0.0), (&third, 0.0)] {
        for (name, expected) in [
            ("etcd_server_is_leader", is_leader),
            ("etcd_server_has_leader", 1.0),
            ("tenure_revision", 5.0),
            ("tenure_compacted_revision", 3.0),
            ("tenure_keys", 4.0),
            ("tenure_leases", 2.0),
            ("tenure_queues", 1.0),
            // The call waits at the first member.
            ("tenure_waiting", is_leader),
            ("tenure_claims_holding", 1.0),
            ("tenure_claims_waiting", 1.0),
        ] {
            assert_eq!(value(member, name), expected, "{name}");
        }
    }
    eventually("both state the same index", || {
        let status = first.status();
        let index = status["raftAppliedIndex"].as_str().and_then(|it| it.parse().ok());
        index.is_some_and(|index: f64| index == value(&first, "tenure_applied_index"))
    });
    first.ask("/v3/lease/revoke", &json!({ "ID": 7 }));
    let granted = waiter.join().expect("a client").expect("a response");
    assert_eq!(granted.0, 200, "{granted:?}");
    assert_eq!(value(&first, "tenure_waiting"), 0.0);
}

#[test]
fn restarted_leader_does_not_measure_old_claims() {
    let (files, member) = Member::single();
    member.ask("/v3/lease/grant", &json!({ "ID": 7, "TTL": 600 }));
    let locked: Value = member.ask("/v3/lock/lock", &json!({ "name": base64("a"), "lease": 7 }));
    assert_eq!(value(&member, "tenure_lock_wait_seconds_count"), 1.0);
    member.terminate();
    let member = files.start(0);
    member.ask("/v3/lock/unlock", &json!({ "key": locked["key"] }));
    assert_eq!(value(&member, "tenure_claims_holding"), 0.0);
    assert_eq!(value(&member, "tenure_lock_wait_seconds_count"), 0.0);
    assert_eq!(value(&member, "tenure_lock_hold_seconds_count"), 0.0);
}
