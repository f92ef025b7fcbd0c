//! Who is who among real nodes: one that is not what it should be says so and ends.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use tenure_ports::reserved;

use crate::waiting::{eventually, place};

/// Its peers refuse a node for good.
const EXPELLED: i32 = 5;

/// The files of a cluster of three, and where its nodes listen.
struct Place {
    directory: TempDir,
    addresses: Vec<String>,
}

/// A node, ended when dropped.
struct Node {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Place {
    /// With keys for the group and nothing else.
    fn new() -> Place {
        let addresses = (0..3).map(|_| reserved().to_string()).collect();
        let place = Place { directory: tempfile::tempdir().unwrap(), addresses };
        let keys = place.path("keys").display().to_string();
        let made = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["keys", "new", "--nodes", "3", "--to", &keys])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The configuration of a node whose state is in `state`.
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

    /// The same, listening elsewhere: on another machine it would be at the same address.
    fn elsewhere(&self, me: usize, state: &str) -> String {
        self.config(me, state).replace(&self.addresses[me - 1], &reserved().to_string())
    }

    fn start(&self, name: &str, config: &str) -> Node {
        let file = |ending: &str| self.path(&format!("{name}.{ending}"));
        fs::write(file("toml"), config).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["node", "--config"])
            .arg(file("toml"))
            .stdin(Stdio::null())
            .stdout(File::create(file("out")).unwrap())
            .stderr(File::create(file("err")).unwrap())
            .spawn()
            .unwrap();
        Node { child, out: file("out"), err: file("err") }
    }

    /// All three, when each of them knows who leads.
    fn start_all(&self) -> Vec<Node> {
        let states = ["state-1", "state-2", "state-3"];
        let start = |(index, state): (usize, &&str)| {
            self.start(&format!("p{}", index + 1), &self.config(index + 1, state))
        };
        let nodes: Vec<Node> = states.iter().enumerate().map(start).collect();
        nodes.iter().for_each(|node| node.says("\"elected\""));
        nodes
    }
}

impl Node {
    /// Waits until the node has reported it.
    fn says(&self, what: &str) {
        eventually(what, || read(&self.out).contains(what).then_some(()));
    }

    /// Sends it HUP.
    fn hangs_up(&self) {
        kill_process(Pid::from_child(&self.child), Signal::HUP).unwrap();
    }

    /// Sends it HUP, and waits until it has read its keys so many times.
    #[track_caller]
    fn rereads_its_keys(&self, times: usize) {
        self.hangs_up();
        let said = || read(&self.err).matches("were read again").count();
        eventually("the keys", || (said() == times).then_some(()));
    }

