//! Disks that fail under a node: it says so and stops, and nothing leaves that depends on what
//! was not saved.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::nodes::Nodes;
use crate::strace::can_make_calls_fail;
use crate::waiting::place;

/// The ways in which the first change of a saved state fails: the system call, of which file, what
/// it says, and what the node says then. The file of changes is made under another name.
const FAULTS: [(&str, File, &str, &str); 8] = [
    ("openat", File::Next, "EIO", "cannot write"),
    ("write", File::Next, "EIO", "cannot write"),
    ("write", File::Next, "ENOSPC", "the disk is full"),
    ("fsync", File::Next, "EIO", "cannot write"),
    ("fsync", File::Next, "ENOSPC", "the disk is full"),
    ("/^rename", File::Next, "EIO", "cannot save"),
    ("write", File::Changes, "ENOSPC", "cannot save"),
    ("fdatasync", File::Changes, "EIO", "cannot save"),
];

/// A file of changes, before and after it has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Next,
    Changes,
}

impl File {
    /// How it may be called, in the folder of the state.
    fn names(self) -> Vec<String> {
        match self {
            File::Next => vec!["log.next".to_owned()],
            File::Changes => (0..9).map(|number| format!("log-{number:010}")).collect(),
        }
    }
}

/// A command line that makes a system call about a file fail. What it starts is the child of
/// whoever starts it, and the tracer is on its own.
fn failing(call: &str, error: &str, state: &Path, file: File) -> Vec<String> {
    let mut line = ["strace", "-D", "-f", "-qq", "-o", "/dev/null"].map(str::to_owned).to_vec();
    for name in file.names() {
        line.extend(["-P".to_owned(), state.join(name).display().to_string()]);
    }
    line.extend(["-e".to_owned(), format!("inject={call}:error={error}")]);
    line
}

#[test]
fn a_disk_that_fails_stops_the_node_before_anything_leaves() {
    stops_the_node_before_anything_leaves(File::Next);
}

#[test]
fn a_disk_that_fails_a_change_stops_the_node_before_anything_leaves() {
    stops_the_node_before_anything_leaves(File::Changes);
}

fn stops_the_node_before_anything_leaves(kind: File) {
    let _place = place();
    if !can_make_calls_fail() {
        eprintln!("skipped: needs strace");
        return;
    }
    for (call, file, error, says) in FAULTS.into_iter().filter(|(_, file, ..)| *file == kind) {
        let nodes = Nodes::on_loopback(2);
        (1..=2).for_each(|me| nodes.configure(me, ""));
        let state = nodes.directory().join("p2.state");
        // A node that never saved writes the whole, as it begins a session. This one has saved.
        let mut before = nodes.start(2, &[]);
        before.follows(2);
        before.signal(Signal::KILL);
        before.wait();
        fs::remove_file(nodes.trace(2)).unwrap();
        let mut other = nodes.start(1, &[]);
        other.listens();
        let mut failing = nodes.start(2, &failing(call, error, &state, file));
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
