//! Tests of failing disks. A node reports the error and stops, and sends nothing that depends on
//! unsaved state.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use tenure_runtime::ports::reserve_address;

use crate::nodes::Nodes;
use crate::strace::can_make_calls_fail;
use crate::waiting::cluster_slot;

/// Faults to inject while a node appends to its saved state for the first time. For each fault: the
/// system call that fails, the file, the error of the call, and the message that the node must
/// report. The node first writes the file of changes under a temporary name, and then renames it.
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

/// File on which a system call fails: the file of changes before or after its renaming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Next,
    Changes,
}

impl File {
    /// Returns the possible names of this file in the folder of the state.
    fn names(self) -> Vec<String> {
        match self {
            File::Next => vec!["log.next".to_owned()],
            File::Changes => (0..9).map(|number| format!("log-{number:010}")).collect(),
        }
    }
}

/// Returns the first words of a command line that runs a program under `strace`. The system call
/// `call` of this program on the files `names` fails with the error `error`. Because of the option
/// `-D`, the program is the direct child of the test.
fn failing(call: &str, error: &str, state: &Path, names: &[String]) -> Vec<String> {
    let mut line = ["strace", "-D", "-f", "-qq", "-o", "/dev/null"].map(str::to_owned).to_vec();
    for name in names {
        line.extend(["-P".to_owned(), state.join(name).display().to_string()]);
    }
    line.extend(["-e".to_owned(), format!("inject={call}:error={error}")]);
    line
}

#[test]
fn failing_disk_stops_the_node_before_it_sends() {
    assert_stops_before_sending(File::Next);
}

#[test]
fn failing_append_stops_the_node_before_it_sends() {
    assert_stops_before_sending(File::Changes);
}

/// A full disk is no wrong configuration. The next start must succeed once the disk has space.
#[test]
fn full_disk_leaves_no_incomplete_page_token() {
    let _slot = cluster_slot();
    if !can_make_calls_fail() {
        return;
    }
    let names = ["page.token", "page.token.new"].map(str::to_owned);
    for call in ["write", "fsync"] {
        let nodes = Nodes::on_loopback(1);
        let port = reserve_address().port();
        nodes.configure(1, &format!("[page]\nlisten = \"0.0.0.0:{port}\"\n"));
        let state = nodes.directory().join("p1.state");
        let mut failing = nodes.start(1, &failing(call, "ENOSPC", &state, &names));
        assert_eq!(failing.wait(), 4, "{call}: {}", failing.log());
        assert!(failing.log().contains("page.token"), "{call}: {}", failing.log());
        assert!(names.iter().all(|name| !state.join(name).exists()), "{call}");
        assert!(nodes.start(1, &[]).page().contains("/?token="), "{call}");
        fs::write(state.join("page.token"), "").unwrap();
        let mut misconfigured = nodes.start(1, &[]);
        assert_eq!(misconfigured.wait(), 2, "{call}: {}", misconfigured.log());
    }
}

fn assert_stops_before_sending(kind: File) {
    let _slot = cluster_slot();
    if !can_make_calls_fail() {
        return;
    }
    for (call, file, error, message) in FAULTS.into_iter().filter(|(_, file, ..)| *file == kind) {
        let nodes = Nodes::on_loopback(2);
        (1..=2).for_each(|me| nodes.configure(me, ""));
        let state = nodes.directory().join("p2.state");
        // This node has saved its state before. It writes the whole state again when it starts a
        // session.
        let mut before = nodes.start(2, &[]);
        before.follows(2);
        before.signal(Signal::KILL);
        before.wait();
        fs::remove_file(nodes.trace(2)).unwrap();
        let mut other = nodes.start(1, &[]);
        other.listens();
        let mut failing = nodes.start(2, &failing(call, error, &state, &file.names()));
        let (status, log) = (failing.wait(), failing.log());
        let case = format!("{call} {error}");
        assert_eq!(status, 4, "{case}: {log}");
        let last = log.lines().last().unwrap_or_default();
        assert!(last.contains(message) && last.contains("state"), "{case}: {log}");
        let trace = fs::read_to_string(nodes.trace(2)).unwrap();
        assert!(!trace.contains("\"kind\":\"send\""), "{case}: something left: {trace}");
        other.signal(Signal::INT);
        assert_eq!(other.wait(), 0, "{case}: {}", other.log());
        let peer_trace = fs::read_to_string(nodes.trace(1)).unwrap();
        assert!(
            !peer_trace.contains("\"kind\":\"receive\""),
            "{case}: something arrived: {peer_trace}"
        );
    }
}
