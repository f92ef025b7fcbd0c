//! Compatibility with `etcdctl`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use crate::killed::Killed;
use crate::member::Member;
use crate::skipped::report_skip;

/// Returns a command that runs `etcdctl` with the endpoint of a member. Returns `None` if `etcdctl`
/// is not installed.
pub(crate) fn etcdctl(member: &Member) -> Option<Command> {
    let found = Command::new("etcdctl").arg("version").env("ETCDCTL_API", "3").output();
    if !found.is_ok_and(|it| it.status.success()) {
        report_skip("etcdctl (Debian: etcd-client)");
        return None;
    }
    let mut command = Command::new("etcdctl");
    command.env("ETCDCTL_API", "3").env("ETCDCTL_ENDPOINTS", member.address.to_string());
    // A busy machine takes longer than the default limits of 2 s and 5 s.
    command.env("ETCDCTL_DIAL_TIMEOUT", "60s").env("ETCDCTL_COMMAND_TIMEOUT", "60s");
    Some(command)
}

fn output(member: &Member, words: &[&str]) -> Option<String> {
    let Output { stdout, stderr, status } =
        etcdctl(member)?.args(words).stdin(Stdio::null()).output().expect("etcdctl");
    let errors = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{words:?}: {errors}");
    Some(String::from_utf8_lossy(&stdout).into_owned())
}

#[test]
fn etcdctl_manages_keys_and_leases() {
    let (files, member) = Member::single();
    let Some(version) = output(&member, &["version"]) else { return };
    assert!(version.contains("etcdctl"));
    let run = |words: &[&str]| output(&member, words).expect("etcdctl");
    assert_eq!(run(&["put", "a", "1"]), "OK\n");
    assert_eq!(run(&["put", "b", "2"]), "OK\n");
    assert_eq!(run(&["get", "a"]), "a\n1\n");
    assert_eq!(run(&["get", "", "--from-key", "--keys-only"]), "a\n\nb\n\n");
    assert_eq!(run(&["del", "a", "--prev-kv"]), "1\na\n1\n");
    assert_eq!(run(&["get", "a", "--rev", "2"]), "a\n1\n");
    let granted = run(&["lease", "grant", "60"]);
    let lease = granted.split(' ').nth(1).expect("a lease");
    assert_eq!(run(&["put", "c", "3", "--lease", lease]), "OK\n");
    let kept = run(&["lease", "keep-alive", lease, "--once"]);
    assert_eq!(kept, format!("lease {lease} keepalived with TTL(60)\n"));
    assert!(run(&["lease", "timetolive", lease, "--keys"]).contains("attached keys([c])"));
    assert_eq!(run(&["lease", "revoke", lease]), format!("lease {lease} revoked\n"));
    assert_eq!(run(&["get", "c"]), "");
    assert!(run(&["member", "list"]).contains("started, a,"));
    // Some releases print the state to standard error.
    let mut health = etcdctl(&member).expect("etcdctl");
    let health = health.args(["endpoint", "health"]).output().expect("etcdctl");
    let text = String::from_utf8_lossy(&[health.stdout, health.stderr].concat()).into_owned();
    assert!(text.starts_with(&format!("{} is healthy: ", member.address)), "{text}");
    let file = files.path().join("snapshot.db");
    let file = file.to_str().expect("a path");
    assert!(run(&["snapshot", "save", file]).contains("Snapshot saved at"));
    assert_eq!(run(&["compact", "3"]), "compacted revision 3\n");
}

#[test]
fn etcdctl_locks_elects_and_watches() {
    let (_files, member) = Member::single();
    let Some(locked) = output(&member, &["lock", "jobs/nightly", "echo", "inside"]) else { return };
    assert_eq!(locked, "inside\n");
    // The holder excludes the other client until it exits.
    let mut command = etcdctl(&member).expect("etcdctl");
    let holder = command.args(["lock", "jobs/other"]).stdout(Stdio::piped()).spawn();
    let mut holder = Killed(holder.expect("etcdctl"));
    let mut line = String::new();
    let mut out = BufReader::new(holder.stdout.take().expect("its output"));
    out.read_line(&mut line).expect("a line");
    assert!(line.starts_with("jobs/other/"), "{line}");
    let mut command = etcdctl(&member).expect("etcdctl");
    let waiter =
        command.args(["lock", "jobs/other", "echo", "next"]).stdout(Stdio::piped()).spawn();
    let waiter = Killed(waiter.expect("etcdctl"));
    let id = holder.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    holder.wait_with_output();
    let next = waiter.wait_with_output();
    assert_eq!(String::from_utf8_lossy(&next.stdout), "next\n");
    // A candidate and an observer.
    let mut command = etcdctl(&member).expect("etcdctl");
    let candidate = command.args(["elect", "office", "me"]).stdout(Stdio::piped()).spawn();
    let mut candidate = Killed(candidate.expect("etcdctl"));
    let mut out = BufReader::new(candidate.stdout.take().expect("its output"));
    let mut lines = [String::new(), String::new()];
    lines.iter_mut().for_each(|line| drop(out.read_line(line)));
    assert!(lines[0].starts_with("office/") && lines[1] == "me\n", "{lines:?}");
    drop(candidate);
    // A past event and a new one.
    output(&member, &["put", "w", "1"]);
    let mut command = etcdctl(&member).expect("etcdctl");
    let watch = command.args(["watch", "w", "--rev", "1"]).stdout(Stdio::piped()).spawn();
    let mut watch = Killed(watch.expect("etcdctl"));
    let mut out = BufReader::new(watch.stdout.take().expect("its output"));
    let mut lines = |lines: usize| {
        let mut text = String::new();
        (0..lines).for_each(|_| drop(out.read_line(&mut text)));
        text
    };
    assert_eq!(lines(3), "PUT\nw\n1\n");
    output(&member, &["del", "w"]);
    assert_eq!(lines(2), "DELETE\nw\n");
}
