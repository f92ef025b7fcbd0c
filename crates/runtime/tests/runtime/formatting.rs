//! Checks that commands and events are formatted only if they are recorded or watched. Formatting
//! costs time, and the text can contain the data of users.

use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use tenure_core::{Effects, EventConversions, Group, ProcessId, Protocol, UncomparedConfig};
use tenure_runtime::TraceSink;
use tenure_trace::{RecordedCommand, RecordedEvent, ServiceCommand, ServiceEvent};

use crate::{next_event, start_alone, store_alone};

/// A command or event that counts how often it is formatted for a record. Comparisons ignore the
/// counter, so all values are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Words(UncomparedConfig<AtomicU64>);

impl Words {
    fn spelt(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl EventConversions for Words {}

impl ServiceCommand for Words {
    fn to_recorded(&self) -> RecordedCommand {
        self.spelt();
        RecordedCommand::Other("words".into())
    }
}

impl ServiceEvent for Words {
    fn to_recorded(&self) -> RecordedEvent {
        self.spelt();
        RecordedEvent::Other("words".into())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Echo;

impl Protocol for Echo {
    type Config = ();
    type Command = Words;
    type Event = Words;
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Echo
    }

    fn stable(&self) {}

    fn on_command(&mut self, words: Words, fx: &mut impl Effects<Self>) {
        fx.emit(words);
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

/// Sends ten commands to a node with this trace sink. Returns how often commands and events are
/// formatted.
async fn spelt(trace_sink: TraceSink) -> u64 {
    let directory = TempDir::new().unwrap();
    let store = store_alone(directory.path(), "echo 1");
    let (commands, mut events, running) = start_alone::<Echo>(store, trace_sink);
    let words = Words(UncomparedConfig::new(AtomicU64::new(0)));
    for _ in 0..10 {
        commands.send(words.clone()).unwrap();
        next_event(&mut events).await;
    }
    drop(commands);
    running.task.await.unwrap().unwrap();
    words.0.load(Ordering::Relaxed)
}

#[tokio::test]
async fn unrecorded_events_are_not_formatted() {
    assert_eq!(spelt(TraceSink::none()).await, 0);
    let (watcher, watched) = std::sync::mpsc::channel();
    assert_eq!(spelt(TraceSink::none().with_watcher(watcher)).await, 20);
    assert!(watched.try_iter().count() > 20, "commands, events and other records");
}
