//! Effects are released only after the state is saved, so a crash cannot revoke them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{ConstantEnvironment, Effects, Fence, Group, Input, Node, ProcessId, Protocol};
use tenure_runtime::{RunningNode, StableStorage, TraceSink};
use tokio::sync::mpsc;

use crate::{copy_files, in_time, kill, next_event, start_alone, store_alone};

/// A protocol that counts its commands in a saved list and emits each count.
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

    fn unsaved_change(&self, saved: &Entries) -> Option<Entries> {
        let entries = self.0[saved.entries.len()..].to_vec();
        let from = saved.entries.len() as u64;
        (!entries.is_empty()).then_some(Entries { from, entries })
    }

    fn apply_change(saved: &mut Entries, change: Entries) {
        saved.entries.truncate(usize::try_from(change.from).unwrap());
        saved.entries.extend(change.entries);
    }

    fn on_command(&mut self, _: Command, fx: &mut impl Effects<Self>) {
        self.0.push(self.0.len() as u64 + 1);
        fx.emit(Event::Entered { fence: Fence(0, self.0.len() as u64) });
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

fn open(directory: &Path) -> StableStorage {
    store_alone(directory, "counting 1")
}

fn entries(store: &StableStorage) -> Vec<u64> {
    let Some(whole) = store.state() else { return Vec::new() };
    let mut saved: Entries = postcard::from_bytes(whole).unwrap();
    for change in store.recovered_changes() {
        Counting::apply_change(&mut saved, postcard::from_bytes(change).unwrap());
    }
    saved.entries
}

/// Returns the list that would be recovered from disk after a crash at this moment.
fn after_a_crash(directory: &Path) -> Vec<u64> {
    let copy = copy_files(directory);
    entries(&open(copy.path()))
}

type CommandSender = mpsc::UnboundedSender<Command>;
type EventReceiver = mpsc::UnboundedReceiver<Event>;

fn boot(directory: &Path) -> (CommandSender, EventReceiver, RunningNode) {
    start_alone::<Counting>(open(directory), TraceSink::none())
}

async fn next(events: &mut EventReceiver) -> u64 {
    match next_event(events).await {
        Event::Entered { fence } => fence.1,
        Event::Exited => panic!("unexpected exit"),
    }
}

/// Receives `count` events, and examines the disk at every 16th event. Returns true if, each time,
/// the disk already contains the count of this event.
async fn is_saved_before_its_event(
    directory: &Path,
    events: &mut EventReceiver,
    count: u64,
) -> bool {
    let mut saved = true;
    for number in 1..=count {
        assert_eq!(next(events).await, number, "the events are in order");
        // Copies take time, so only every 16th event is examined.
        if number % 16 == 1 {
            saved &= after_a_crash(directory).len() as u64 >= number;
        }
    }
    saved
}

#[tokio::test]
async fn events_follow_their_saves_in_order() {
    let directory = TempDir::new().unwrap();
    let (commands, mut events, running) = boot(directory.path());
    (0..200).for_each(|_| commands.send(Command::Enter).unwrap());
    assert!(is_saved_before_its_event(directory.path(), &mut events, 200).await);
    drop(commands);
    running.task.await.unwrap().unwrap();
    assert_eq!(entries(&open(directory.path())), (1..=200).collect::<Vec<_>>());
}

/// Control experiment: emits events before the saves, and checks that [`is_saved_before_its_event`]
/// returns false.
#[tokio::test]
async fn detects_events_before_saves() {
    let directory = TempDir::new().unwrap();
    let mut store = open(directory.path());
    let (sender, mut events) = mpsc::unbounded_channel();
    let path = directory.path().to_owned();
    let (go, wait) = std::sync::mpsc::channel();
    let early = std::thread::spawn(move || {
        let mut node: Node<Counting> =
            Node::boot(Group::new(ProcessId(0), 1), &(), None, ConstantEnvironment);
        drop(node.boot_step().mark_saved());
        store.save(&postcard::to_stdvec(&node.process().stable()).unwrap()).unwrap();
        for _ in 0..32 {
            let step = node.step(Input::Command(Command::Enter));
            let change = step.change_before_release().cloned().unwrap();
            step.mark_saved().events.for_each(|event| {
                let _ = sender.send(event);
            });
            wait.recv().unwrap();
            store.append(&postcard::to_stdvec(&change).unwrap()).unwrap();
        }
    });
    let is_saved_first =
        tokio::spawn(async move { is_saved_before_its_event(&path, &mut events, 1).await });
    assert!(!is_saved_first.await.unwrap());
    (0..32).for_each(|_| go.send(()).unwrap());
    early.join().unwrap();
}

#[tokio::test]
async fn killed_node_resumes_after_last_event() {
    let directory = TempDir::new().unwrap();
    let mut last = 0;
    for round in 1..=5 {
        let (commands, mut events, running) = boot(directory.path());
        (0..300).for_each(|_| commands.send(Command::Enter).unwrap());
        let mut received = 0;
        for _ in 0..round * 20 {
            let number = next(&mut events).await;
            assert!(number > last, "{number} is not new");
            assert!(received == 0 || number == received + 1, "{number} after {received}");
            received = number;
        }
        kill(running).await;
        let saved = entries(&open(directory.path()));
        assert_eq!(saved, (1..=saved.len() as u64).collect::<Vec<_>>(), "complete and in order");
        assert!(
            saved.len() as u64 >= received,
            "event {received} was received, but only {} are saved",
            saved.len()
        );
        last = received;
    }
}

#[tokio::test]
async fn many_steps_share_one_save() {
    let directory = TempDir::new().unwrap();
    let (commands, mut events, running) = boot(directory.path());
    (0..2_000).for_each(|_| commands.send(Command::Enter).unwrap());
    for number in 1..=2_000 {
        assert_eq!(next(&mut events).await, number);
    }
    drop(commands);
    running.task.await.unwrap().unwrap();
    let store = open(directory.path());
    assert_eq!(entries(&store).len(), 2_000);
    // A save starts after at most 256 steps.
    assert!(store.recovered_changes().len() <= 200, "{} saves", store.recovered_changes().len());
}

/// Puts a pipe in place of the next state file. The pipe blocks the rewrite of the state. Checks
/// that steps continue during the rewrite. When the test reads the pipe, the rewrite fails, because
/// a pipe cannot be flushed.
#[cfg(unix)]
#[tokio::test]
async fn rewrite_does_not_delay_steps() {
    let directory = TempDir::new().unwrap();
    let (commands, mut events, running) = boot(directory.path());
    commands.send(Command::Enter).unwrap();
    assert_eq!(next(&mut events).await, 1);
    let pipe = directory.path().join("state.next");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // The changes become longer than the state, and longer than 32 KiB.
    (0..30_000).for_each(|_| commands.send(Command::Enter).unwrap());
    for number in 2..=30_001 {
        assert_eq!(next(&mut events).await, number);
    }
    assert!(after_a_crash(directory.path()).len() > 30_000);
    // A thread of its own: the runtime would wait for a blocking task, even after the time limit.
    let (sender, content) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || sender.send(std::fs::read(pipe)));
    let whole = in_time(content).await.unwrap().unwrap();
    assert!(whole.starts_with(b"TENSTATE"), "the state file was being written");
    let ended = in_time(running.task).await.unwrap();
    let error = ended.expect_err("the content of the disk is unknown");
    assert!(error.to_string().contains("state.next"), "{error}");
}
