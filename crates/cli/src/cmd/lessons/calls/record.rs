//! A number that a server keeps, and clients who change it by messages: read, add, write back.
//!
//! There is no shared memory, and the race is the same. Every order of deliveries is tried.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_algorithms::mutex::{Central, central};
use tenure_core::service::mutex;
use tenure_core::{
    Batch, Effects, Group, Input, Label, Labelled, Layer, Never, ProcessId, Protocol, Still,
};

/// P1, who keeps the record and coordinates the lock, or a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Clerk {
    /// The record; only P1's is ever used.
    value: i64,
    /// What a client adds.
    change: i64,
    lock: Option<Central>,
}

const SERVER: ProcessId = ProcessId(0);

/// What is fixed for life.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    start: i64,
    /// What each client adds, P2 first.
    changes: Vec<i64>,
    #[serde(default)]
    locked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Change;

/// What a client and the server say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    /// Of the lock.
    Lock(central::Message),
    /// "What is it?"
    Get,
    /// "It is this."
    Value(i64),
    /// "Let it be this."
    Put(i64),
    /// "It is done."
    Done,
}

impl Labelled for Message {
    fn label(&self) -> Label {
        let kind = match self {
            Message::Lock(message) => return message.label(),
            Message::Get => "get",
            Message::Value(_) => "value",
            Message::Put(_) => "put",
            Message::Done => "done",
        };
        Label { kind, layer: Layer::Application }
    }
}

impl Protocol for Clerk {
    type Config = Config;
    type Command = Change;
    type Event = Never;
    type Message = Message;
    type Timer = <Central as Protocol>::Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let client = group.me().index().checked_sub(1);
        let change = client.map_or(0, |client| config.changes[client]);
        let inner = central::Config { coordinator: SERVER, ..central::Config::default() };
        let lock = config.locked.then(|| {
            fx.lift(Message::Lock, |timer| timer, |fx| Central::boot(group, &inner, None, fx)).0
        });
        Clerk { value: config.start, change, lock }
    }

    fn stable(&self) {}

    fn on_command(&mut self, Change: Change, fx: &mut impl Effects<Self>) {
        if self.lock.is_some() {
            self.ask_lock(Input::Command(mutex::Command::Enter), fx);
        } else {
            fx.send(SERVER, Message::Get);
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Lock(message) => self.ask_lock(Input::Message { from, message }, fx),
            Message::Get => fx.send(from, Message::Value(self.value)),
            Message::Value(value) => fx.send(SERVER, Message::Put(value + self.change)),
            Message::Put(value) => {
                self.value = value;
                fx.send(from, Message::Done);
            }
            Message::Done if self.lock.is_some() => {
                self.ask_lock(Input::Command(mutex::Command::Exit), fx);
            }
            Message::Done => {}
        }
    }
}

impl Clerk {
    /// Reads as soon as it is inside.
    fn ask_lock(&mut self, input: Input<Central>, fx: &mut impl Effects<Self>) {
        let Some(lock) = &mut self.lock else { return };
        let ((), events) = fx.lift(Message::Lock, |timer| timer, |fx| lock.step(input, fx));
        if events.iter().any(|event| matches!(event, mutex::Event::Entered { .. })) {
            fx.send(SERVER, Message::Get);
        }
    }
}

/// Where everybody is, what is under way, and what the server was asked, in order.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    clerks: Vec<Clerk>,
    under_way: Vec<(ProcessId, ProcessId, Message)>,
    asked: Vec<ProcessId>,
}

impl World {
    fn first(config: &Config) -> Self {
        let size = config.changes.len() + 1;
        let group = |place| Group::new(ProcessId::at(place), size as u32);
        let mut batch = Batch::new(Still);
        let boot = |place| Clerk::boot(group(place), config, None, &mut batch);
        let clerks = (0..size).map(boot).collect();
        let world = World { clerks, under_way: Vec::new(), asked: Vec::new() };
        (1..size)
            .fold(world, |world, client| world.after(ProcessId::at(client), Input::Command(Change)))
    }

    fn after(mut self, at: ProcessId, input: Input<Clerk>) -> Self {
        let mut batch = Batch::new(Still);
        self.clerks[at.index()].step(input, &mut batch);
        self.under_way.extend(batch.messages.drain(..).map(|(to, message)| (at, to, message)));
        self
    }

    /// What happens if this message is the next to arrive.
    fn delivered(&self, which: usize) -> Self {
        let mut world = self.clone();
        let (from, to, message) = world.under_way.remove(which);
        if matches!(message, Message::Get | Message::Put(_)) {
            world.asked.push(from);
        }
        world.after(to, Input::Message { from, message })
    }
}

/// All orders in which the server may be asked, and after how many of them the record holds what.
pub(super) fn finals(config: Config) -> Result<Value, Infallible> {
    let mut seen = HashSet::new();
    let mut left = vec![World::first(&config)];
    let mut ends = BTreeSet::new();
    while let Some(world) = left.pop() {
        if world.under_way.is_empty() {
            ends.insert((world.asked, world.clerks[SERVER.index()].value));
            continue;
        }
        let next = (0..world.under_way.len()).map(|which| world.delivered(which));
        left.extend(next.filter(|world| seen.insert(world.clone())));
    }
    let mut finals = BTreeMap::<i64, usize>::new();
    for (_, value) in &ends {
        *finals.entry(*value).or_default() += 1;
    }
    Ok(json!({ "orders": ends.len(), "finals": finals }))
}
