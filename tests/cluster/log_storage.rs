//! Nodes with a replicated log on failing or corrupted disks: they stop with an error, and
//! acknowledge nothing unsaved.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fastrand::Rng;
use rustix::process::Signal;

use tenure_ports::reserved;

use crate::nodes::{Node, Nodes};
use crate::strace::can_make_calls_fail;
use crate::waiting::{cluster_slot, eventually};

/// A group of one node with a log for clients.
struct LogNode {
    nodes: Nodes,
    clients: SocketAddr,
}

impl LogNode {
    fn new() -> LogNode {
        LogNode::with_snapshots_after(10_000)
    }

    fn with_snapshots_after(entries: u64) -> LogNode {
        let nodes = Nodes::on_loopback(1);
        let clients = reserved();
        let section = format!(
            "[log]\nalgorithm = \"raft-log\"\nclients = \"{clients}\"\nelection_ms = [20, 40]\n\
             snapshot_after = {entries}\n"
        );
        nodes.configure(1, &section);
        LogNode { nodes, clients }
    }

    fn state(&self) -> PathBuf {
        self.nodes.directory().join("p1.state")
    }

    /// Sends one request; `None` without a response.
    fn ask(&self, question: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.clients).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        writeln!(stream, "{question}").ok()?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).ok()?;
        answer.strip_suffix('\n').map(str::to_owned)
    }

    /// Repeats a request until the node responds as leader, or has ended.
    fn response_of(&self, node: &mut Node, question: &str) -> Option<String> {
        eventually("an answer or an end", || {
            let answer = self.ask(question).filter(|answer| !answer.starts_with("refused"));
            answer.map(Some).or_else(|| node.status().map(|_| None))
        })
    }

    /// Starts a node, increments the counter up to `last`, and kills the node.
    fn count_to(&self, last: u64) {
        let mut node = self.nodes.start(1, &[]);
        for number in 1..=last {
            let answer = self.response_of(&mut node, &format!("add 1.{number}"));
            assert_eq!(answer.as_deref(), Some(&*format!("counter {number}")), "{}", node.log());
        }
        node.signal(Signal::KILL);
        node.wait();
    }
}

/// The last line of a log.
fn last_log_line(node: &Node) -> String {
    node.log().lines().last().unwrap_or_default().to_owned()
}

/// A command line that makes this call fail from this number on, and records the calls.
fn failing(state: &Path, call: &str, number: u32, error: &str, calls: &Path) -> Vec<String> {
    let mut line = ["strace", "-D", "-f", "-qq", "-o"].map(str::to_owned).to_vec();
    line.push(calls.display().to_string());
    for log in 0..9 {
        line.extend(["-P".to_owned(), state.join(format!("log-{log:010}")).display().to_string()]);
    }
    line.push("-e".to_owned());
    line.push(format!("inject={call}:error={error}:when={number}+"));
    line
}

