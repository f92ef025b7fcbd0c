//! Tests of a member of a lock service whose disk fails or is corrupted. The member stops with an
//! error, and acknowledges nothing that is not saved.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fastrand::Rng;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use tenure_runtime::ports::reserve_address;

use crate::nodes::Node;
use crate::skipped::report_skip;
use crate::strace::can_make_calls_fail;
use crate::waiting::{cluster_slot, eventually};

/// Key at which the tests put values, in base64.
const KEY: &str = "bGFzdA==";

struct Member {
    directory: TempDir,
    clients: SocketAddr,
    snapshot_count: u64,
}

impl Member {
    fn new() -> Member {
        Member::with_snapshots_after(10_000)
    }

    fn with_snapshots_after(snapshot_count: u64) -> Member {
        let directory = tempfile::tempdir().unwrap();
        Member { directory, clients: reserve_address(), snapshot_count }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Starts the member. `within` contains the first words of the command line, for example those
    /// of a tracer.
    fn start(&self, within: &[String]) -> Node {
        let mut line = within.to_vec();
        line.push(env!("CARGO_BIN_EXE_tenure").to_owned());
        let Member { clients, snapshot_count, .. } = self;
        let (state, kept) = (self.state(), snapshot_count / 10);
        let options = format!(
            "serve --listen-client-urls http://{clients} --data-dir {} --heartbeat-interval 5 \
             --election-timeout 20 --snapshot-count {snapshot_count} \
             --snapshot-catchup-entries {kept}",
            state.display()
        );
        line.extend(options.split_whitespace().map(str::to_owned));
        Node::spawn(self.path("member"), &line)
    }

    /// Sends one request to the member. Returns the body of a successful response, else `None`.
    fn ask(&self, path: &str, body: &Value) -> Option<Value> {
        let mut stream = TcpStream::connect(self.clients).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        let (body, mut response) = (body.to_string(), String::new());
        let length = body.len();
        write!(stream, "POST /v3/kv/{path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}")
            .ok()?;
        stream.read_to_string(&mut response).ok()?;
        let response: Value = serde_json::from_str(response.split_once("\r\n\r\n")?.1).ok()?;
        response.get("header").is_some().then_some(response)
    }

    /// Sends a request until the member responds. Returns `None` if the member has ended.
    fn response_of(&self, node: &mut Node, path: &str, body: &Value) -> Option<Value> {
        eventually("a response or an end", || {
            let response = self.ask(path, body);
            response.map(Some).or_else(|| node.status().map(|_| None))
        })
    }

    /// Puts a number as a value. Returns true if the member acknowledges the put, and false if it
    /// has ended.
    fn put(&self, node: &mut Node, number: u64) -> bool {
        // Eight digits are valid base64, and need no encoding.
        let body = json!({ "key": KEY, "value": format!("{number:08}") });
        self.response_of(node, "put", &body).is_some()
    }

    /// Reads the number that was put last. Returns 0 if no number was put, and `None` if the member
    /// has ended.
    fn last(&self, node: &mut Node) -> Option<u64> {
        let response = self.response_of(node, "range", &json!({ "key": KEY }))?;
        let value = response["kvs"][0]["value"].as_str();
        Some(value.map_or(0, |digits| digits.parse().unwrap()))
    }

    /// Starts the member, puts the numbers from 1 to `last`, and kills it.
    fn count_to(&self, last: u64) {
        let mut node = self.start(&[]);
        for number in 1..=last {
            assert!(self.put(&mut node, number), "{}", node.log());
        }
        node.signal(Signal::KILL);
        node.wait();
    }
}

fn last_log_line(node: &Node) -> String {
    node.log().lines().last().unwrap_or_default().to_owned()
}

/// Returns the start of a command line under which system calls of one kind fail. The first
/// `number` − 1 calls succeed, and all later calls fail. All calls of this kind are recorded in the
/// file `calls`.
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
        return;
    }
    for (call, error, message) in
        [("fdatasync", "EIO", "cannot save"), ("pwrite64,write", "ENOSPC", "cannot save")]
    {
        let member = Member::new();
        member.count_to(2);
        let calls = member.path("calls");
        let line = failing(&member.state(), call, 5, error, &calls);
        let mut node = member.start(&line);
        let counted = (3..60).take_while(|number| member.put(&mut node, *number)).last();
        let counted = counted.unwrap_or(2);
        assert_eq!(node.wait(), 4, "{call}: {}", node.log());
        let words = last_log_line(&node);
        assert!(words.contains(message), "{call}: {words}");
        // The member must not retry the failed call.
        let calls = fs::read_to_string(&calls).unwrap();
        let failed = calls.lines().position(|line| line.contains(error));
        let failed = failed.unwrap_or_else(|| panic!("{call} did not fail: {calls}"));
        let again = |line: &&str| line.contains("sync(") || line.contains("write");
        let again: Vec<&str> = calls.lines().skip(failed + 1).filter(again).collect();
        assert_eq!(again, [""; 0], "{call}: {calls}");
        // The member has either the acknowledged number, or the next number, whose put was not
        // acknowledged.
        let found = member.last(&mut member.start(&[])).expect("a disk that works again");
        assert!((counted..=counted + 1).contains(&found), "{call}: {counted}, and {found} later");
    }
}

