//! A node that keeps a log on a disk that fails or lies: it stops with a sentence, and answers
//! nothing that is not so.

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
use crate::waiting::{eventually, place};

/// A group of one, which keeps a log for clients there.
struct Keeper {
    nodes: Nodes,
    clients: SocketAddr,
}

impl Keeper {
    fn new() -> Keeper {
        Keeper::with_snapshots_after(10_000)
    }

    fn with_snapshots_after(entries: u64) -> Keeper {
        let nodes = Nodes::on_loopback(1);
        let clients = reserved();
        let section = format!(
            "[log]\nalgorithm = \"raft-log\"\nclients = \"{clients}\"\nelection_ms = [20, 40]\n\
             snapshot_after = {entries}\n"
        );
        nodes.configure(1, &section);
        Keeper { nodes, clients }
    }

    fn state(&self) -> PathBuf {
        self.nodes.directory().join("p1.state")
    }

    /// Asks once; nothing where there is no answer.
    fn ask(&self, question: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.clients).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        writeln!(stream, "{question}").ok()?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).ok()?;
        answer.strip_suffix('\n').map(str::to_owned)
    }

    /// Asks until the node leads and answers, or has ended.
    fn answered(&self, node: &mut Node, question: &str) -> Option<String> {
        eventually("an answer or an end", || {
            let answer = self.ask(question).filter(|answer| !answer.starts_with("refused"));
            answer.map(Some).or_else(|| node.status().map(|_| None))
        })
    }

    /// A node that has counted so far and was killed then.
    fn counts_to(&self, last: u64) {
        let mut node = self.nodes.start(1, &[]);
        for number in 1..=last {
            let answer = self.answered(&mut node, &format!("add 1.{number}"));
            assert_eq!(answer.as_deref(), Some(&*format!("counter {number}")), "{}", node.log());
        }
        node.signal(Signal::KILL);
        node.wait();
    }
}

/// What a node says last.
fn last_words(node: &Node) -> String {
    node.log().lines().last().unwrap_or_default().to_owned()
}

