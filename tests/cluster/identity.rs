//! Tests of the identity of nodes. A node with a wrong identity reports the reason and stops.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tempfile::TempDir;

use tenure_runtime::ports::reserve_address;

use crate::nodes::{Node, create_keys};
use crate::waiting::{cluster_slot, eventually};

/// Exit status of an evicted node. The peers of such a node reject it permanently.
const REJECTED: i32 = 5;

struct ClusterFiles {
    directory: TempDir,
    addresses: Vec<String>,
}

impl ClusterFiles {
    /// Creates the keys of a cluster's nodes in files. Creates no configuration files.
    fn new() -> ClusterFiles {
        let addresses = (0..3).map(|_| reserve_address().to_string()).collect();
        let files = ClusterFiles { directory: tempfile::tempdir().unwrap(), addresses };
        create_keys(3, &files.path("keys"));
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn config(&self, me: usize, state: &str) -> String {
        format!(
            "version = 1\n[cluster]\nname = \"demo\"\nme = {me}\naddresses = {:?}\n\
             private_key = {:?}\npublic_keys = {:?}\n[store]\ndirectory = {:?}\n",
            self.addresses,
            self.path(&format!("keys/p{me}.key")),
            self.path("keys/public.keys"),
            self.path(state),
        )
    }

    /// Returns the configuration of a node that listens at a different address. The test uses such
    /// a node instead of a node on another machine.
    fn elsewhere(&self, me: usize, state: &str) -> String {
        self.config(me, state).replace(&self.addresses[me - 1], &reserve_address().to_string())
    }

    fn start(&self, name: &str, config: &str) -> Node {
        let file = self.path(&format!("{name}.toml"));
        fs::write(&file, config).unwrap();
        let line = [env!("CARGO_BIN_EXE_tenure"), "node", "--config", file.to_str().unwrap()];
        Node::spawn(self.path(name), &line.map(str::to_owned))
    }

    fn start_all(&self) -> Vec<Node> {
        let states = ["state-1", "state-2", "state-3"];
        let start = |(index, state): (usize, &&str)| {
            self.start(&format!("p{}", index + 1), &self.config(index + 1, state))
        };
        let nodes: Vec<Node> = states.iter().enumerate().map(start).collect();
        nodes.iter().for_each(|node| node.reports_eventually("elected"));
        nodes
    }
}

impl Node {
    fn reports_eventually(&self, key: &str) {
        eventually(key, || self.reported(key).pop());
    }

    /// Sends SIGHUP to the node, and waits until the log shows that the node has reloaded its keys.
    /// `times` is the total number of reloads since the node started.
    #[track_caller]
    fn reload_keys(&self, times: usize) {
        self.signal(Signal::HUP);
        let count = || self.log().matches("keys reloaded").count();
        eventually("the keys", || (count() == times).then_some(()));
    }

    fn is_running(&mut self) -> bool {
        self.status().is_none()
    }

