//! An experiment with a number that a server stores. Each client reads the number, adds an amount
//! to it, and writes the result back. The clients communicate with the server only by messages.
//!
//! The experiment shows that the race condition of shared memory can also occur with messages. This
//! module explores every order of deliveries.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_algorithms::mutex::{Central, central};
use tenure_core::service::mutex;
use tenure_core::{
    ConstantEnvironment, EffectBuffer, Effects, Group, Input, Labelled, Layer, MessageLabel, Never,
    ProcessId, Protocol,
};

/// A process. P1 is the server, which stores the number and grants the lock. The others are
/// clients, which change the number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Participant {
    /// Value of the number. Only the server uses this field.
    value: i64,
    change: i64,
    lock: Option<Central>,
}

const SERVER: ProcessId = ProcessId(0);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordArguments {
    start: i64,
    /// Amounts that the clients add to the number on the server, one amount per client. P2 is the
    /// first client.
    changes: Vec<i64>,
    #[serde(default)]
    locked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Change;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Lock(central::Message),
    Get,
    Value(i64),
    Put(i64),
    Done,
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        let kind = match self {
            Message::Lock(message) => return message.label(),
            Message::Get => "get",
            Message::Value(_) => "value",
            Message::Put(_) => "put",
            Message::Done => "done",
        };
        MessageLabel { kind, layer: Layer::Application }
    }
}

impl Protocol for Participant {
    type Config = RecordArguments;
    type Command = Change;
    type Event = Never;
    type Message = Message;
    type Timer = <Central as Protocol>::Timer;
    type Stable = ();

    fn boot(
        group: Group,
        config: &RecordArguments,
        _: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let client = group.me().index().checked_sub(1);
        let change = client.map_or(0, |client| config.changes[client]);
        let inner = central::Config { coordinator: SERVER, ..central::Config::default() };
        let lock = config.locked.then(|| {
            fx.run_child(Message::Lock, |timer| timer, |fx| Central::boot(group, &inner, None, fx))
                .0
        });
        Participant { value: config.start, change, lock }
    }

    fn stable(&self) {}

    fn on_command(&mut self, Change: Change, fx: &mut impl Effects<Self>) {
        if self.lock.is_some() {
            self.step_lock(Input::Command(mutex::Command::Enter), fx);
        } else {
            fx.send(SERVER, Message::Get);
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Lock(message) => self.step_lock(Input::Message { from, message }, fx),
            Message::Get => fx.send(from, Message::Value(self.value)),
            Message::Value(value) => fx.send(SERVER, Message::Put(value + self.change)),
            Message::Put(value) => {
                self.value = value;
                fx.send(from, Message::Done);
            }
            Message::Done if self.lock.is_some() => {
                self.step_lock(Input::Command(mutex::Command::Exit), fx);
            }
            Message::Done => {}
        }
    }
}

impl Participant {
    /// Passes an input to the lock algorithm. If the process then enters the critical section,
    /// requests the number from the server.
    fn step_lock(&mut self, input: Input<Central>, fx: &mut impl Effects<Self>) {
        let Some(lock) = &mut self.lock else { return };
        let ((), events) = fx.run_child(Message::Lock, |timer| timer, |fx| lock.step(input, fx));
        if events.iter().any(|event| matches!(event, mutex::Event::Entered { .. })) {
            fx.send(SERVER, Message::Get);
        }
    }
}

/// State of the search: the processes, the messages in flight, and the order in which the server
/// has received requests.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    participants: Vec<Participant>,
    in_flight: Vec<(ProcessId, ProcessId, Message)>,
    requests: Vec<ProcessId>,
}

impl State {
    fn first(config: &RecordArguments) -> Self {
        let size = config.changes.len() + 1;
        let group = |place| Group::new(ProcessId::from_index(place), size as u32);
        let mut batch = EffectBuffer::new(ConstantEnvironment);
        let boot = |place| Participant::boot(group(place), config, None, &mut batch);
        let participants = (0..size).map(boot).collect();
        let state = State { participants, in_flight: Vec::new(), requests: Vec::new() };
        (1..size).fold(state, |state, client| {
            state.after(ProcessId::from_index(client), Input::Command(Change))
        })
    }

    fn after(mut self, at: ProcessId, input: Input<Participant>) -> Self {
        let mut batch = EffectBuffer::new(ConstantEnvironment);
        self.participants[at.index()].step(input, &mut batch);
        self.in_flight.extend(batch.messages.drain(..).map(|(to, message)| (at, to, message)));
        self
    }

    fn delivered(&self, index: usize) -> Self {
        let mut state = self.clone();
        let (from, to, message) = state.in_flight.remove(index);
        if matches!(message, Message::Get | Message::Put(_)) {
            state.requests.push(from);
        }
        state.after(to, Input::Message { from, message })
    }
}

/// Explores all orders in which the server can receive requests. Returns the number of these
/// orders, and for each final value the number of orders that lead to this value.
pub(super) fn count_final_values(config: RecordArguments) -> Result<Value, Infallible> {
    let mut seen = HashSet::new();
    let mut frontier = vec![State::first(&config)];
    let mut ends = BTreeSet::new();
    while let Some(state) = frontier.pop() {
        if state.in_flight.is_empty() {
            ends.insert((state.requests, state.participants[SERVER.index()].value));
            continue;
        }
        let next = (0..state.in_flight.len()).map(|index| state.delivered(index));
        frontier.extend(next.filter(|state| seen.insert(state.clone())));
    }
    let mut finals = BTreeMap::<i64, usize>::new();
    for (_, value) in &ends {
        *finals.entry(*value).or_default() += 1;
    }
    Ok(json!({ "orders": ends.len(), "finals": finals }))
}
