//! When a node saves, and what leaves it before: nothing that a crash would take back.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, Input, Node, ProcessId, Protocol, Still};
use tenure_runtime::{Recorder, Running, Store};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::{start_alone, store_alone};

const PATIENCE: Duration = Duration::from_secs(20);

/// Counts what it was asked, in a list that is kept, and says what was added to that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counting(Vec<u64>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Entries {
    from: u64,
    entries: Vec<u64>,
}

impl Protocol for Counting {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = Entries;

    fn boot(_: Group, (): &(), saved: Option<Entries>, _: &mut impl Effects<Self>) -> Self {
        Counting(saved.map_or_else(Vec::new, |saved| saved.entries))
    }

    fn stable(&self) -> Entries {
        Entries { from: 0, entries: self.0.clone() }
    }

    fn unsaved(&self, saved: &Entries) -> Option<Entries> {
        let entries = self.0[saved.entries.len()..].to_vec();
        let from = saved.entries.len() as u64;
        (!entries.is_empty()).then_some(Entries { from, entries })
    }

    fn amend(saved: &mut Entries, change: Entries) {
        saved.entries.truncate(usize::try_from(change.from).unwrap());
        saved.entries.extend(change.entries);
    }

    fn on_command(&mut self, _: Command, fx: &mut impl Effects<Self>) {
        self.0.push(self.0.len() as u64 + 1);
        fx.emit(Event::Entered { fence: Fence(0, self.0.len() as u64) });
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

fn open(directory: &Path) -> Store {
    store_alone(directory, "counting 1")
}

/// What the store says that was counted.
fn entries(store: &Store) -> Vec<u64> {
    let Some(whole) = store.state() else { return Vec::new() };
    let mut saved: Entries = postcard::from_bytes(whole).unwrap();
    for change in store.changes() {
        Counting::amend(&mut saved, postcard::from_bytes(change).unwrap());
    }
    saved.entries
}

/// What a crash at this moment would leave.
fn after_a_crash(directory: &Path) -> Vec<u64> {
    let copy = TempDir::new().unwrap();
    // The change that is being written now may be seen in part: that is a torn one.
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_type().unwrap().is_file() {
            continue;
        }
        let _ = fs::copy(entry.path(), copy.path().join(entry.file_name()));
    }
    entries(&open(copy.path()))
}

type Asks = mpsc::UnboundedSender<Command>;
type Told = mpsc::UnboundedReceiver<Event>;

fn boot(directory: &Path) -> (Asks, Told, Running) {
    start_alone::<Counting>(open(directory), Recorder::none())
}

async fn next(told: &mut Told) -> u64 {
    match timeout(PATIENCE, told.recv()).await.expect("in time").expect("a node that runs") {
        Event::Entered { fence } => fence.1,
        Event::Exited => panic!("nobody exits"),
    }
}

/// Whether all that is told is on the disk when it is told.
async fn is_saved_before_it_is_told(directory: &Path, told: &mut Told, count: u64) -> bool {
    let mut saved = true;
    for number in 1..=count {
        assert_eq!(next(told).await, number, "in the order of the steps");
        // Not each of them: copies take their time.
        if number % 16 == 1 {
            saved &= after_a_crash(directory).len() as u64 >= number;
        }
    }
    saved
}

#[tokio::test]
async fn what_was_told_is_on_the_disk_and_comes_in_order() {
    let directory = TempDir::new().unwrap();
    let (asks, mut told, running) = boot(directory.path());
    (0..200).for_each(|_| asks.send(Command::Enter).unwrap());
    assert!(is_saved_before_it_is_told(directory.path(), &mut told, 200).await);
    drop(asks);
    running.task.await.unwrap().unwrap();
    assert_eq!(entries(&open(directory.path())), (1..=200).collect::<Vec<_>>());
}

/// The same question of a runner that tells first and saves then: it must be seen.
#[tokio::test]
async fn a_runner_that_tells_before_it_saves_is_seen() {
    let directory = TempDir::new().unwrap();
    let mut store = open(directory.path());
    let (tell, mut told) = mpsc::unbounded_channel();
    let path = directory.path().to_owned();
    let (go, wait) = std::sync::mpsc::channel();
    let early = std::thread::spawn(move || {
        let mut node: Node<Counting> = Node::boot(Group::new(ProcessId(0), 1), &(), None, Still);
        drop(node.pending().saved());
        store.save(&postcard::to_stdvec(&node.process().stable()).unwrap()).unwrap();
        for _ in 0..32 {
            let step = node.step(Input::Command(Command::Enter));
            let change = step.unsaved().cloned().unwrap();
            step.saved().events.for_each(|event| {
                let _ = tell.send(event);
            });
            wait.recv().unwrap();
            store.append(&postcard::to_stdvec(&change).unwrap()).unwrap();
        }
    });
    let judged = tokio::spawn(async move { is_saved_before_it_is_told(&path, &mut told, 1).await });
    assert!(!judged.await.unwrap());
    (0..32).for_each(|_| go.send(()).unwrap());
    early.join().unwrap();
}

#[tokio::test]
async fn whoever_is_killed_while_it_counts_goes_on_behind_what_it_told() {
    let directory = TempDir::new().unwrap();
    let mut last = 0;
    for round in 1..=5 {
        let (asks, mut told, running) = boot(directory.path());
        (0..300).for_each(|_| asks.send(Command::Enter).unwrap());
        let mut heard = 0;
        for _ in 0..round * 20 {
            let number = next(&mut told).await;
            assert!(number > last, "{number} was counted before");
            assert!(heard == 0 || number == heard + 1, "{number} after {heard}");
            heard = number;
        }
        running.task.abort();
        assert!(running.task.await.unwrap_err().is_cancelled());
        let saved = entries(&open(directory.path()));
        assert_eq!(saved, (1..=saved.len() as u64).collect::<Vec<_>>(), "whole and in order");
        assert!(saved.len() as u64 >= heard, "{heard} was told, and {} saved", saved.len());
        last = heard;
    }
}

#[tokio::test]
async fn many_steps_share_a_save() {
    let directory = TempDir::new().unwrap();
    let (asks, mut told, running) = boot(directory.path());
    (0..2_000).for_each(|_| asks.send(Command::Enter).unwrap());
    for number in 1..=2_000 {
        assert_eq!(next(&mut told).await, number);
    }
    drop(asks);
    running.task.await.unwrap().unwrap();
    let store = open(directory.path());
    assert_eq!(entries(&store).len(), 2_000);
    // At most 256 steps are taken before a save that could begin.
    assert!(store.changes().len() <= 200, "{} saves", store.changes().len());
}

/// A pipe in its place takes the whole when somebody reads it, and cannot be flushed to any disk.
#[cfg(unix)]
#[tokio::test]
async fn nobody_waits_while_the_whole_is_written() {
    let directory = TempDir::new().unwrap();
    let (asks, mut told, running) = boot(directory.path());
    asks.send(Command::Enter).unwrap();
    assert_eq!(next(&mut told).await, 1);
    let pipe = directory.path().join("state.next");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // Changes become longer than the whole, and than 32 KiB.
    (0..30_000).for_each(|_| asks.send(Command::Enter).unwrap());
    for number in 2..=30_001 {
        assert_eq!(next(&mut told).await, number);
    }
    assert!(after_a_crash(directory.path()).len() > 30_000);
    let whole = tokio::task::spawn_blocking(move || fs::read(pipe)).await.unwrap().unwrap();
    assert!(whole.starts_with(b"TENSTATE"), "the whole was being written");
    let error = running.task.await.unwrap().expect_err("it is unknown what is on the disk");
    assert!(error.to_string().contains("state.next"), "{error}");
}
