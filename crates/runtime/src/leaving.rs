//! Whoever leaves while its disk is slow: what it says to hand its office over is kept back so
//! long, and the time in which it can be answered begins after that.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::service::election::{Command, Event};
use tenure_core::{Effects, Group, Label, Labelled, Layer, ProcessId, Protocol, Term};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::driver::{Parts, Running, start};
use crate::injection::Injection;
use crate::local::Local;
use crate::recorder::Recorder;
use crate::store::{Owner, Store};
use crate::transport::{Limits, Listen, Settings, Trust};

const PATIENCE: Duration = Duration::from_secs(20);

/// Peers are so far away, as nodes are told.
const ROUND_TRIP: Duration = Duration::from_millis(25);

/// Takes the office whenever it is asked, which is saved, and gives it to the next when told to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Chair {
    group: Group,
    terms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Take,
    Taken,
}

impl Labelled for Message {
    fn label(&self) -> Label {
        Label { layer: Layer::Election, kind: "chair" }
    }
}

impl Protocol for Chair {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = u64;

    fn boot(group: Group, (): &(), saved: Option<u64>, _: &mut impl Effects<Self>) -> Self {
        Chair { group, terms: saved.unwrap_or(0) }
    }

    fn stable(&self) -> u64 {
        self.terms
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect => {
                self.terms += 1;
                fx.emit(self.led_by(self.group.me()));
            }
            Command::Resign => fx.send(ProcessId(1), Message::Take),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Take => fx.send(from, Message::Taken),
            Message::Taken => fx.emit(self.led_by(from)),
        }
    }
}

impl Chair {
    fn led_by(&self, leader: ProcessId) -> Event {
        let term = Term { number: self.terms, leader };
        Event::Elected { term, leader }
    }
}

/// What a user of a chair sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    LedBy(ProcessId),
    Farewell,
}

#[derive(Debug)]
struct User {
    leader: Option<Term>,
    seen: mpsc::UnboundedSender<Seen>,
}

impl Local<Chair> for User {
    type Ask = Command;

    fn ask(&mut self, command: Command) -> Option<Command> {
        Some(command)
    }

    fn told(&mut self, event: Event) -> Option<Command> {
        if let Event::Elected { term, .. } = event {
            self.leader = Some(term);
            let _ = self.seen.send(Seen::LedBy(term.leader));
        }
        None
    }

    fn leader(&self) -> Option<Term> {
        self.leader
    }

    fn farewell(&mut self) -> Option<Command> {
        let _ = self.seen.send(Seen::Farewell);
        Some(Command::Resign)
    }

    fn leads_on_until_relieved(&self) -> bool {
        true
    }
}

type Asks = mpsc::UnboundedSender<Command>;
type Sees = mpsc::UnboundedReceiver<Seen>;

fn open(directory: &Path, me: ProcessId) -> Store {
    let owner = Owner { cluster: "test".into(), process: me, group_size: 2 };
    Store::open(directory.join(me.to_string()), &owner, "chair 1").expect("a store")
}

fn boot(
    store: Store,
    me: ProcessId,
    listener: TcpListener,
    addresses: &[String],
) -> (Asks, Sees, Running) {
    let (asks, asked) = mpsc::unbounded_channel();
    let (seen, sees) = mpsc::unbounded_channel();
    let running = start::<Chair, User>(Parts {
        config: (),
        transport: Settings {
            cluster: "test".into(),
            me,
            session: store.session(),
            listen: Listen::Listener(listener),
            addresses: addresses.to_vec(),
            trust: Trust::Machine,
            limits: Limits { round_trip: ROUND_TRIP, ..Limits::default() },
        },
        store,
        local: User { leader: None, seen },
        asks: asked,
        recorder: Recorder::none(),
        injection: Injection::none(),
        suspected: None,
    });
    (asks, sees, running.expect("a node"))
}

async fn next(sees: &mut Sees) -> Option<Seen> {
    timeout(PATIENCE, sees.recv()).await.expect("in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_slow_takes_nothing_of_the_time_in_which_an_office_is_handed_over() {
    let directory = tempfile::tempdir().expect("a folder");
    let both = [ProcessId(0), ProcessId(1)];
    let listeners = both.map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let address = |it: &TcpListener| it.local_addr().expect("an address").to_string();
    let addresses = listeners.each_ref().map(address);
    let [first, second] = listeners;
    let [store, other] = both.map(|me| open(directory.path(), me));
    let is_stuck = store.is_stuck.clone();
    let (asks, mut sees, mut running) = boot(store, both[0], first, &addresses);
    let (_stays, _, _running) = boot(other, both[1], second, &addresses);
    let meets = running.present.wait_for(|present| present[1].is_some());
    timeout(PATIENCE, meets).await.expect("in time").expect("a node that runs");
    asks.send(Command::Elect).expect("a node that runs");
    assert_eq!(next(&mut sees).await, Some(Seen::LedBy(both[0])));
    // Something is to be saved when it is asked to leave, and that takes longer than it may stay.
    is_stuck.store(true, Ordering::SeqCst);
    asks.send(Command::Elect).expect("a node that runs");
    drop(asks);
    assert_eq!(next(&mut sees).await, Some(Seen::Farewell));
    sleep(6 * ROUND_TRIP).await;
    is_stuck.store(false, Ordering::SeqCst);
    running.task.await.expect("no panic").expect("a good end");
    assert_eq!(next(&mut sees).await, Some(Seen::LedBy(both[0])), "that is saved");
    assert_eq!(next(&mut sees).await, Some(Seen::LedBy(both[1])), "it left before it was relieved");
}
