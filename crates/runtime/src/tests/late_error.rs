//! An application that fails when it handles the events of the last save. Its node must not report
//! a clean shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use tenure_core::service::election::{Command, Event};
use tenure_core::{Effects, Group, ProcessId, Protocol, Term, labelled};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::application::Application;
use crate::driver::start_node;
use crate::failure::NodeFailure;
use crate::node_components::NodeComponents;
use crate::tests::{EVENT_TIMEOUT, listeners, open, settings};

const ME: ProcessId = ProcessId(0);

/// Protocol that changes its stable state and emits an event at each command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counter(u64);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Unused,
}

labelled!(Message, Election, Unused => "unused");

impl Protocol for Counter {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = u64;

    fn boot(_: Group, (): &(), saved: Option<u64>, _: &mut impl Effects<Self>) -> Self {
        Counter(saved.unwrap_or(0))
    }

    fn stable(&self) -> u64 {
        self.0
    }

    fn on_command(&mut self, _: Command, fx: &mut impl Effects<Self>) {
        self.0 += 1;
        fx.emit(Event::Elected { leader: ME, term: Term { number: self.0, leader: ME } });
    }

    fn on_message(&mut self, _: ProcessId, _: Message, _: &mut impl Effects<Self>) {}
}

/// Application that fails at the first event. The disk is stuck until the node begins to shut down.
#[derive(Debug)]
struct FailingApplication {
    is_disk_stuck: Arc<AtomicBool>,
    error: Option<String>,
}

impl Application<Counter> for FailingApplication {
    type Request = Command;

    fn on_request(&mut self, command: Command) -> Option<Command> {
        Some(command)
    }

    fn on_event(&mut self, event: Event) -> Option<Command> {
        self.error = Some(format!("cannot handle {event:?}"));
        None
    }

    fn fatal_error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The node calls this method once, at the beginning of a shutdown.
    fn keeps_leading_during_handover(&self) -> bool {
        self.is_disk_stuck.store(false, Ordering::SeqCst);
        false
    }
}

#[tokio::test]
async fn error_after_the_last_save_is_reported() {
    let directory = tempfile::tempdir().expect("a folder");
    let ([listener], addresses) = listeners();
    let store = open(directory.path(), ME, 1);
    let is_stuck = store.is_stuck.clone();
    let application = FailingApplication { is_disk_stuck: is_stuck.clone(), error: None };
    is_stuck.store(true, Ordering::SeqCst);
    let (commands, requests) = mpsc::unbounded_channel();
    let transport = settings(ME, &store, listener, &addresses);
    let components = NodeComponents::new((), transport, store, application, requests);
    let node = start_node::<Counter, FailingApplication>(components).expect("a node");
    commands.send(Command::Elect).expect("a running node");
    // The node shuts down while the save of this command is in progress.
    drop(commands);
    let ended = timeout(EVENT_TIMEOUT, node.task).await;
    // The flag is reset before the assertions. If an assertion failed earlier, the dropped node
    // would wait for its disk forever.
    is_stuck.store(false, Ordering::SeqCst);
    let ended = ended.expect("an end").expect("no panic");
    let Err(NodeFailure::Application(why)) = ended else { panic!("{ended:?}") };
    assert!(why.starts_with("cannot handle "), "{why}");
}
