//! Tests a handover of leadership while the disk is slow. The handover message waits for the disk.
//! The time limit for the response must start only when the message is sent.

use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::service::election::{Command, Event};
use tenure_core::{Effects, Group, Labelled, Layer, MessageLabel, ProcessId, Protocol, Term};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::application::Application;
use crate::driver::{RunningNode, start_node};
use crate::node_components::NodeComponents;
use crate::store::StableStorage;
use crate::tests::{EVENT_TIMEOUT, listeners, open, settings};
use crate::transport::{MeshLimits, MeshSettings};

/// Time limit of the handover. A busy machine may respond late.
const ROUND_TRIP: Duration = Duration::from_secs(2);

/// Protocol whose process becomes the leader on each request, saves its state, and hands over
/// leadership to the next process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SimpleLeader {
    group: Group,
    terms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Take,
    Taken,
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        MessageLabel { layer: Layer::Election, kind: "handover" }
    }
}

impl Protocol for SimpleLeader {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = u64;

    fn boot(group: Group, (): &(), saved: Option<u64>, _: &mut impl Effects<Self>) -> Self {
        SimpleLeader { group, terms: saved.unwrap_or(0) }
    }

    fn stable(&self) -> u64 {
        self.terms
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect => {
                self.terms += 1;
                fx.emit(self.elected(self.group.me()));
            }
            Command::Resign => fx.send(ProcessId(1), Message::Take),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Take => fx.send(from, Message::Taken),
            Message::Taken => fx.emit(self.elected(from)),
        }
    }
}

impl SimpleLeader {
    fn elected(&self, leader: ProcessId) -> Event {
        let term = Term { number: self.terms, leader };
        Event::Elected { term, leader }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observation {
    LeaderChanged(ProcessId),
    ShutdownRequested,
}

#[derive(Debug)]
struct User {
    leader: Option<Term>,
    observations: mpsc::UnboundedSender<Observation>,
}

impl Application<SimpleLeader> for User {
    type Request = Command;

    fn on_request(&mut self, command: Command) -> Option<Command> {
        Some(command)
    }

    fn on_event(&mut self, event: Event) -> Option<Command> {
        if let Event::Elected { term, .. } = event {
            self.leader = Some(term);
            let _ = self.observations.send(Observation::LeaderChanged(term.leader));
        }
        None
    }

    fn leader_term(&self) -> Option<Term> {
        self.leader
    }

    fn handover_command(&mut self) -> Option<Command> {
        let _ = self.observations.send(Observation::ShutdownRequested);
        Some(Command::Resign)
    }

    fn keeps_leading_during_handover(&self) -> bool {
        true
    }
}

type CommandSender = mpsc::UnboundedSender<Command>;
type ObservationReceiver = mpsc::UnboundedReceiver<Observation>;

fn boot(
    store: StableStorage,
    me: ProcessId,
    listener: TcpListener,
    addresses: &[String],
) -> (CommandSender, ObservationReceiver, RunningNode) {
    let (commands, receiver) = mpsc::unbounded_channel();
    let (observations, observed) = mpsc::unbounded_channel();
    let running = start_node::<SimpleLeader, User>(NodeComponents::new(
        (),
        MeshSettings {
            limits: MeshLimits { max_round_trip: ROUND_TRIP, ..MeshLimits::default() },
            ..settings(me, &store, listener, addresses)
        },
        store,
        User { leader: None, observations },
        receiver,
    ));
    (commands, observed, running.expect("a node"))
}

async fn next(observed: &mut ObservationReceiver) -> Option<Observation> {
    timeout(EVENT_TIMEOUT, observed.recv()).await.expect("an event in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_disk_does_not_shorten_handover_time() {
    let directory = tempfile::tempdir().expect("a folder");
    let both = [ProcessId(0), ProcessId(1)];
    let ([first, second], addresses) = listeners();
    let [store, other] = both.map(|me| open(directory.path(), me, 2));
    let is_stuck = store.is_stuck.clone();
    let (commands, mut observed, mut running) = boot(store, both[0], first, &addresses);
    let (_commands, _, _running) = boot(other, both[1], second, &addresses);
    let connected = running.live_peers.wait_for(|peers| peers[1].is_some());
    timeout(EVENT_TIMEOUT, connected).await.expect("an event in time").expect("a running node");
    commands.send(Command::Elect).expect("a running node");
    assert_eq!(next(&mut observed).await, Some(Observation::LeaderChanged(both[0])));
    // The node has unsaved state when it shuts down, and the save takes longer than the time limit.
    is_stuck.store(true, Ordering::SeqCst);
    commands.send(Command::Elect).expect("a running node");
    drop(commands);
    assert_eq!(next(&mut observed).await, Some(Observation::ShutdownRequested));
    sleep(3 * ROUND_TRIP / 2).await;
    is_stuck.store(false, Ordering::SeqCst);
    running.task.await.expect("no panic").expect("a clean shutdown");
    assert_eq!(
        next(&mut observed).await,
        Some(Observation::LeaderChanged(both[0])),
        "the second term is saved"
    );
    assert_eq!(
        next(&mut observed).await,
        Some(Observation::LeaderChanged(both[1])),
        "it stopped before another process led"
    );
}
