//! Commands and events of any service, as a trace holds them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tenure_core::service::{detector, election, led, mutex, office, stream};
use tenure_core::{Fence, Of, ProcessId, Protocol, Term};

/// A protocol whose commands and events a trace can hold.
pub trait Recorded: Protocol<Command: Into<Asked>, Event: Into<Told>> {}

impl<P: Protocol<Command: Into<Asked>, Event: Into<Told>>> Recorded for P {}

/// What a local user asked, of whichever service. In JSON it is what the service's own type is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Asked {
    /// Of a lock.
    Mutex(mutex::Command),
    /// Of an election.
    Election(election::Command),
    /// Of an office.
    Office(office::Command),
    /// Of a channel.
    Stream(stream::Command),
    /// Of anything else.
    Other(Value),
}

/// What a local user was told, by whichever service. In JSON it is what the service's own type
/// is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Told {
    /// By a lock.
    Mutex(mutex::Event),
    /// By an election.
    Election(election::Event),
    /// By an office.
    Office(office::Event),
    /// By a channel.
    Stream(stream::Event),
    /// By anything else.
    Other(Value),
}

impl Asked {
    /// The command to a lock, an office's included.
    pub fn mutex(&self) -> Option<&mutex::Command> {
        match self {
            Asked::Mutex(command) | Asked::Office(office::Command::Mutex(command)) => Some(command),
            _ => None,
        }
    }

    /// The command to an election, an office's included.
    pub fn election(&self) -> Option<&election::Command> {
        match self {
            Asked::Election(command) | Asked::Office(office::Command::Election(command)) => {
                Some(command)
            }
            _ => None,
        }
    }

    pub(crate) fn from_json(json: &RawValue) -> Result<Self, serde_json::Error> {
        match serde_json::from_str(json.get()) {
            Ok(AnyCommand::Enter) => Ok(Asked::Mutex(mutex::Command::Enter)),
            Ok(AnyCommand::Exit) => Ok(Asked::Mutex(mutex::Command::Exit)),
            Ok(AnyCommand::Elect) => Ok(Asked::Election(election::Command::Elect)),
            Ok(AnyCommand::Resign) => Ok(Asked::Election(election::Command::Resign)),
            Ok(AnyCommand::Mutex(command)) => Ok(Asked::Office(office::Command::Mutex(command))),
            Ok(AnyCommand::Election(command)) => {
                Ok(Asked::Office(office::Command::Election(command)))
            }
            Ok(AnyCommand::Send { to, item }) => {
                Ok(Asked::Stream(stream::Command::Send { to, item }))
            }
            Err(_) => serde_json::from_str(json.get()).map(Asked::Other),
        }
    }
}

impl Told {
    /// The event of a lock, an office's included.
    pub fn mutex(&self) -> Option<&mutex::Event> {
        match self {
            Told::Mutex(event) | Told::Office(office::Event::Mutex(event)) => Some(event),
            _ => None,
        }
    }

    /// The event of an election, an office's included.
    pub fn election(&self) -> Option<&election::Event> {
        match self {
            Told::Election(event) | Told::Office(office::Event::Election(event)) => Some(event),
            _ => None,
        }
    }

    pub(crate) fn from_json(json: &RawValue) -> Result<Self, serde_json::Error> {
        match serde_json::from_str(json.get()) {
            Ok(AnyEvent::Entered { fence }) => Ok(Told::Mutex(mutex::Event::Entered { fence })),
            Ok(AnyEvent::Exited) => Ok(Told::Mutex(mutex::Event::Exited)),
            Ok(AnyEvent::Elected { leader, term }) => {
                Ok(Told::Election(election::Event::Elected { leader, term }))
            }
            Ok(AnyEvent::Deposed { term }) => Ok(Told::Election(election::Event::Deposed { term })),
            Ok(AnyEvent::Mutex(event)) => Ok(Told::Office(office::Event::Mutex(event))),
            Ok(AnyEvent::Election(event)) => Ok(Told::Office(office::Event::Election(event))),
            Ok(AnyEvent::Received { from, item }) => {
                Ok(Told::Stream(stream::Event::Received { from, item }))
            }
            Err(_) => serde_json::from_str(json.get()).map(Told::Other),
        }
    }
}

/// All services' commands side by side. Their names differ, so one look at the JSON decides;
/// trying one type after another would cost a buffered copy of each.
#[derive(Deserialize)]
enum AnyCommand {
    Enter,
    Exit,
    Elect,
    Resign,
    Mutex(mutex::Command),
    Election(election::Command),
    Send { to: ProcessId, item: u64 },
}

/// All services' events side by side.
#[derive(Deserialize)]
enum AnyEvent {
    Entered { fence: Fence },
    Exited,
    Elected { leader: ProcessId, term: Term },
    Deposed { term: Term },
    Mutex(mutex::Event),
    Election(election::Event),
    Received { from: ProcessId, item: u64 },
}

macro_rules! from_service {
    ($($to:ident :: $variant:ident from $service:ident :: $type:ident),+ $(,)?) => {
        $(impl From<$service::$type> for $to {
            fn from(said: $service::$type) -> Self {
                $to::$variant(said)
            }
        })+
    };
}

from_service!(
    Asked::Mutex from mutex::Command,
    Asked::Election from election::Command,
    Asked::Office from office::Command,
    Asked::Stream from stream::Command,
    Told::Mutex from mutex::Event,
    Told::Election from election::Event,
    Told::Office from office::Event,
    Told::Stream from stream::Event,
);

impl From<()> for Asked {
    fn from((): ()) -> Self {
        Asked::Other(Value::Null)
    }
}

impl From<()> for Told {
    fn from((): ()) -> Self {
        Told::Other(Value::Null)
    }
}

impl From<detector::Command> for Asked {
    fn from(command: detector::Command) -> Self {
        match command {}
    }
}

/// A trace is judged as one lock or one election, so nothing judges many by their names.
impl<K: Serialize, C: Serialize> From<Of<K, C>> for Asked {
    fn from(command: Of<K, C>) -> Self {
        Asked::Other(serde_json::to_value(command).unwrap_or_default())
    }
}

impl<K: Serialize, E: Serialize> From<Of<K, E>> for Told {
    fn from(event: Of<K, E>) -> Self {
        Told::Other(serde_json::to_value(event).unwrap_or_default())
    }
}

/// A trace is judged by the election; nothing judges what is done under the leader.
impl<C: Serialize> From<led::Command<C>> for Asked {
    fn from(command: led::Command<C>) -> Self {
        match command {
            led::Command::Election(command) => Asked::Office(office::Command::Election(command)),
            led::Command::Application(_) => {
                Asked::Other(serde_json::to_value(command).unwrap_or_default())
            }
        }
    }
}

impl<E: Serialize> From<led::Event<E>> for Told {
    fn from(event: led::Event<E>) -> Self {
        match event {
            led::Event::Election(event) => Told::Office(office::Event::Election(event)),
            led::Event::Application(_) => {
                Told::Other(serde_json::to_value(event).unwrap_or_default())
            }
        }
    }
}

/// Detectors are not judged by a trace, so their events need no variant of their own.
impl From<detector::Event> for Told {
    fn from(event: detector::Event) -> Self {
        Told::Other(serde_json::to_value(event).unwrap_or_default())
    }
}
