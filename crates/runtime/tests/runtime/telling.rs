//! What is put into words: only what somebody writes down or watches. Commands and events of a
//! service have its users' bytes in them, and a member without a trace must not spell them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tenure_core::{Effects, Facts, Group, ProcessId, Protocol};
use tenure_runtime::Recorder;
use tenure_trace::{Asked, Heard, Spoken, Told};
use tokio::time::timeout;

use crate::{start_alone, store_alone};

const PATIENCE: Duration = Duration::from_secs(20);

/// What is said, and how often that was put into words.
#[derive(Clone, Debug)]
struct Words(Arc<AtomicU64>);

impl Words {
    fn spelt(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl PartialEq for Words {
    fn eq(&self, _: &Words) -> bool {
        true
    }
}

impl Eq for Words {}

impl std::hash::Hash for Words {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Facts for Words {}

impl Spoken for Words {
    fn asked(&self) -> Asked {
        self.spelt();
        Asked::Other("words".into())
    }
}

impl Heard for Words {
    fn told(&self) -> Told {
        self.spelt();
        Told::Other("words".into())
    }
}

/// Says what it is told.
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

/// How often the words of ten commands were spelt by a node with this recorder.
async fn spelt(recorder: Recorder) -> u64 {
    let directory = TempDir::new().unwrap();
    let store = store_alone(directory.path(), "echo 1");
    let (asks, mut told, running) = start_alone::<Echo>(store, recorder);
    let words = Words(Arc::default());
    for _ in 0..10 {
        asks.send(words.clone()).unwrap();
        timeout(PATIENCE, told.recv()).await.expect("in time").expect("a node that runs");
    }
    drop(asks);
    running.task.await.unwrap().unwrap();
    words.0.load(Ordering::Relaxed)
}

#[tokio::test]
async fn what_nobody_writes_down_is_not_put_into_words() {
    assert_eq!(spelt(Recorder::none()).await, 0);
    let (watcher, watched) = std::sync::mpsc::channel();
    assert_eq!(spelt(Recorder::none().watched_by(watcher)).await, 20);
    assert!(watched.try_iter().count() > 20, "commands, events, and what else happened");
}
