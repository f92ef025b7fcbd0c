//! A lock whose first process is a doorkeeper with a single key.
//!
//! A process that wants to enter knocks at the first process. The first process gives out the key
//! in the order of the knocks, and waits each time until the key is returned. Only the process with
//! the key is inside.

use std::collections::VecDeque;

use tenure::algorithms::{VariantId, Variants};
use tenure::core::service::mutex::{Command, Event};
use tenure::core::{Effects, Fence, Group, Never, ProcessId, Protocol, Variant, labelled};
use tenure::serde::{Deserialize, Serialize};

/// A process that uses the lock. The first process of the group is also the doorkeeper, which gives
/// out the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Doorkeeper {
    me: ProcessId,
    variants: Variants<Mistake>,
    /// Processes that have knocked, in the order of their knocks. Only the doorkeeper uses this
    /// queue.
    waiting: VecDeque<ProcessId>,
    is_key_out: bool,
    /// Number of times that the doorkeeper has given out the key. This number is the fencing token
    /// of the latest entry.
    grants: u64,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(crate = "tenure::serde")]
pub(crate) enum Message {
    /// A process asks the doorkeeper for the key.
    Knock,
    /// The doorkeeper gives the key to a process. The number is the fencing token of the entry.
    Key(u64),
    /// A process returns the key to the doorkeeper.
    Back,
}

labelled!(Message, Mutex, Knock => "knock", Key => "key", Back => "back");

/// Deliberate mistakes of this algorithm, which the checker can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    /// The doorkeeper gives a key to each process that knocks, even if another process has a key.
    SecondKey,
}

impl VariantId for Mistake {
    const ALL: &'static [Self] = &[Mistake::SecondKey];

    fn declaration(self) -> Variant {
        let description = "each knock gets a key, even if the key is out";
        Variant {
            name: "second-key",
            description,
            sound: false,
            known_result: "",
            shown_by: "-n 2",
        }
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
        Doorkeeper { me, variants, waiting, is_key_out: false, grants: 0 }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.send(DOORKEEPER, Message::Knock, fx),
            Command::Exit => {
                fx.emit(Event::Exited);
                self.send(DOORKEEPER, Message::Back, fx);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Knock => self.waiting.push_back(from),
            Message::Back => self.is_key_out = false,
            Message::Key(given) => return fx.emit(Event::Entered { fence: Fence(0, given) }),
        }
        if self.is_key_out && !self.variants.has(Mistake::SecondKey) {
            return;
        }
        if let Some(next) = self.waiting.pop_front() {
            self.is_key_out = true;
            self.grants += 1;
            self.send(next, Message::Key(self.grants), fx);
        }
    }
}

/// The process that is the doorkeeper.
const DOORKEEPER: ProcessId = ProcessId(0);

impl Doorkeeper {
    /// Sends a message. If the receiver is this process itself, handles the message directly.
    fn send(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if to == self.me { self.on_message(to, message, fx) } else { fx.send(to, message) }
    }
}