    fn is_up(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end, which has to be this one, in words that mention these.
    #[track_caller]
    fn ends(&mut self, status: i32, words: &str) {
        let ended = eventually("the end of a node", || self.child.try_wait().unwrap());
        let err = read(&self.err);
        assert_eq!(ended.code(), Some(status), "{err}");
        let last = err.lines().last().unwrap_or_default();
        assert!(last.starts_with("tenure: ") && last.contains(words), "{err}");
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
fn of_two_nodes_with_copies_of_one_state_the_later_ends_and_of_two_in_a_row_the_earlier() {
    let _place = place();
    let place = Place::new();
    drop(place.start_all());
    copy(&place.path("state-3"), &place.path("copy"));
    let mut nodes = place.start_all();
    // A copy of what was saved before: the same session twice.
    let mut copied = place.start("copy", &place.elsewhere(3, "copy"));
    copied.ends(EXPELLED, "with a copy of its state");
    assert!(nodes.iter_mut().all(Node::is_up));
    // A copy of what is saved now: the next session, which supersedes the one that runs.
    copy(&place.path("state-3"), &place.path("next"));
    let mut next = place.start("next", &place.elsewhere(3, "next"));
    nodes[2].ends(EXPELLED, "a newer session of this process has been seen");
    assert!(next.is_up() && nodes[0].is_up() && nodes[1].is_up());
}

#[test]
fn a_node_that_lost_its_state_ends_while_its_peers_remember() {
    let _place = place();
    let place = Place::new();
    drop(place.start_all());
    let mut nodes = place.start_all();
    nodes.pop();
    fs::remove_dir_all(place.path("state-3")).unwrap();
    let mut forgetful = place.start("p3", &place.config(3, "state-3"));
    forgetful.ends(EXPELLED, "its saved state was lost");
    // The first dials nobody: it learns of it by being dialed.
    drop(nodes.remove(0));
    fs::remove_dir_all(place.path("state-1")).unwrap();
    let mut forgetful = place.start("p1", &place.config(1, "state-1"));
    forgetful.ends(EXPELLED, "its saved state was lost");
    assert!(nodes[0].is_up());
}

#[test]
fn a_node_of_another_cluster_or_a_group_of_another_size_ends_and_the_others_go_on() {
    let _place = place();
    let place = Place::new();
    let mut nodes = place.start_all();
    nodes.pop();
    let other = place.config(3, "other").replace("\"demo\"", "\"damo\"");
    place.start("p3", &other).ends(EXPELLED, "compare cluster.name");
    // Four addresses need four keys.
    let public = place.path("keys/public.keys");
    let four = place.path("four.keys");
    fs::write(&four, format!("{}P4 {}\n", read(&public), "ab".repeat(32))).unwrap();
    let other = place.config(3, "four").replace("\"]", "\", \"127.0.0.1:1\"]");
    let other = other.replace(&format!("{public:?}"), &format!("{four:?}"));
    place.start("p3", &other).ends(EXPELLED, "compare cluster.addresses");
    assert!(nodes.iter_mut().all(Node::is_up));
}

#[test]
fn a_node_takes_only_its_own_state_and_a_key_that_nobody_else_may_read() {
    let _place = place();
    let place = Place::new();
    let node = place.start("p1", &place.config(1, "state"));
    node.says("\"ready\"");
    drop(node);
    place.start("p2", &place.config(2, "state")).ends(4, "is that of P1 of 3 in the cluster");
    let key = place.path("keys/p1.key");
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    place.start("p1", &place.config(1, "state")).ends(2, "chmod 600");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let mistaken = place.config(2, "two").replace("p2.key", "p1.key");
    place.start("p2", &mistaken).ends(2, "not one that is listed for P2");
}

/// Other keys than those that the nodes have, in `newer`: what is listed for P3 there.
fn another_key_of_p3(place: &Place) -> String {
    let newer = place.path("newer").display().to_string();
    let made = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["keys", "new", "--nodes", "3", "--to", &newer])
        .stdout(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    let keys = read(&place.path("newer/public.keys"));
    keys.lines().find(|line| line.starts_with("P3 ")).unwrap().to_owned()
}

#[test]
fn a_node_changes_its_key_while_the_others_run() {
    let _place = place();
    let place = Place::new();
    let mut nodes = place.start_all();
    let line = another_key_of_p3(&place);
    let public = place.path("keys/public.keys");
    fs::write(&public, format!("{}{line}\n", read(&public))).unwrap();
    let third = nodes.pop().unwrap();
    nodes.iter().for_each(|node| node.rereads_its_keys(1));
    drop(third);
    let config = place.config(3, "state-3").replace("keys/p3.key", "newer/p3.key");
    let third = place.start("newer-p3", &config);
    third.says("\"ready\"");
    for node in &nodes {
        // Session 2 of P3 is the first with its new key.
        eventually("P3", || read(&node.err).contains("peer=P3 session=2").then_some(()));
    }
}

#[test]
fn a_node_takes_its_new_key_without_a_restart_and_proves_it_from_then_on() {
    let _place = place();
    let place = Place::new();
    let mut nodes = place.start_all();
    let line = another_key_of_p3(&place);
    let public = place.path("keys/public.keys");
    let before = read(&public);
    fs::write(&public, format!("{before}{line}\n")).unwrap();
    nodes.iter().for_each(|node| node.rereads_its_keys(1));
    fs::copy(place.path("newer/p3.key"), place.path("keys/p3.key")).unwrap();
    nodes[2].rereads_its_keys(2);
    // Nobody takes the old one any more.
    let others = before.lines().filter(|line| !line.starts_with("P3 "));
    let after: String = others.chain([line.as_str()]).map(|line| format!("{line}\n")).collect();
    fs::write(&public, after).unwrap();
    for (node, times) in nodes.iter().zip([2, 2, 3]) {
        node.rereads_its_keys(times);
    }
    // P3, which was never started anew, dials P1, which knows the new key alone.
    drop(nodes.remove(0));
    let first = place.start("again-p1", &place.config(1, "state-1"));
    eventually("P3", || read(&first.err).contains("peer=P3 session=1").then_some(()));
    // A file that is wrong changes nothing.
    fs::write(&public, "P1 nonsense\n").unwrap();
    nodes[1].hangs_up();
    let stay = "the keys that were read before stay";
    eventually(stay, || read(&nodes[1].err).contains(stay).then_some(()));
    assert!(nodes[1].is_up());
}

#[test]
fn beyond_loopback_a_node_needs_keys_or_somebody_who_does_not_want_them() {
    let _place = place();
    let place = Place::new();
    let free = std::net::TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().to_string();
    let keys = |line: &&str| !line.starts_with("private_key") && !line.starts_with("public_keys");
    let sealed = place.config(1, "state").replace(&place.addresses[0], &free);
    let plain = sealed.lines().filter(keys).collect::<Vec<_>>().join("\n");
    place.start("plain", &plain).ends(2, "`tenure keys new`");
    let insecure = plain.replace("me = 1", "me = 1\ninsecure = true");
    for (name, config) in [("sealed", sealed), ("insecure", insecure)] {
        place.start(name, &config).says("\"ready\"");
    }
}
