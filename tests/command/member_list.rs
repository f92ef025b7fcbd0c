//! Tests of `tenure member list`, which asks each member for its state.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::hold::signal;
use crate::operating::Three;
use crate::shell::tenure;

const LIMIT: Duration = Duration::from_secs(120);

/// Repeats `tenure member list` until its JSON report is as expected, and returns the report.
#[track_caller]
pub(crate) fn listed(at: &str, is_expected: impl Fn(&Value, i32) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let ended = tenure(&format!("member list --endpoints {at} --format json"));
        let status = ended.status.code().expect("a status");
        let report = serde_json::from_slice(&ended.stdout).unwrap_or(Value::Null);
        if is_expected(&report, status) {
            return report;
        }
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(started.elapsed() < LIMIT, "{status}: {report:#} {error}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Repeats `tenure member list` until its table is as expected. Returns the table and the exit
/// status.
#[track_caller]
fn table(at: &str, is_expected: impl Fn(&str) -> bool) -> (String, Option<i32>) {
    let started = Instant::now();
    loop {
        let ended = tenure(&format!("member list --endpoints {at}"));
        let table = String::from_utf8(ended.stdout).expect("text");
        if is_expected(&table) {
            return (table, ended.status.code());
        }
        assert!(started.elapsed() < LIMIT, "{table}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the states of the members in a report, ordered by the names of the members.
fn states(report: &Value) -> Vec<&str> {
    let mut members: Vec<(&str, &str)> = report["members"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| Some((it["name"].as_str()?, it["state"].as_str()?)))
        .collect();
    members.sort_unstable();
    members.into_iter().map(|(_, state)| state).collect()
}

fn member<'a>(report: &'a Value, name: &str) -> &'a Value {
    let members = report["members"].as_array().into_iter().flatten();
    members.clone().find(|it| it["name"] == name).unwrap_or(&Value::Null)
}

fn count(report: &Value, state: &str) -> usize {
    states(report).into_iter().filter(|it| *it == state).count()
}

#[test]
fn members_report_their_state_and_failed_ones_are_unreachable() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let [a, b, c] = ["a", "b", "c"].map(|name| three.start(name, "new"));
    let at = format!("{},{},{}", a.address, b.address, c.address);
    let is_well = |report: &Value, status: i32| {
        status == 0 && count(report, "leader") == 1 && count(report, "follower") == 2
    };
    let report = listed(&at, is_well);
    assert_eq!(report["quorum"], true);
    for member in report["members"].as_array().expect("members") {
        let is_number = |name: &str| member[name].is_u64();
        assert!(is_number("term") && is_number("applied_index") && is_number("lag"), "{report:#}");
        assert!(member["version"].is_string() && member["unreachable"].is_null(), "{report:#}");
    }
    // A member that responds late has a further line.
    let (table, _) = self::table(&at, |table| table.lines().count() == 4);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");

    let killed_after = tenure::daemon::format_rfc3339(SystemTime::now());
    c.kill();
    // The command reports the failure at once, even before the other members notice it.
    let report = listed(&at, |report, status| status == 0 && states(report).len() == 3);
    assert_eq!(states(&report)[2], "unreachable", "{report:#}");
    let c = report["members"].as_array().expect("members").iter().find(|it| it["name"] == "c");
    let why = c.expect("c")["unreachable"].as_str().expect("a reason");
    assert!(why.contains("Connection refused"), "{why}");
    let is_down = |report: &Value, _: i32| {
        // On a busy machine, `a` may not respond for a short time.
        let [a, c] = ["a", "c"].map(|name| &member(report, name)["unreachable_since"]);
        count(report, "unreachable") == 1 && c.is_string() && a.is_null()
    };
    let report = listed(&at, is_down);
    let since = member(&report, "c")["unreachable_since"].as_str().expect("a time");
    assert!(
        since >= &*killed_after && since.ends_with('Z'),
        "{since}, killed after {killed_after}"
    );
    // The time since which the member is unreachable stays the same.
    let again = listed(&at, is_down);
    assert_eq!(member(&again, "c")["unreachable_since"], since);
    let (table, _) = self::table(&at, |table| table.contains("c is unreachable since 20"));
    assert!(table.contains("Z: no response from "), "{table}");

    // One of three members remains.
    assert!(signal("-STOP", &b.process.id().to_string()));
    let is_alone = |report: &Value, status: i32| status == 4 && states(report)[0] == "no-leader";
    let report = listed(&at, is_alone);
    assert_eq!((&report["quorum"], &report["leader"]), (&Value::Bool(false), &Value::Null));
    assert_eq!(states(&report), ["no-leader", "unreachable", "unreachable"]);
    // The connection with a stopped process stays open, so `unreachable_since` is null.
    let [stopped, killed] = ["b", "c"].map(|name| member(&report, name));
    assert!(stopped["unreachable_since"].is_null(), "{report:#}");
    assert!(stopped["last_contact"].is_string(), "{report:#}");
    assert!(killed["unreachable_since"].is_string(), "{report:#}");
    let is_alone = |table: &str| table.contains("no quorum: 1 of 3 voting members responded");
    let (message, status) = self::table(&a.address, is_alone);
    assert_eq!(status, Some(4), "{message}");
}

/// A member without a quorum verifies no password. It still reports its state.
#[test]
fn member_without_a_quorum_reports_its_state_to_a_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let [a, b, c] = ["a", "b", "c"].map(|name| three.start(name, "new"));
    let is_well = |report: &Value, status: i32| {
        status == 0 && count(report, "leader") == 1 && count(report, "follower") == 2
    };
    let is_alone = |report: &Value, status: i32| status == 4 && count(report, "no-leader") == 1;
    let at = format!("{} --user root:secret", a.address);
    listed(&at, is_well);
    for (path, body) in [
        ("user/add", json!({ "name": "root", "password": "secret" })),
        ("user/grant", json!({ "user": "root", "role": "root" })),
        ("enable", json!({})),
    ] {
        a.ask(&format!("/v3/auth/{path}"), &body);
    }
    listed(&at, is_well);
    b.kill();
    // The stopped member and the killed one leave no quorum.
    assert!(signal("-STOP", &c.process.id().to_string()));
    let report = listed(&at, is_alone);
    assert_eq!(report["quorum"], false, "{report:#}");
    assert_eq!(count(&report, "unreachable"), 2, "{report:#}");
}

/// A user in `TENURE_USER` does not matter to a service without users.
#[test]
fn member_without_a_quorum_is_listed_for_a_user_that_it_does_not_need() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let alone = three.start("a", "new");
    let at = format!("{} --user root:secret", alone.address);
    let report = listed(&at, |report, status| status == 4 && states(report).len() == 3);
    assert_eq!(member(&report, "a")["state"], "no-leader", "{report:#}");
}