/// Parts of a member's state. The tests inject faults into the files of each part. The parts are
/// the snapshot, the next snapshot, the next segment of the log, the existing segments of the log,
/// and the folder.
const PARTS: [&str; 5] = ["state", "state.next", "log.next", "log-", ""];

/// Returns the start of a command line that runs a member under `strace`. `strace` records the
/// system calls on the files of `part`, one of [`PARTS`], in the file `calls`. If `fault` is not
/// empty, `strace` injects this fault into these calls.
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

fn kinds(calls: &Path) -> BTreeSet<String> {
    let calls = fs::read_to_string(calls).unwrap_or_default();
    let of = |line: &str| {
        let (name, _) = line.split_once(' ')?.1.trim_start().split_once('(')?;
        name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_').then(|| name.to_owned())
    };
    calls.lines().filter_map(of).collect()
}

/// A member into which a test injects faults. Meanwhile the test puts the numbers 1, 2, 3 and so
/// on.
struct FaultRun {
    member: Member,
    counted: u64,
}

impl FaultRun {
    /// Injects a fault into the system calls on one part of the state, while the member serves a
    /// few puts and takes snapshots. Returns the number of runs in which the fault stopped the
    /// member.
    ///
    /// Each kind of call has several runs. In the first run, the fault hits the first call of this
    /// kind. In the second run, it hits the second call, and so on. Each thread counts its own
    /// calls.
    fn inject_at_each_call(&mut self, part: &str, fault: impl Fn(&str) -> Option<String>) -> u32 {
        let calls = self.member.path("calls");
        self.count(&traced(&self.member.state(), part, "", &calls));
        self.assert_found("nothing");
        let mut times = 0;
        for call in kinds(&calls) {
            let Some(fault) = fault(&call) else { continue };
            for at in 1.. {
                let (state, line) = (self.member.state(), format!("{call}:{fault}:when={at}"));
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

    /// Starts the member and puts up to eight numbers, which is enough for two snapshots. Returns
    /// true if the member survives. If the member ends early, asserts that its log states the
    /// reason, and returns false.
    fn count(&mut self, within: &[String]) -> bool {
        let mut node = self.member.start(within);
        for _ in 0..8 {
            if !self.member.put(&mut node, self.counted + 1) {
                let status = node.wait();
                assert!([-1, 4].contains(&status), "{within:?}: {status} {}", node.log());
                let words = last_log_line(&node);
                assert!(status < 0 || words.contains("cannot") || words.contains("disk"));
                return false;
            }
            self.counted += 1;
        }
        true
    }

    /// Restarts the member without faults, and reads the number that it has stored. Asserts that
    /// the member has stored the last acknowledged number or the next number. The put of the next
    /// number was not acknowledged, but the member may have saved it.
    fn assert_found(&mut self, case: &str) {
        let mut node = self.member.start(&[]);
        let found = self.member.last(&mut node);
        let Some(found) = found else { panic!("{case}: {}", node.log()) };
        let counted = self.counted;
        assert!((counted..=counted + 1).contains(&found), "{case}: {counted}, then {found}");
        self.counted = found;
        node.signal(Signal::KILL);
        node.wait();
    }
}

/// Injects a fault into each system call that saves entries or snapshots. A run has only one fault.
/// Returns the number of faults for each part in [`PARTS`].
fn inject_at_each(fault: impl Fn(&str) -> Option<String>) -> [u32; PARTS.len()] {
    let mut run = FaultRun { member: Member::with_snapshots_after(3), counted: 0 };
    let times = PARTS.map(|part| run.inject_at_each_call(part, &fault));
    eprintln!("faults by {PARTS:?}: {times:?}");
    times
}

#[test]
#[ignore = "a hundred starts: cargo test -p tenure --test cluster -- --ignored log_storage::"]
fn crashes_during_snapshots_lose_no_acknowledged_values() {
    let _slot = cluster_slot();
    let kills = inject_at_each(|_| Some("signal=KILL".to_owned()));
    assert!(kills.iter().all(|kills| *kills > 0), "kills: {kills:?}");
}

/// In each run, injects an error into one system call of a snapshot. The member must stop, and no
/// acknowledged value may be lost. The test fails if the member retries the call and continues.
#[test]
#[ignore = "a hundred starts: cargo test -p tenure --test cluster -- --ignored log_storage::"]
fn failed_snapshot_calls_stop_the_member_without_loss() {
    let _slot = cluster_slot();
    let failed = inject_at_each(|call| match call {
        "fsync" | "fdatasync" | "rename" | "renameat" | "renameat2" => Some("error=EIO".to_owned()),
        "write" | "pwrite64" | "fallocate" | "ftruncate" => Some("error=ENOSPC".to_owned()),
        _ => None,
    });
    let [_, whole, segment, changes, folder] = failed;
    assert!([whole, segment, changes, folder].iter().all(|failed| *failed > 0), "{failed:?}");
}

/// Returns the positions in a file at which a test damages the file. The positions are in the
/// header, in records, in the last record, and after the last record.
fn positions(rng: &mut Rng, bytes: &[u8]) -> Vec<usize> {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut positions: Vec<usize> = (0..6).map(|_| rng.usize(..used.max(1))).collect();
    positions.extend([0, used.saturating_sub(1), used + 7, bytes.len() - 1]);
    positions.retain(|place| *place < bytes.len());
    positions
}

#[test]
fn flipped_bits_stop_the_member_or_change_nothing() {
    let _slot = cluster_slot();
    flipped(&Member::new());
    // The member stores about six entries and takes a snapshot after three, so bits of the snapshot
    // are flipped as well.
    let refused = flipped(&Member::with_snapshots_after(3));
    assert!(refused.iter().any(|name| name == "state"), "rejected: {refused:?}");
}

/// Flips single bits in the files of the member's state, and restarts the member after each flip.
/// Returns the name of the damaged file for each flip that the member reported.
fn flipped(member: &Member) -> Vec<String> {
    member.count_to(5);
    let state = member.state();
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
            let mut node = member.start(&[]);
            let case = format!("byte {place} of {}", path.display());
            match member.last(&mut node) {
                Some(last) => assert_eq!(last, 5, "{case}"),
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
fn full_disk_stops_the_member_without_loss() {
    let _slot = cluster_slot();
    let member = Member::new();
    let state = member.state();
    fs::create_dir(&state).unwrap();
    let Some(mount) = Mount::in_memory(state, "200k") else { return };
    let mut node = member.start(&[]);
    let counted = (1..100_000).take_while(|number| member.put(&mut node, *number)).last();
    let counted = counted.unwrap_or(0);
    assert_eq!(node.wait(), 4, "{}", node.log());
    let words = last_log_line(&node);
    assert!(words.contains("No space left") || words.contains("the disk is full"), "{words}");
    let larger = Command::new("mount").args(["-o", "remount,size=2m"]).arg(&mount.0).status();
    assert!(larger.unwrap().success());
    let found = member.last(&mut member.start(&[])).expect("there is room again");
    assert!((counted..=counted + 1).contains(&found), "{counted}, and {found} later");
}

/// A mounted file system, which is unmounted when this value is dropped.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts a file system in memory at the folder `place`. If this user may not do so, prints a
    /// message and returns `None`.
    pub(crate) fn in_memory(place: PathBuf, size: &str) -> Option<Mount> {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&place);
        let status = command.stderr(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            report_skip("the right to mount a file system");
            return None;
        }
        Some(Mount(place))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
