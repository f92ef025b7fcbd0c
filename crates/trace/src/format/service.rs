//! Commands and events of any service, as a trace holds them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_core::service::{
    agreement, clock, commit, election, led, mutex, office, replication, stream, tree,
};
use tenure_core::{Fence, ProcessId, Term};

/// What a local user asked, of whichever service. In JSON it is what the service's own type is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Asked {
    /// Of a lock.
    Mutex(mutex::Command),
    /// Of an election.
    Election(election::Command),
    /// Of an office, or of the election beneath an application.
    Office(office::Command),
    /// Of a channel.
    Stream(stream::Command),
    /// Of an application of a leader.
    Application(ApplicationCommand),
    /// Of an application that stands beside its election.
    Led(led::Command<ApplicationCommand>),
    /// Of a service of agreement.
    Agreement(agreement::Command),
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
    /// By an office, or by the election beneath an application.
    Office(office::Event),
    /// By a channel.
    Stream(stream::Event),
    /// By an application of a leader.
    Application(ApplicationEvent),
    /// By an application that stands beside its election.
    Led(led::Event<ApplicationEvent>),
    /// By a service of agreement.
    Agreement(agreement::Event),
    /// By anything else.
    Other(Value),
}

/// What an application of a leader was asked. The commands of these services have names of their
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ApplicationCommand {
    /// Of clocks.
    Clock(clock::Command),
    /// Of a replicated list.
    Replication(replication::Command),
    /// Of transactions.
    Commit(commit::Command),
    /// Of a spanning tree.
    Tree(tree::Command),
}

/// What an application of a leader told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ApplicationEvent {
    /// Of clocks.
    Clock(clock::Event),
    /// Of a replicated list.
    Replication(replication::Event),
    /// Of transactions.
    Commit(commit::Event),
    /// Of a spanning tree.
    Tree(tree::Event),
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

    /// The command to an application of a leader.
    pub fn application(&self) -> Option<&ApplicationCommand> {
        match self {
            Asked::Application(command) | Asked::Led(led::Command::Application(command)) => {
                Some(command)
            }
            _ => None,
        }
    }

    /// The same, of an application that stands beside its election.
    pub(crate) fn under_a_leader(self) -> Self {
        match self {
            Asked::Application(command) => Asked::Led(led::Command::Application(command)),
            other => Asked::Other(json!({ "Application": other })),
        }
    }

    pub(crate) fn from_json(json: &RawValue) -> Result<Self, serde_json::Error> {
        let json = json.get();
        Ok(match serde_json::from_str(json) {
            Ok(AnyCommand::Enter) => Asked::Mutex(mutex::Command::Enter),
            Ok(AnyCommand::Exit) => Asked::Mutex(mutex::Command::Exit),
            Ok(AnyCommand::Elect) => Asked::Election(election::Command::Elect),
            Ok(AnyCommand::Resign) => Asked::Election(election::Command::Resign),
            Ok(AnyCommand::Mutex(command)) => Asked::Office(office::Command::Mutex(command)),
            Ok(AnyCommand::Election(command)) => Asked::Office(office::Command::Election(command)),
            Ok(AnyCommand::Send { to, item }) => Asked::Stream(stream::Command::Send { to, item }),
            Ok(AnyCommand::Application(command)) => Asked::Led(led::Command::Application(command)),
            Err(_) => match serde_json::from_str(json) {
                Ok(command) => Asked::Application(command),
                Err(_) => match serde_json::from_str(json) {
                    Ok(command) => Asked::Agreement(command),
                    Err(_) => Asked::Other(serde_json::from_str(json)?),
                },
            },
        })
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

    /// The event of an application of a leader.
    pub fn application(&self) -> Option<&ApplicationEvent> {
        match self {
            Told::Application(event) | Told::Led(led::Event::Application(event)) => Some(event),
            _ => None,
        }
    }

    /// The same, of an application that stands beside its election.
    pub(crate) fn under_a_leader(self) -> Self {
        match self {
            Told::Application(event) => Told::Led(led::Event::Application(event)),
            other => Told::Other(json!({ "Application": other })),
        }
    }

    pub(crate) fn from_json(json: &RawValue) -> Result<Self, serde_json::Error> {
        let json = json.get();
        Ok(match serde_json::from_str(json) {
            Ok(AnyEvent::Entered { fence }) => Told::Mutex(mutex::Event::Entered { fence }),
            Ok(AnyEvent::Exited) => Told::Mutex(mutex::Event::Exited),
            Ok(AnyEvent::Elected { leader, term }) => {
                Told::Election(election::Event::Elected { leader, term })
            }
            Ok(AnyEvent::Deposed { term }) => Told::Election(election::Event::Deposed { term }),
            Ok(AnyEvent::Mutex(event)) => Told::Office(office::Event::Mutex(event)),
            Ok(AnyEvent::Election(event)) => Told::Office(office::Event::Election(event)),
            Ok(AnyEvent::Received { from, item }) => {
                Told::Stream(stream::Event::Received { from, item })
            }
            Ok(AnyEvent::Application(event)) => Told::Led(led::Event::Application(event)),
            Err(_) => match serde_json::from_str(json) {
                Ok(event) => Told::Application(event),
                Err(_) => match serde_json::from_str(json) {
                    Ok(event) => Told::Agreement(event),
                    Err(_) => Told::Other(serde_json::from_str(json)?),
                },
            },
        })
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
    Application(ApplicationCommand),
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
    Application(ApplicationEvent),
}