/// A save that fails at this call, the one of this number, with this error; and what was called is
/// written down.
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
fn what_a_disk_did_not_save_is_not_acknowledged_and_not_tried_again() {
    let _place = place();
    if !can_make_calls_fail() {
        eprintln!("skipped: needs strace");
        return;
    }
    for (call, error, says) in
        [("fdatasync", "EIO", "cannot save"), ("pwrite64,write", "ENOSPC", "cannot save")]
    {
        let keeper = Keeper::new();
        keeper.counts_to(2);
        let calls = keeper.nodes.directory().join("calls");
        let line = failing(&keeper.state(), call, 5, error, &calls);
        let mut node = keeper.nodes.start(1, &line);
        let mut counted = 2;
        for number in 3..60 {
            match keeper.answered(&mut node, &format!("add 1.{number}")) {
                Some(answer) => counted = answer.strip_prefix("counter ").unwrap().parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(node.wait(), 4, "{call}: {}", node.log());
        let words = last_words(&node);
        assert!(words.contains(says), "{call}: {words}");
        // After the call that failed nothing was tried again.
        let calls = fs::read_to_string(&calls).unwrap();
        let failed = calls.lines().position(|line| line.contains(error));
        let failed = failed.unwrap_or_else(|| panic!("{call} did not fail: {calls}"));
        let again = |line: &&str| line.contains("sync(") || line.contains("write");
        let again: Vec<&str> = calls.lines().skip(failed + 1).filter(again).collect();
        assert_eq!(again, [""; 0], "{call}: {calls}");
        // What was acknowledged is there; what was not may be.
        let mut node = keeper.nodes.start(1, &[]);
        let found = keeper.answered(&mut node, "get counter").expect("a disk that works again");
        let found: u64 = found.strip_prefix("counter ").unwrap().parse().unwrap();
        assert!((counted..=counted + 1).contains(&found), "{call}: {counted}, and {found} later");
    }
}

/// What a state consists of: the whole, the next whole, the next segment, the segments, the folder.
/// Calls are counted of each by itself.
const PARTS: [&str; 5] = ["state", "state.next", "log.next", "log-", ""];

/// A node whose calls that concern this part of its state are written down, and hurt like this, if
/// it is hurt.
fn traced(state: &Path, part: &str, hurt: &str, calls: &Path) -> Vec<String> {
    let mut line = ["strace", "-D", "-f", "-qq", "-o"].map(str::to_owned).to_vec();
    line.push(calls.display().to_string());
    let segments = |log: u32| state.join(format!("log-{log:010}"));
    let files = match part {
        "log-" => (0..400).map(segments).collect(),
        file => vec![state.join(file)],
    };
    line.extend(files.iter().flat_map(|file| ["-P".to_owned(), file.display().to_string()]));
    if !hurt.is_empty() {
        line.extend(["-e".to_owned(), format!("inject={hurt}")]);
    }
    line
}

/// The kinds of calls in what was written down.
fn kinds(calls: &Path) -> BTreeSet<String> {
    let calls = fs::read_to_string(calls).unwrap_or_default();
    let of = |line: &str| {
        let (name, _) = line.split_once(' ')?.1.trim_start().split_once('(')?;
        name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_').then(|| name.to_owned())
    };
    calls.lines().filter_map(of).collect()
}

/// A group of one that counts on and on, while its node is hurt.
struct Hurt {
    keeper: Keeper,
    counted: u64,
    number: u64,
}

impl Hurt {
    /// The calls of a few increments and snapshots that concern a part of the state: of each kind
    /// that there is, and of each of these, the first, the second and so on, counted by thread.
    fn at_each(&mut self, part: &str, hurt: impl Fn(&str) -> Option<String>) -> u32 {
        let calls = self.keeper.nodes.directory().join("calls");
        self.count(&traced(&self.keeper.state(), part, "", &calls));
        self.finds_all("nothing");
        let mut times = 0;
        for call in kinds(&calls) {
            let Some(hurt) = hurt(&call) else { continue };
            for at in 1.. {
                let (state, line) = (self.keeper.state(), format!("{call}:{hurt}:when={at}"));
                let is_alive = self.count(&traced(&state, part, &line, &calls));
                self.finds_all(&format!("{line} of `{part}`"));
                if is_alive {
                    break;
                }
                times += 1;
            }
        }
        times
    }

    /// Counts as long as the node answers, at most so often that there are two snapshots; whether
    /// it lives in the end. One that ends by itself says why.
    fn count(&mut self, within: &[String]) -> bool {
        let mut node = self.keeper.nodes.start(1, within);
        for _ in 0..8 {
            self.number += 1;
            match self.keeper.answered(&mut node, &format!("add 1.{}", self.number)) {
                Some(answer) => {
                    self.counted = answer.strip_prefix("counter ").unwrap().parse().unwrap();
                }
                None => {
                    let status = node.wait();
                    assert!([-1, 4].contains(&status), "{within:?}: {status} {}", node.log());
                    let words = last_words(&node);
                    assert!(status < 0 || words.contains("cannot") || words.contains("disk"));
                    return false;
                }
            }
        }
        true
    }

    /// All that it said is there, and at most what it was about to say.
    fn finds_all(&mut self, case: &str) {
        let mut node = self.keeper.nodes.start(1, &[]);
        let found = self.keeper.answered(&mut node, "get counter");
        let Some(found) = found else { panic!("{case}: {}", node.log()) };
        let found: u64 = found.strip_prefix("counter ").unwrap().parse().unwrap();
        let counted = self.counted;
        assert!((counted..=counted + 1).contains(&found), "{case}: {counted}, then {found}");
        self.counted = found;
        node.signal(Signal::KILL);
        node.wait();
    }
}

/// Hurts a node at one call after the other by which it saves entries and snapshots.
fn hurt_at_each(hurt: impl Fn(&str) -> Option<String>) -> [u32; PARTS.len()] {
    let keeper = Keeper::with_snapshots_after(3);
    let mut hurting = Hurt { keeper, counted: 0, number: 0 };
    let times = PARTS.map(|part| hurting.at_each(part, &hurt));
    eprintln!("hurt so often, of {PARTS:?}: {times:?}");
    times
}

#[test]
#[ignore = "a hundred starts: cargo test -p tenure --test cluster -- --ignored kept:: --nocapture"]
fn a_crash_before_any_call_while_snapshots_are_saved_loses_nothing_that_was_acknowledged() {
    let _place = place();
    let kills = hurt_at_each(|_| Some("signal=KILL".to_owned()));
    assert!(kills.iter().all(|kills| *kills > 0), "it was killed so often: {kills:?}");
}

/// One call fails, and the next of its kind would not: whoever tried again would go on.
#[test]
#[ignore = "a hundred starts: cargo test -p tenure --test cluster -- --ignored kept:: --nocapture"]
fn whatever_call_fails_that_saves_a_snapshot_stops_the_node_and_loses_nothing() {
    let _place = place();
    let failed = hurt_at_each(|call| match call {
        "fsync" | "fdatasync" | "rename" | "renameat" | "renameat2" => Some("error=EIO".to_owned()),
        "write" | "pwrite64" | "fallocate" | "ftruncate" => Some("error=ENOSPC".to_owned()),
        _ => None,
    });
    let [_, whole, segment, changes, folder] = failed;
    assert!([whole, segment, changes, folder].iter().all(|failed| *failed > 0), "{failed:?}");
}

/// The same places each time: in the head, in records, in the last one, behind it.
fn places(rng: &mut Rng, bytes: &[u8]) -> Vec<usize> {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut places: Vec<usize> = (0..6).map(|_| rng.usize(..used.max(1))).collect();
    places.extend([0, used.saturating_sub(1), used + 7, bytes.len() - 1]);
    places.retain(|place| *place < bytes.len());
    places
}

#[test]
fn a_bit_that_flipped_in_any_file_of_the_state_stops_the_node_or_changes_nothing() {
    let _place = place();
    flipped(&Keeper::new());
    // Of six entries or so a snapshot stands for the first ones.
    let refused = flipped(&Keeper::with_snapshots_after(3));
    assert!(refused.iter().any(|name| name == "state"), "{refused:?} were refused");
}

/// Which files were refused, as often as they were.
fn flipped(keeper: &Keeper) -> Vec<String> {
    keeper.counts_to(5);
    let state = keeper.state();
    let files = fs::read_dir(&state).unwrap().map(|file| file.unwrap().path());
    let files: Vec<(PathBuf, Vec<u8>)> =
        files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    let (mut rng, mut refused) = (Rng::with_seed(1), Vec::new());
    for (path, sound) in files.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        for place in places(&mut rng, sound) {
            fs::remove_dir_all(&state).unwrap();
            fs::create_dir(&state).unwrap();
            files.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
            let mut hurt = sound.clone();
            hurt[place] ^= 1 << rng.u32(..8);
            fs::write(path, hurt).unwrap();
            let mut node = keeper.nodes.start(1, &[]);
            let case = format!("byte {place} of {}", path.display());
            match keeper.answered(&mut node, "get counter") {
                Some(answer) => assert_eq!(answer, "counter 5", "{case}"),
                None => {
                    refused.push(path.file_name().unwrap().display().to_string());
                    assert_eq!(node.wait(), 4, "{case}: {}", node.log());
                    let (words, name) = (last_words(&node), path.display().to_string());
                    assert!(words.contains(&name), "{case} is not named: {words}");
                }
            }
        }
    }
    assert!(refused.len() >= 10, "{refused:?} were refused");
    refused
}

#[test]
fn a_disk_that_is_full_stops_the_node_with_a_sentence_and_what_it_said_stays() {
    let _place = place();
    let keeper = Keeper::new();
    let state = keeper.state();
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
    let (mut node, mut counted) = (keeper.nodes.start(1, &[]), 0);
    for number in 1..100_000_u64 {
        match keeper.answered(&mut node, &format!("add 1.{number}")) {
            Some(answer) => counted = answer.strip_prefix("counter ").unwrap().parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(node.wait(), 4, "{}", node.log());
    let words = last_words(&node);
    assert!(words.contains("No space left") || words.contains("the disk is full"), "{words}");
    let larger =
        std::process::Command::new("mount").args(["-o", "remount,size=2m"]).arg(&_mount.0).status();
    assert!(larger.unwrap().success());
    let mut node = keeper.nodes.start(1, &[]);
    let found = keeper.answered(&mut node, "get counter").expect("there is room again");
    let found: u64 = found.strip_prefix("counter ").unwrap().parse().unwrap();
    assert!((counted..=counted + 1).contains(&found), "{counted}, and {found} later");
}

/// Something that is mounted there, until this is dropped.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
