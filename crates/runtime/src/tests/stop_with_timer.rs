//! A request to stop the node that arrives while the node fires its last timer. No further input
//! wakes the node.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Group, ProcessId, Protocol, TimerRole};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::application::Application;
use crate::driver::start_node;
use crate::node_components::NodeComponents;
use crate::tests::{EVENT_TIMEOUT, listeners, open, settings};

const ME: ProcessId = ProcessId(0);

/// Protocol with a single timer, which ends a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SingleTimer;

impl Protocol for SingleTimer {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        fx.set_timer((), Delay::time_units(20));
        SingleTimer
    }

    fn stable(&self) {}

    fn on_command(&mut self, _: Command, _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_timer(&mut self, (): (), fx: &mut impl Effects<Self>) {
        fx.emit(Event::Exited);
    }

    fn timer_role((): &()) -> TimerRole {
        TimerRole::EndsClaim
    }
}

/// User that stops the node as soon as its lock is lost.
#[derive(Debug)]
struct User {
    requests: mpsc::UnboundedSender<()>,
    is_shutdown_requested: bool,
}

impl Application<SingleTimer> for User {
    type Request = ();

    fn on_request(&mut self, (): ()) -> Option<Command> {
        self.is_shutdown_requested = true;
        None
    }

    fn on_event(&mut self, _: Event) -> Option<Command> {
        let _ = self.requests.send(());
        None
    }

    fn is_shutdown_requested(&self) -> bool {
        self.is_shutdown_requested
    }
}

#[tokio::test]
async fn stop_with_the_last_timer_needs_no_further_input() {
    let directory = tempfile::tempdir().expect("a folder");
    let ([listener], addresses) = listeners();
    let store = open(directory.path(), ME, 1);
    let (requests, receiver) = mpsc::unbounded_channel();
    let application = User { requests, is_shutdown_requested: false };
    let transport = settings(ME, &store, listener, &addresses);
    let components = NodeComponents::new((), transport, store, application, receiver);
    let node = start_node::<SingleTimer, User>(components).expect("a node");
    let ended = timeout(EVENT_TIMEOUT, node.task).await.expect("the node stops");
    ended.expect("no panic").expect("a clean shutdown");
}
