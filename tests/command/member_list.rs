//! `tenure member list`: each member is asked for its state.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::operating::{Member, Three};
use crate::shell::tenure;

/// Limit for anything that is waited for.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the command until its report is as expected; returns it with the exit status.
#[track_caller]
fn listed(at: &str, is_expected: impl Fn(&Value, i32) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let ended = tenure(&format!("member list --endpoints {at} --format json"));
        let status = ended.status.code().expect("a status");
        let told = serde_json::from_slice(&ended.stdout).unwrap_or(Value::Null);
        if is_expected(&told, status) {
            return told;
        }
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(begun.elapsed() < LIMIT, "{status}: {told:#} {error}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// States by the names of the members, `a` first.
fn states(told: &Value) -> Vec<&str> {
    let mut members: Vec<(&str, &str)> = told["members"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| Some((it["name"].as_str()?, it["state"].as_str()?)))
        .collect();
    members.sort_unstable();
    members.into_iter().map(|(_, state)| state).collect()
}

fn count(told: &Value, state: &str) -> usize {
    states(told).into_iter().filter(|it| *it == state).count()
}

fn stop(member: &Member) {
    let id = member.process.id().to_string();
    assert!(Command::new("kill").args(["-STOP", &id]).status().expect("kill").success());
}

#[test]
fn each_member_reports_its_state_and_the_dead_are_unreachable() {
    let folder = tempfile::tempdir().expect("a folder");
    let three = Three::of(folder.path());
    let [a, b, c] = ["a", "b", "c"].map(|name| three.start(name, "new"));
    let at = format!("{},{},{}", a.address, b.address, c.address);
    let is_well = |told: &Value, status: i32| {
        status == 0 && count(told, "leader") == 1 && count(told, "follower") == 2
    };
    let told = listed(&at, is_well);
    assert_eq!(told["quorum"], true);
    for member in told["members"].as_array().expect("members") {
        let is_number = |name: &str| member[name].is_u64();
        assert!(is_number("term") && is_number("applied_index") && is_number("lag"), "{told:#}");
        assert!(member["version"].is_string() && member["unreachable"].is_null(), "{told:#}");
    }
    let table = tenure(&format!("member list --endpoints {at}"));
    let table = String::from_utf8(table.stdout).expect("text");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert_eq!(table.lines().count(), 4, "{table}");

    c.kill();
    // At once, whether the others have noticed or not.
    let told = listed(&at, |told, status| status == 0 && states(told).len() == 3);
    assert_eq!(states(&told)[2], "unreachable", "{told:#}");
    let c = told["members"].as_array().expect("members").iter().find(|it| it["name"] == "c");
    let why = c.expect("c")["unreachable"].as_str().expect("a reason");
    assert!(why.contains("Connection refused"), "{why}");
    let table = tenure(&format!("member list --endpoints {at}"));
    let table = String::from_utf8(table.stdout).expect("text");
    assert!(table.contains("c is unreachable: no answer from "), "{table}");

    // One of three is left.
    stop(&b);
    let is_alone = |told: &Value, status: i32| status == 4 && states(told)[0] == "no-leader";
    let told = listed(&at, is_alone);
    assert_eq!((&told["quorum"], &told["leader"]), (&Value::Bool(false), &Value::Null));
    assert_eq!(states(&told), ["no-leader", "unreachable", "unreachable"]);
    let alone = tenure(&format!("member list --endpoints {}", a.address));
    let says = String::from_utf8(alone.stdout).expect("text");
    assert_eq!(alone.status.code(), Some(4), "{says}");
    assert!(says.contains("no quorum: 1 of 3 voting members answered"), "{says}");
}
