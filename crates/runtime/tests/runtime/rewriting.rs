//! Saves during a concurrent rewrite of the state.

use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use tempfile::TempDir;
use tenure_core::service::replicated_list::{Command, Event};
use tenure_core::{Effects, Group, ProcessId, Protocol, Term};
use tenure_runtime::{StableStorage, TraceSink};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{copy_files, in_time, next_event, start_alone, store_alone};

const TERM: Term = Term { number: 1, leader: ProcessId(0) };

/// The thread that rewrites the state waits until the flag is true.
static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

fn pass_the_gate() {
    if thread::current().name() == Some("tenure-rewrite") {
        let is_shut = |open: &mut bool| !*open;
        drop(GATE.1.wait_while(GATE.0.lock().unwrap(), is_shut).unwrap());
    }
}

fn open_the_gate() {
    *GATE.0.lock().unwrap() = true;
    GATE.1.notify_all();
}

/// Protocol with a list of byte strings. `sum` contains the number and the total length of the
/// strings that were removed from the front of the list.
///
/// The command 0 removes all strings but the last one. The command *n* appends a string of *n*
/// bytes. Only the change of the command *n* must be saved at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sums {
    sum: Sum,
    list: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Sum {
    count: u64,
    bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Saved {
    #[serde(serialize_with = "at_the_gate")]
    head: u64,
    /// New sum; `None` if the change does not replace the sum.
    sum: Option<Sum>,
    /// Number of elements that were removed from the list before its first element.
    from: u64,
    list: Vec<Vec<u8>>,
}

fn at_the_gate<S: Serializer>(head: &u64, to: S) -> Result<S::Ok, S::Error> {
    pass_the_gate();
    head.serialize(to)
}

impl Saved {
    fn end(&self) -> u64 {
        self.from + self.list.len() as u64
    }

    fn total(&self) -> Sum {
        let Sum { count, bytes } = self.sum.unwrap_or_default();
        Sum { count: count + self.list.len() as u64, bytes: bytes + bytes_of(&self.list) }
    }
}

fn bytes_of(list: &[Vec<u8>]) -> u64 {
    list.iter().map(Vec::len).sum::<usize>() as u64
}

impl Sums {
    fn change(&self, saved: &Saved) -> Option<Saved> {
        let Saved { list, .. } = self.stable();
        let from = saved.end();
        let list = list[usize::try_from(from - self.sum.count).unwrap()..].to_vec();
        let sum = Some(self.sum).filter(|sum| saved.sum != Some(*sum));
        let is_same = self.sum.count == saved.head && sum.is_none() && list.is_empty();
        (!is_same).then_some(Saved { head: self.sum.count, sum, from, list })
    }
}

impl Protocol for Sums {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = Saved;

    fn boot(_: Group, (): &(), saved: Option<Saved>, _: &mut impl Effects<Self>) -> Self {
        let saved = saved.map(|saved| (saved.sum.unwrap_or_default(), saved.list));
        let (sum, list) = saved.unwrap_or_default();
        Sums { sum, list }
    }

    fn stable(&self) -> Saved {
        let Sums { sum, list } = self.clone();
        Saved { head: sum.count, sum: Some(sum), from: sum.count, list }
    }

    fn unsaved_change(&self, saved: &Saved) -> Option<Saved> {
        self.change(saved)
    }

    const DEFERS_SAVES: bool = true;

    fn urgent_change(&self, saved: &Saved) -> Option<Saved> {
        let change = self.change(saved)?;
        let urgent = Saved { head: saved.head, sum: None, ..change };
        (!urgent.list.is_empty()).then_some(urgent)
    }

    fn apply_change(saved: &mut Saved, change: Saved) {
        saved.sum = change.sum.or(saved.sum);
        saved.list.truncate(usize::try_from(change.from - saved.from).unwrap());
        saved.list.extend(change.list);
        let cut = change.head.saturating_sub(saved.head);
        saved.list.drain(..usize::try_from(cut).unwrap());
        (saved.head, saved.from) = (saved.head + cut, saved.from + cut);
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Write { value } = command;
        if value == 0 {
            let cut: Vec<_> = self.list.drain(..self.list.len() - 1).collect();
            self.sum.count += cut.len() as u64;
            self.sum.bytes += bytes_of(&cut);
        } else {
            self.list.push(vec![7; usize::try_from(value).unwrap()]);
        }
        let Sum { count: place, bytes: value } = self.stable().total();
        fx.emit(Event::Acknowledged { term: TERM, place, value });
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

fn open(directory: &Path) -> StableStorage {
    store_alone(directory, "sums 1")
}

/// Returns the sum that would be recovered from disk after a crash at this moment.
fn after_a_crash(directory: &Path) -> Sum {
    let copy = copy_files(directory);
    let store = open(copy.path());
    let mut saved: Saved = postcard::from_bytes(store.state().unwrap()).unwrap();
    for change in store.recovered_changes() {
        Sums::apply_change(&mut saved, postcard::from_bytes(change).unwrap());
    }
    saved.total()
}

async fn next(events: &mut UnboundedReceiver<Event>) -> Sum {
    match next_event(events).await {
        Event::Acknowledged { place: count, value: bytes, .. } => Sum { count, bytes },
        other => panic!("{other:?} is not emitted"),
    }
}

/// Saves a large change while a rewrite of the state is in progress. Checks after each command that
/// a crash at this moment would lose no data.
///
/// A node usually saves its whole state instead of a large change. During a rewrite, the node must
/// save the change itself.
#[tokio::test]
async fn large_change_during_rewrite_loses_no_data() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    let (commands, mut events, running) = start_alone::<Sums>(open(path), TraceSink::none());
    let mut write = async |value| {
        commands.send(Command::Write { value }).unwrap();
        let sum = next(&mut events).await;
        // The event and the disk have the same total. The change of command 0 may be unsaved, but
        // this command does not change the total.
        assert_eq!(after_a_crash(path), sum, "after {value} bytes");
        sum
    };
    for value in [100, 200, 300, 0, 1] {
        write(value).await;
    }
    // The rewrite of the state waits until the gate opens.
    let opened = tokio::spawn(async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        open_the_gate();
    });
    for value in [100_000, 2] {
        write(value).await;
    }
    opened.await.unwrap();
    for value in 3..40 {
        write(value).await;
    }
    in_time(async {
        while path.join("state.next").exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let sum = write(50).await;
    drop(commands);
    running.task.await.unwrap().unwrap();
    assert_eq!(after_a_crash(path), sum);
}
