//! Disks that fail under a node: it says so and stops, and nothing leaves that depends on what
//! was not saved.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::nodes::Nodes;
use crate::waiting::alone;

/// The ways in which the second save of a node fails, the first being that of its session: the
/// system call, what it says, and what the node says then.
const FAULTS: [(&str, &str, &str); 7] = [
    ("openat", "EIO", "cannot write"),
    ("write", "EIO", "cannot write"),
    ("write", "ENOSPC", "the disk is full"),
    ("fsync", "EIO", "cannot write"),
    ("fsync", "ENOSPC", "the disk is full"),
    ("/^rename", "EIO", "cannot write"),
    ("folder", "EIO", "durable"),
];

/// A command line that makes a system call about a file fail from the second time on. What it
/// starts is the child of whoever starts it, and the tracer is on its own.
fn failing(call: &str, error: &str, file: &str) -> Vec<String> {
    let inject = format!("inject={call}:error={error}:when=2+");
    ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-P", file, "-e", &inject]
        .map(str::to_owned)
        .into()
}

/// Whether this machine can make system calls fail.
fn can_make_calls_fail() -> bool {
    let mut command = Command::new("strace");
    command.args(["-D", "-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn a_disk_that_fails_stops_the_node_before_anything_leaves() {
    let _alone = alone();
    if !can_make_calls_fail() {
        eprintln!("skipped: needs strace");
        return;
    }
    for (call, error, says) in FAULTS {
        let nodes = Nodes::on_loopback(2);
        (1..=2).for_each(|me| nodes.configure(me, ""));
        let state = nodes.directory().join("p2.state");
        let file = state.join("state.next").display().to_string();
        let within = match call {
            // The last step of a save flushes the folder.
            "folder" => failing("fsync", error, &state.display().to_string()),
            call => failing(call, error, &file),
        };
        let mut other = nodes.start(1, &[]);
        other.listens();
        let mut failing = nodes.start(2, &within);
        let (status, log) = (failing.wait(), failing.log());
        let case = format!("{call} {error}");
        assert_eq!(status, 4, "{case}: {log}");
        let last = log.lines().last().unwrap_or_default();
        assert!(last.contains(says) && last.contains("state"), "{case}: {log}");
        let trace = fs::read_to_string(nodes.trace(2)).unwrap();
        assert!(!trace.contains("\"kind\":\"send\""), "{case}: something left: {trace}");
        other.signal(Signal::INT);
        assert_eq!(other.wait(), 0, "{case}: {}", other.log());
        let heard = fs::read_to_string(nodes.trace(1)).unwrap();
        assert!(!heard.contains("\"kind\":\"receive\""), "{case}: something arrived: {heard}");
    }
}