#[test]
fn failed_save_is_neither_acknowledged_nor_retried() {
    let _slot = cluster_slot();
    if !can_make_calls_fail() {
        eprintln!("skipped: needs strace");
        return;
    }
    for (call, error, message) in
        [("fdatasync", "EIO", "cannot save"), ("pwrite64,write", "ENOSPC", "cannot save")]
    {
        let log_node = LogNode::new();
        log_node.count_to(2);
        let calls = log_node.nodes.directory().join("calls");
        let line = failing(&log_node.state(), call, 5, error, &calls);
        let mut node = log_node.nodes.start(1, &line);
        let mut counted = 2;
        for number in 3..60 {
            match log_node.response_of(&mut node, &format!("add 1.{number}")) {
                Some(answer) => counted = answer.strip_prefix("counter ").unwrap().parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(node.wait(), 4, "{call}: {}", node.log());
        let words = last_log_line(&node);
        assert!(words.contains(message), "{call}: {words}");
        // After the failed call there is no retry.
        let calls = fs::read_to_string(&calls).unwrap();
        let failed = calls.lines().position(|line| line.contains(error));
        let failed = failed.unwrap_or_else(|| panic!("{call} did not fail: {calls}"));
        let again = |line: &&str| line.contains("sync(") || line.contains("write");
        let again: Vec<&str> = calls.lines().skip(failed + 1).filter(again).collect();
        assert_eq!(again, [""; 0], "{call}: {calls}");
        // Acknowledged increments exist; the unacknowledged one may exist.
        let mut node = log_node.nodes.start(1, &[]);
        let found =
            log_node.response_of(&mut node, "get counter").expect("a disk that works again");
        let found: u64 = found.strip_prefix("counter ").unwrap().parse().unwrap();
        assert!((counted..=counted + 1).contains(&found), "{call}: {counted}, and {found} later");
    }
}

/// Files of a state: the snapshot, the next snapshot, the next segment, the segments, the folder.
/// Calls are counted separately for each.
const PARTS: [&str; 5] = ["state", "state.next", "log.next", "log-", ""];

/// A command line that records the calls on this part of the state, and injects `fault` if it is
/// not empty.
fn traced(state: &Path, part: &str, fault: &str, calls: &Path) -> Vec<String> {
    let mut line = ["strace", "-D", "-f", "-qq", "-o"].map(str::to_owned).to_vec();
    line.push(calls.display().to_string());
    let segments = |log: u32| state.join(format!("log-{log:010}"));
    let files = match part {
        "log-" => (0..400).map(segments).collect(),
        file => vec![state.join(file)],
    };
    line.extend(files.iter().flat_map(|file| ["-P".to_owned(), file.display().to_string()]));
    if !fault.is_empty() {
        line.extend(["-e".to_owned(), format!("inject={fault}")]);
    }
    line
}

/// The names of the recorded calls.
fn kinds(calls: &Path) -> BTreeSet<String> {
    let calls = fs::read_to_string(calls).unwrap_or_default();
    let of = |line: &str| {
        let (name, _) = line.split_once(' ')?.1.trim_start().split_once('(')?;
        name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_').then(|| name.to_owned())
    };
    calls.lines().filter_map(of).collect()
}

/// A group of one node that increments its counter under faults.
struct FaultRun {
    log_node: LogNode,
    counted: u64,
    number: u64,
}

impl FaultRun {
    /// Injects a fault into each call of a few increments and snapshots on one part of the state:
    /// for each kind of call, into the first, the second and so on, counted by thread.
    fn inject_at_each_call(&mut self, part: &str, fault: impl Fn(&str) -> Option<String>) -> u32 {
        let calls = self.log_node.nodes.directory().join("calls");
        self.count(&traced(&self.log_node.state(), part, "", &calls));
        self.assert_found("nothing");
        let mut times = 0;
        for call in kinds(&calls) {
            let Some(fault) = fault(&call) else { continue };
            for at in 1.. {
                let (state, line) = (self.log_node.state(), format!("{call}:{fault}:when={at}"));
                let is_alive = self.count(&traced(&state, part, &line, &calls));
                self.assert_found(&format!("{line} of `{part}`"));
                if is_alive {
                    break;
                }
                times += 1;
            }
        }
        times
    }

    /// Increments while the node responds, enough for two snapshots; returns true if the node
    /// survives. Otherwise it reports the reason.
    fn count(&mut self, within: &[String]) -> bool {
        let mut node = self.log_node.nodes.start(1, within);
        for _ in 0..8 {
            self.number += 1;
            match self.log_node.response_of(&mut node, &format!("add 1.{}", self.number)) {
                Some(answer) => {
                    self.counted = answer.strip_prefix("counter ").unwrap().parse().unwrap();
                }
                None => {
                    let status = node.wait();
                    assert!([-1, 4].contains(&status), "{within:?}: {status} {}", node.log());
                    let words = last_log_line(&node);
                    assert!(status < 0 || words.contains("cannot") || words.contains("disk"));
                    return false;
                }
            }
        }
        true
    }

    /// Checks that all acknowledged increments exist, and at most one more.
    fn assert_found(&mut self, case: &str) {
        let mut node = self.log_node.nodes.start(1, &[]);
        let found = self.log_node.response_of(&mut node, "get counter");
        let Some(found) = found else { panic!("{case}: {}", node.log()) };
        let found: u64 = found.strip_prefix("counter ").unwrap().parse().unwrap();
        let counted = self.counted;
        assert!((counted..=counted + 1).contains(&found), "{case}: {counted}, then {found}");
        self.counted = found;
        node.signal(Signal::KILL);
        node.wait();
    }
}

/// Injects faults into all calls that save entries and snapshots, one at a time.
fn inject_at_each(fault: impl Fn(&str) -> Option<String>) -> [u32; PARTS.len()] {
    let log_node = LogNode::with_snapshots_after(3);
    let mut run = FaultRun { log_node, counted: 0, number: 0 };
    let times = PARTS.map(|part| run.inject_at_each_call(part, &fault));
    eprintln!("faults by {PARTS:?}: {times:?}");
    times
}

#[test]
#[ignore = "a hundred starts: cargo test -p tenure --test cluster -- --ignored log_storage::"]
fn crashes_during_snapshots_lose_no_acknowledged_entries() {
    let _slot = cluster_slot();
    let kills = inject_at_each(|_| Some("signal=KILL".to_owned()));
    assert!(kills.iter().all(|kills| *kills > 0), "kills: {kills:?}");
}

/// Only one call fails: a node with retries would continue.
#[test]
#[ignore = "a hundred starts: cargo test -p tenure --test cluster -- --ignored log_storage::"]
fn failed_snapshot_calls_stop_the_node_without_loss() {
    let _slot = cluster_slot();
    let failed = inject_at_each(|call| match call {
        "fsync" | "fdatasync" | "rename" | "renameat" | "renameat2" => Some("error=EIO".to_owned()),
        "write" | "pwrite64" | "fallocate" | "ftruncate" => Some("error=ENOSPC".to_owned()),
        _ => None,
    });
    let [_, whole, segment, changes, folder] = failed;
    assert!([whole, segment, changes, folder].iter().all(|failed| *failed > 0), "{failed:?}");
}

/// Deterministic positions: in the header, in records, in the last one, and after it.
fn positions(rng: &mut Rng, bytes: &[u8]) -> Vec<usize> {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut positions: Vec<usize> = (0..6).map(|_| rng.usize(..used.max(1))).collect();
    positions.extend([0, used.saturating_sub(1), used + 7, bytes.len() - 1]);
    positions.retain(|place| *place < bytes.len());
    positions
}

#[test]
fn flipped_bits_stop_the_node_or_change_nothing() {
    let _slot = cluster_slot();
    flipped(&LogNode::new());
    // With about six entries, a snapshot replaces the first ones.
    let refused = flipped(&LogNode::with_snapshots_after(3));
    assert!(refused.iter().any(|name| name == "state"), "rejected: {refused:?}");
}

/// The rejected files, with repetition.
fn flipped(log_node: &LogNode) -> Vec<String> {
    log_node.count_to(5);
    let state = log_node.state();
    let files = fs::read_dir(&state).unwrap().map(|file| file.unwrap().path());
    let files: Vec<(PathBuf, Vec<u8>)> =
        files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    let (mut rng, mut refused) = (Rng::with_seed(1), Vec::new());
    for (path, sound) in files.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        for place in positions(&mut rng, sound) {
            fs::remove_dir_all(&state).unwrap();
            fs::create_dir(&state).unwrap();
            files.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
            let mut fault = sound.clone();
            fault[place] ^= 1 << rng.u32(..8);
            fs::write(path, fault).unwrap();
            let mut node = log_node.nodes.start(1, &[]);
            let case = format!("byte {place} of {}", path.display());
            match log_node.response_of(&mut node, "get counter") {
                Some(answer) => assert_eq!(answer, "counter 5", "{case}"),
                None => {
                    refused.push(path.file_name().unwrap().display().to_string());
                    assert_eq!(node.wait(), 4, "{case}: {}", node.log());
                    let (words, name) = (last_log_line(&node), path.display().to_string());
                    assert!(words.contains(&name), "{case} is missing in: {words}");
                }
            }
        }
    }
    assert!(refused.len() >= 10, "rejected: {refused:?}");
    refused
}

#[test]
fn full_disk_stops_the_node_without_loss() {
    let _slot = cluster_slot();
    let log_node = LogNode::new();
    let state = log_node.state();
    fs::create_dir(&state).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=200k", "tmpfs"])
        .arg(&state)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: needs root");
        return;
    }
    let _mount = Mount(state);
    let (mut node, mut counted) = (log_node.nodes.start(1, &[]), 0);
    for number in 1..100_000_u64 {
        match log_node.response_of(&mut node, &format!("add 1.{number}")) {
            Some(answer) => counted = answer.strip_prefix("counter ").unwrap().parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(node.wait(), 4, "{}", node.log());
    let words = last_log_line(&node);
    assert!(words.contains("No space left") || words.contains("the disk is full"), "{words}");
    let larger =
        std::process::Command::new("mount").args(["-o", "remount,size=2m"]).arg(&_mount.0).status();
    assert!(larger.unwrap().success());
    let mut node = log_node.nodes.start(1, &[]);
    let found = log_node.response_of(&mut node, "get counter").expect("there is room again");
    let found: u64 = found.strip_prefix("counter ").unwrap().parse().unwrap();
    assert!((counted..=counted + 1).contains(&found), "{counted}, and {found} later");
}

/// A mounted file system, unmounted on drop.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
