//! Consensus: everybody proposes a value, and all decide one of those.

use core::fmt;

use super::agreement::{Client, Seat, Standing};

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Propose a value: once, and everybody does.
    Propose {
        /// The value.
        value: u64,
    },
}

/// What the local user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// It is decided, for ever. Who comes back from a crash may be told again.
    Decided {
        /// The value.
        value: u64,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command::Propose { value } = self;
        write!(f, "proposes {value}")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event::Decided { value } = self;
        write!(f, "decides {value}")
    }
}

/// A user of consensus: it is bound to propose, its own number, and waits for the decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    value: u64,
    proposes: bool,
    waits: bool,
    /// Whether it knows the decision, perhaps before it proposed anything.
    knows: bool,
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    const TOGETHER: bool = true;

    fn new(seat: &Seat) -> Self {
        let (value, proposes) = (seat.at.number().into(), seat.times > 0);
        User { value, proposes, waits: false, knows: false }
    }

    fn next(&self) -> Option<Command> {
        (self.proposes && !self.knows).then_some(Command::Propose { value: self.value })
    }

    /// Where few propose, nobody may be able to decide.
    fn is_obliged(&self) -> bool {
        true
    }

    fn asked(&mut self, _command: &Command) {
        self.proposes = false;
        self.waits = !self.knows;
    }

    fn told(&mut self, _event: &Event) {
        self.knows = true;
        self.waits = false;
    }

    fn crashed(&mut self) {
        self.knows = false;
        self.waits = false;
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
