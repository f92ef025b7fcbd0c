//! Tests a coordinator whose claim on the lock ends while its process is stopped. It must not grant
//! the lock afterwards, even if a message or request arrived during the stop.

use std::thread::sleep;
use std::time::Duration;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Fence, Group, ProcessId, Protocol, TimerRole};
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::application::PassthroughApplication;
use crate::driver::prepare_driver;
use crate::envelope::Envelope;
use crate::node_components::NodeComponents;
use crate::tests::{EVENT_TIMEOUT, listeners, open, settings};
use crate::transport::MeshEvent;

const CLAIM: Duration = Duration::from_millis(500);

/// Coordinator that grants the lock to each message and command until its claim ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Coordinator {
    has_claim: bool,
}

impl Protocol for Coordinator {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        fx.set_timer((), Delay::ticks(u64::try_from(CLAIM.as_nanos()).expect("a short time")));
        Coordinator { has_claim: true }
    }

    fn stable(&self) {}

    fn on_command(&mut self, _: Command, fx: &mut impl Effects<Self>) {
        self.grant(fx);
    }

    fn on_message(&mut self, _: ProcessId, (): (), fx: &mut impl Effects<Self>) {
        self.grant(fx);
    }

    fn on_timer(&mut self, (): (), fx: &mut impl Effects<Self>) {
        self.has_claim = false;
        fx.emit(Event::Exited);
    }

    fn timer_role((): &()) -> TimerRole {
        TimerRole::EndsClaim
    }
}

impl Coordinator {
    fn grant(&self, fx: &mut impl Effects<Self>) {
        if self.has_claim {
            fx.emit(Event::Entered { fence: Fence(0, 1) });
        }
    }
}

/// Returns all events of a coordinator whose process is stopped until its claim has ended. `arrive`
/// makes inputs arrive before the stop ends.
async fn events_after_stop(
    arrive: impl FnOnce(&mpsc::UnboundedSender<Command>, &mpsc::Sender<MeshEvent>),
) -> Vec<Event> {
    let directory = tempfile::tempdir().expect("a folder");
    let me = ProcessId(0);
    let store = open(directory.path(), me, 2);
    let ([listener, _peer], addresses) = listeners();
    let (commands, requests) = mpsc::unbounded_channel();
    let (application, mut events) = PassthroughApplication::<Coordinator>::new();
    let prepared = prepare_driver(NodeComponents::new(
        (),
        settings(me, &store, listener, &addresses),
        store,
        application,
        requests,
    ));
    let (driver, mut inbox, requests, recovered) = prepared.expect("a node");
    let (messages, receiver) = mpsc::channel(1);
    inbox.receiver = receiver;
    let task = tokio::spawn(driver.run(inbox, requests, recovered));
    // The runtime has one thread, so the driver sleeps after a few turns.
    for _ in 0..64 {
        yield_now().await;
    }
    arrive(&commands, &messages);
    // Stops all tasks of the runtime.
    sleep(CLAIM);
    let first = timeout(EVENT_TIMEOUT, events.recv()).await.expect("an event in time");
    drop(commands);
    timeout(EVENT_TIMEOUT, task).await.expect("an end").expect("no panic").expect("a shutdown");
    let mut observed = Vec::from_iter(first);
    while let Some(event) = events.recv().await {
        observed.push(event);
    }
    observed
}

#[tokio::test]
async fn overdue_claim_ends_before_request_is_handled() {
    let events = events_after_stop(|commands, _| {
        commands.send(Command::Enter).expect("a running node");
    });
    assert_eq!(events.await, [Event::Exited]);
}

#[tokio::test]
async fn overdue_claim_ends_before_message_is_handled() {
    let events = events_after_stop(|_, messages| {
        let payload = Envelope { number: 1, clock: None, message: () }.encode();
        let message = MeshEvent::Message { from: ProcessId(1), session: 1, payload };
        messages.try_send(message).expect("a running node");
    });
    assert_eq!(events.await, [Event::Exited]);
}
