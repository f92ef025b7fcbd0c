//! A leader with a stuck disk stops sending heartbeats, so that a peer takes over. The metrics of
//! the saves contain the age of the stuck save.

use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::service::election::{Command, Event};
use tenure_core::{Delay, Effects, Group, Labelled, Layer, MessageLabel, ProcessId, Protocol};
use tenure_core::{Term, TimerRole};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::application::PassthroughApplication;
use crate::driver::{RunningNode, start_node};
use crate::executor::STUCK_SAVE_AGE;
use crate::node_components::NodeComponents;
use crate::store::StableStorage;
use crate::store_worker::{StoreCompletion, StoreJob, StoreWorker};
use crate::tests::{EVENT_TIMEOUT, listeners, open, settings};

const BOTH: [ProcessId; 2] = [ProcessId(0), ProcessId(1)];

const HEARTBEAT_INTERVAL_MS: u64 = 20;

/// Time without heartbeats after which the follower becomes the leader, in milliseconds. A busy
/// machine may delay heartbeats.
const ELECTION_TIMEOUT_MS: u64 = 4_000;

/// Protocol in which the first process leads and sends heartbeats. The second process takes over
/// when the heartbeats stop. Each request changes the stable state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HeartbeatLeader {
    group: Group,
    saved: u64,
    leader: Option<ProcessId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Heartbeat;

impl Labelled for Heartbeat {
    fn label(&self) -> MessageLabel {
        MessageLabel { layer: Layer::Election, kind: "heartbeat" }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Timer {
    Heartbeat,
    Election,
}

impl Protocol for HeartbeatLeader {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Heartbeat;
    type Timer = Timer;
    type Stable = u64;

    fn boot(group: Group, (): &(), saved: Option<u64>, fx: &mut impl Effects<Self>) -> Self {
        let mut process = HeartbeatLeader { group, saved: saved.unwrap_or(0), leader: None };
        if group.me() == BOTH[0] {
            process.on_timer(Timer::Heartbeat, fx);
        }
        process
    }

    fn stable(&self) -> u64 {
        self.saved
    }

    fn on_command(&mut self, _: Command, _: &mut impl Effects<Self>) {
        self.saved += 1;
    }

    fn on_message(&mut self, from: ProcessId, _: Heartbeat, fx: &mut impl Effects<Self>) {
        self.follow(from, fx);
        fx.set_timer(Timer::Election, Delay::time_units(ELECTION_TIMEOUT_MS));
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Heartbeat => {
                fx.send(BOTH[1], Heartbeat);
                fx.set_timer(Timer::Heartbeat, Delay::time_units(HEARTBEAT_INTERVAL_MS));
            }
            Timer::Election => self.follow(self.group.me(), fx),
        }
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Heartbeat => TimerRole::PacesHeartbeats,
            Timer::Election => TimerRole::MeasuresSilence,
        }
    }

    fn must_wait_for_save(_: &Heartbeat) -> bool {
        false
    }
}

impl HeartbeatLeader {
    fn follow(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        if self.leader.replace(leader) != Some(leader) {
            fx.emit(elected(leader));
        }
    }
}

fn elected(leader: ProcessId) -> Event {
    Event::Elected { leader, term: Term { number: 1 + u64::from(leader.0), leader } }
}

fn boot(
    store: StableStorage,
    me: ProcessId,
    listener: TcpListener,
    addresses: &[String],
) -> (mpsc::UnboundedSender<Command>, mpsc::UnboundedReceiver<Event>, RunningNode) {
    let (commands, requests) = mpsc::unbounded_channel();
    let (application, events) = PassthroughApplication::new();
    let running = start_node::<HeartbeatLeader, PassthroughApplication<HeartbeatLeader>>(
        NodeComponents::new(
            (),
            settings(me, &store, listener, addresses),
            store,
            application,
            requests,
        ),
    );
    (commands, events, running.expect("a node"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leader_with_stuck_disk_is_replaced() {
    replace_stuck_leader(1).await;
}

/// So many steps wait for the disk that the leader accepts no further input.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leader_with_many_waiting_steps_sends_heartbeats() {
    replace_stuck_leader(5_000).await;
}

/// Sends `commands` commands to a leader whose disk is stuck.
async fn replace_stuck_leader(commands: u32) {
    let directory = tempfile::tempdir().expect("a folder");
    let ([first, second], addresses) = listeners();
    let [leader_store, follower_store] = BOTH.map(|me| open(directory.path(), me, 2));
    let is_stuck = leader_store.is_stuck.clone();
    let (leader_commands, _, leader) = boot(leader_store, BOTH[0], first, &addresses);
    let (follower_commands, mut events, follower) =
        boot(follower_store, BOTH[1], second, &addresses);
    let followed = timeout(EVENT_TIMEOUT, events.recv()).await;
    assert_eq!(followed, Ok(Some(elected(BOTH[0]))));

    is_stuck.store(true, Ordering::SeqCst);
    for _ in 0..commands {
        leader_commands.send(Command::Elect).expect("a running node");
    }
    // The disk is only slow before the time limit, so the leader still sends heartbeats.
    let before_limit = timeout(STUCK_SAVE_AGE * 2 / 3, events.recv()).await;
    let after_limit = timeout(EVENT_TIMEOUT, events.recv()).await;
    // The flag is reset before the assertions. If an assertion failed earlier, the dropped node
    // would wait for its disk forever.
    is_stuck.store(false, Ordering::SeqCst);
    assert!(before_limit.is_err(), "a slow disk deposes no leader: {before_limit:?}");
    assert_eq!(after_limit, Ok(Some(elected(BOTH[1]))), "a stuck disk deposes the leader");

    // The disk works again, so the first process sends heartbeats and leads again.
    let recovered = timeout(EVENT_TIMEOUT, events.recv()).await;
    assert_eq!(recovered, Ok(Some(elected(BOTH[0]))));
    drop((leader_commands, follower_commands));
    for node in [leader, follower] {
        node.task.await.expect("no panic").expect("a clean shutdown");
    }
}

#[tokio::test]
async fn stuck_save_has_an_age_until_it_ends() {
    let directory = tempfile::tempdir().expect("a folder");
    let store = open(directory.path(), BOTH[0], 2);
    let (is_stuck, metrics) = (store.is_stuck.clone(), store.save_metrics());
    assert_eq!(metrics.unfinished_save_age(), None);
    is_stuck.store(true, Ordering::SeqCst);
    let mut worker = StoreWorker::new(store);
    worker.submit(StoreJob::Save(vec![1]));
    let growing = async {
        while metrics.unfinished_save_age().is_none_or(|age| age < Duration::from_millis(10)) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let is_growing = timeout(EVENT_TIMEOUT, growing).await.is_ok();
    // The flag is reset before the assertions. If an assertion failed earlier, the dropped worker
    // would wait for its disk forever.
    is_stuck.store(false, Ordering::SeqCst);
    let completed = timeout(EVENT_TIMEOUT, worker.next_completion()).await;
    assert!(is_growing, "the age of a stuck save grows");
    assert!(matches!(completed, Ok(StoreCompletion::Saved(Ok(())))), "{completed:?}");
    assert_eq!(metrics.unfinished_save_age(), None);
}
