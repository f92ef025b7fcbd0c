use serde::Serialize;
use serde_json::Value;
use tenure_core::service::{election, led, mutex, office, stream};
use tenure_core::{Fence, ProcessId, Protocol, Term};
use tenure_trace::{Asked, Spoken, Told};

/// What a workload can ask of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Enter the critical section.
    Enter,
    /// Leave it.
    Exit,
    /// Start an election.
    Elect,
    /// Step down.
    Resign,
}

/// What a workload, the metrics and the monitors understand of what users are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The process is inside.
    Entered {
        /// The entry's fence.
        fence: Fence,
    },
    /// The process is outside.
    Exited,
    /// There is a leader.
    Elected {
        /// Who it is.
        leader: ProcessId,
        /// In which term.
        term: Term,
    },
    /// The leader of this term is no longer to be relied on.
    Deposed {
        /// The term that ended.
        term: Term,
    },
    /// Something of another service.
    Other,
}

/// A command that workloads can give and traces can hold.
///
/// The services' commands have it. For commands of your own an empty `impl` is enough; then
/// only [`Simulation::command`](crate::Simulation::command) gives them.
pub trait UserCommand: Sized {
    /// The command for `ask`; `None` when the service has none.
    fn asking(ask: Ask) -> Option<Self> {
        let _ = ask;
        None
    }

    /// What this command asks, if it is one of the common ones.
    fn ask(&self) -> Option<Ask> {
        None
    }

    /// How a trace holds it.
    fn traced(&self) -> Asked {
        Asked::Other(Value::Null)
    }
}

/// An event that workloads, metrics and monitors can understand and traces can hold.
///
/// The services' events have it. For events of your own an empty `impl` is enough.
pub trait UserEvent {
    /// What this event says, if it is one of the common ones.
    fn heard(&self) -> Heard {
        Heard::Other
    }

    /// How a trace holds it.
    fn traced(&self) -> Told {
        Told::Other(Value::Null)
    }
}

/// A protocol that can be stepped through, and whose users can be told what to ask.
pub trait Playable: Protocol<Command: UserCommand + Spoken, Event: UserEvent> {}

impl<P: Protocol<Command: UserCommand + Spoken, Event: UserEvent>> Playable for P {}

impl UserCommand for mutex::Command {
    fn asking(ask: Ask) -> Option<Self> {
        match ask {
            Ask::Enter => Some(mutex::Command::Enter),
            Ask::Exit => Some(mutex::Command::Exit),
            Ask::Elect | Ask::Resign => None,
        }
    }

    fn ask(&self) -> Option<Ask> {
        Some(match self {
            mutex::Command::Enter => Ask::Enter,
            mutex::Command::Exit => Ask::Exit,
        })
    }

    fn traced(&self) -> Asked {
        (*self).into()
    }
}

impl UserEvent for mutex::Event {
    fn heard(&self) -> Heard {
        match *self {
            mutex::Event::Entered { fence } => Heard::Entered { fence },
            mutex::Event::Exited => Heard::Exited,
        }
    }

    fn traced(&self) -> Told {
        (*self).into()
    }
}

impl UserCommand for election::Command {
    fn asking(ask: Ask) -> Option<Self> {
        match ask {
            Ask::Elect => Some(election::Command::Elect),
            Ask::Resign => Some(election::Command::Resign),
            Ask::Enter | Ask::Exit => None,
        }
    }

    fn ask(&self) -> Option<Ask> {
        Some(match self {
            election::Command::Elect => Ask::Elect,
            election::Command::Resign => Ask::Resign,
        })
    }

    fn traced(&self) -> Asked {
        (*self).into()
    }
}

impl UserEvent for election::Event {
    fn heard(&self) -> Heard {
        match *self {
            election::Event::Elected { leader, term } => Heard::Elected { leader, term },
            election::Event::Deposed { term } => Heard::Deposed { term },
        }
    }

    fn traced(&self) -> Told {
        (*self).into()
    }
}

impl UserCommand for office::Command {
    fn asking(ask: Ask) -> Option<Self> {
        let mutex = mutex::Command::asking(ask).map(office::Command::Mutex);
        mutex.or_else(|| election::Command::asking(ask).map(office::Command::Election))
    }

    fn ask(&self) -> Option<Ask> {
        match self {
            office::Command::Mutex(command) => command.ask(),
            office::Command::Election(command) => command.ask(),
        }
    }

    fn traced(&self) -> Asked {
        (*self).into()
    }
}

impl UserEvent for office::Event {
    fn heard(&self) -> Heard {
        match self {
            office::Event::Mutex(event) => event.heard(),
            office::Event::Election(event) => event.heard(),
        }
    }

    fn traced(&self) -> Told {
        (*self).into()
    }
}

impl UserCommand for stream::Command {
    fn traced(&self) -> Asked {
        (*self).into()
    }
}

impl UserEvent for stream::Event {
    fn traced(&self) -> Told {
        (*self).into()
    }
}

/// What the election can be asked for; the application's commands come from scripts.
impl<C: Clone + Serialize> UserCommand for led::Command<C> {
    fn asking(ask: Ask) -> Option<Self> {
        election::Command::asking(ask).map(led::Command::Election)
    }

    fn ask(&self) -> Option<Ask> {
        match self {
            led::Command::Application(_) => None,
            led::Command::Election(command) => command.ask(),
        }
    }

    fn traced(&self) -> Asked {
        self.clone().into()
    }
}

impl<E: Clone + Serialize> UserEvent for led::Event<E> {
    fn heard(&self) -> Heard {
        match self {
            led::Event::Application(_) => Heard::Other,
            led::Event::Election(event) => event.heard(),
        }
    }

    fn traced(&self) -> Told {
        self.clone().into()
    }
}

impl UserCommand for () {}
impl UserEvent for () {}