    /// Waits until the node has ended. Asserts its exit status, and that the last line of its log
    /// contains `words`.
    #[track_caller]
    fn assert_ends(&mut self, status: i32, words: &str) {
        let ended = self.wait();
        let err = self.log();
        assert_eq!(ended, status, "{err}");
        let last = err.lines().last().unwrap_or_default();
        assert!(last.starts_with("tenure: ") && last.contains(words), "{err}");
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::copy(from.join("state"), to.join("state")).unwrap();
}

#[test]
fn copied_state_is_detected_by_its_session() {
    let _slot = cluster_slot();
    let files = ClusterFiles::new();
    drop(files.start_all());
    copy(&files.path("state-3"), &files.path("copy"));
    let mut nodes = files.start_all();
    // The copy contains an earlier state, so it starts the session that the running node already
    // has.
    let mut copied = files.start("copy", &files.elsewhere(3, "copy"));
    copied.assert_ends(REJECTED, "from a copy of its state");
    assert!(nodes.iter_mut().all(Node::is_running));
    // The copy contains the current state, so it starts the next session. This session supersedes
    // that of the running node.
    copy(&files.path("state-3"), &files.path("next"));
    let mut next = files.start("next", &files.elsewhere(3, "next"));
    nodes[2].assert_ends(REJECTED, "a newer session of this process has been seen");
    assert!(next.is_running() && nodes[0].is_running() && nodes[1].is_running());
}

#[test]
fn node_with_lost_state_ends_while_its_peers_run() {
    let _slot = cluster_slot();
    let files = ClusterFiles::new();
    drop(files.start_all());
    let mut nodes = files.start_all();
    nodes.pop();
    fs::remove_dir_all(files.path("state-3")).unwrap();
    let mut amnesiac = files.start("p3", &files.config(3, "state-3"));
    amnesiac.assert_ends(REJECTED, "its saved state was lost");
    // P1 opens no connection. It learns from incoming connections that its state was lost.
    drop(nodes.remove(0));
    fs::remove_dir_all(files.path("state-1")).unwrap();
    let mut amnesiac = files.start("p1", &files.config(1, "state-1"));
    amnesiac.assert_ends(REJECTED, "its saved state was lost");
    assert!(nodes[0].is_running());
}

#[test]
fn node_of_another_cluster_or_size_is_rejected() {
    let _slot = cluster_slot();
    let files = ClusterFiles::new();
    let mut nodes = files.start_all();
    nodes.pop();
    let other = files.config(3, "other").replace("\"demo\"", "\"damo\"");
    files.start("p3", &other).assert_ends(REJECTED, "compare cluster.name");
    // A configuration with four addresses needs four keys.
    let public = files.path("keys/public.keys");
    let four = files.path("four.keys");
    fs::write(&four, format!("{}P4 {}\n", read(&public), "ab".repeat(32))).unwrap();
    let other = files.config(3, "four").replace("\"]", "\", \"127.0.0.1:1\"]");
    let other = other.replace(&format!("{public:?}"), &format!("{four:?}"));
    files.start("p3", &other).assert_ends(REJECTED, "compare cluster.addresses");
    assert!(nodes.iter_mut().all(Node::is_running));
}

#[test]
fn node_requires_its_own_state_and_a_private_key() {
    let _slot = cluster_slot();
    let files = ClusterFiles::new();
    let node = files.start("p1", &files.config(1, "state"));
    node.reports_eventually("ready");
    drop(node);
    files
        .start("p2", &files.config(2, "state"))
        .assert_ends(4, "belongs to P1 of 3 in the cluster");
    let key = files.path("keys/p1.key");
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    files.start("p1", &files.config(1, "state")).assert_ends(2, "chmod 600");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let mistaken = files.config(2, "two").replace("p2.key", "p1.key");
    files.start("p2", &mistaken).assert_ends(2, "not listed for P2");
}

/// Creates new keys for the processes of the cluster, in the folder `newer`. Returns the line with
/// the new public key of process P3.
fn another_key_of_p3(files: &ClusterFiles) -> String {
    create_keys(3, &files.path("newer"));
    let keys = read(&files.path("newer/public.keys"));
    keys.lines().find(|line| line.starts_with("P3 ")).unwrap().to_owned()
}

#[test]
fn node_changes_its_key_while_the_others_run() {
    let _slot = cluster_slot();
    let files = ClusterFiles::new();
    let mut nodes = files.start_all();
    let line = another_key_of_p3(&files);
    let public = files.path("keys/public.keys");
    fs::write(&public, format!("{}{line}\n", read(&public))).unwrap();
    let third = nodes.pop().unwrap();
    nodes.iter().for_each(|node| node.reload_keys(1));
    drop(third);
    let config = files.config(3, "state-3").replace("keys/p3.key", "newer/p3.key");
    let third = files.start("newer-p3", &config);
    third.reports_eventually("ready");
    for node in &nodes {
        // Session 2 of P3 is the first with its new key.
        eventually("P3", || node.log().contains("peer=P3 session=2").then_some(()));
    }
}

#[test]
fn node_reloads_its_key_without_a_restart() {
    let _slot = cluster_slot();
    let files = ClusterFiles::new();
    let mut nodes = files.start_all();
    let line = another_key_of_p3(&files);
    let public = files.path("keys/public.keys");
    let before = read(&public);
    fs::write(&public, format!("{before}{line}\n")).unwrap();
    nodes.iter().for_each(|node| node.reload_keys(1));
    fs::copy(files.path("newer/p3.key"), files.path("keys/p3.key")).unwrap();
    nodes[2].reload_keys(2);
    // The old key is no longer accepted.
    let others = before.lines().filter(|line| !line.starts_with("P3 "));
    let after: String = others.chain([line.as_str()]).map(|line| format!("{line}\n")).collect();
    fs::write(&public, after).unwrap();
    for (node, times) in nodes.iter().zip([2, 2, 3]) {
        node.reload_keys(times);
    }
    // P1 restarts, and knows only the new key of P3. P3 connects with this key, without a restart.
    drop(nodes.remove(0));
    let first = files.start("again-p1", &files.config(1, "state-1"));
    eventually("P3", || first.log().contains("peer=P3 session=1").then_some(()));
    // An invalid file changes nothing.
    fs::write(&public, "P1 nonsense\n").unwrap();
    nodes[1].signal(Signal::HUP);
    let warning = "keys not reloaded";
    eventually(warning, || nodes[1].log().contains(warning).then_some(()));
    assert!(nodes[1].is_running());
}

#[test]
fn remote_nodes_require_keys_or_an_explicit_waiver() {
    let _slot = cluster_slot();
    let files = ClusterFiles::new();
    let free = std::net::TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().to_string();
    let keys = |line: &&str| !line.starts_with("private_key") && !line.starts_with("public_keys");
    let sealed = files.config(1, "state").replace(&files.addresses[0], &free);
    let plain = sealed.lines().filter(keys).collect::<Vec<_>>().join("\n");
    files.start("plain", &plain).assert_ends(2, "`tenure keys new`");
    let insecure = plain.replace("me = 1", "me = 1\ninsecure = true");
    for (name, config) in [("sealed", sealed), ("insecure", insecure)] {
        files.start(name, &config).reports_eventually("ready");
    }
}
