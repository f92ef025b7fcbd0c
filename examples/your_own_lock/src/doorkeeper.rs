//! One process keeps the door, and the only key.
//!
//! Whoever wants to enter knocks at the first process, which hands out the key in the order of the
//! knocks and waits until it is back. Nobody else has a key, so nobody else is inside.

use std::collections::VecDeque;

use tenure::algorithms::{Switch, Variants};
use tenure::core::service::mutex::{Command, Event};
use tenure::core::{Effects, Fence, Group, Never, ProcessId, Protocol, Variant, labelled};
use tenure::serde::{Deserialize, Serialize};

/// One process: a visitor, and at one of them the doorkeeper as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Doorkeeper {
    me: ProcessId,
    variants: Variants<Mistake>,
    /// Who waits at the door, the first first; empty for ever except at the doorkeeper.
    waiting: VecDeque<ProcessId>,
    key_is_out: bool,
    /// How often the key was given, which is the fence of each entry.
    given: u64,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(crate = "tenure::serde")]
pub(crate) enum Message {
    /// "I want to enter."
    Knock,
    /// "Here is the key, and how often it was given."
    Key(u64),
    /// "Here is the key back."
    Back,
}

labelled!(Message, Mutex, Knock => "knock", Key => "key", Back => "back");

/// What one can get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    /// Whoever knocks gets a key at once.
    SecondKey,
}

impl Switch for Mistake {
    const ALL: &'static [Self] = &[Mistake::SecondKey];

    fn declaration(self) -> Variant {
        let says = "whoever knocks gets a key, though it is out";
        Variant { name: "second-key", says, sound: false, verdict: "", shown_by: "-n 2" }
    }
}

impl Protocol for Doorkeeper {
    type Config = Variants<Mistake>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Self::Config,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        let (me, variants, waiting) = (group.me(), *variants, VecDeque::new());
        Doorkeeper { me, variants, waiting, key_is_out: false, given: 0 }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.say(DOOR, Message::Knock, fx),
            Command::Exit => {
                fx.emit(Event::Exited);
                self.say(DOOR, Message::Back, fx);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Knock => self.waiting.push_back(from),
            Message::Back => self.key_is_out = false,
            Message::Key(given) => return fx.emit(Event::Entered { fence: Fence(0, given) }),
        }
        if self.key_is_out && !self.variants.has(Mistake::SecondKey) {
            return;
        }
        if let Some(next) = self.waiting.pop_front() {
            self.key_is_out = true;
            self.given += 1;
            self.say(next, Message::Key(self.given), fx);
        }
    }
}

/// Who keeps the door.
const DOOR: ProcessId = ProcessId(0);

impl Doorkeeper {
    /// A message; a call where we say it to ourselves.
    fn say(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if to == self.me { self.on_message(to, message, fx) } else { fx.send(to, message) }
    }
}
