//! Commands and events of all services, as traces contain them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_core::service::{
    agreement, clock_synchronisation, commit, election, leader_tree, mutex, mutex_and_election,
    replicated_list, stream, with_election,
};
use tenure_core::{Fence, ProcessId, Term};

/// Command of a local user to a service, with one variant per kind of service. In JSON, a command
/// has the form of the type inside its variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RecordedCommand {
    /// Command to a lock.
    Mutex(mutex::Command),
    /// Command to an election.
    Election(election::Command),
    /// Command to a protocol that combines a lock with an election. A reader also parses the
    /// election commands of [`RecordedCommand::WithElection`] into this variant, because their JSON
    /// is the same.
    MutexAndElection(mutex_and_election::Command),
    /// Command to a channel.
    Stream(stream::Command),
    /// Command to a service that an elected leader provides, such as a replicated list.
    Application(ApplicationCommand),
    /// Command to a protocol that combines an election with a service of the elected leader.
    WithElection(with_election::Command<ApplicationCommand>),
    /// Command to an agreement service.
    Agreement(agreement::Command),
    /// Command that belongs to no known service.
    Other(Value),
}

/// Event of a service for a local user, with one variant per kind of service. In JSON, an event has
/// the form of the type inside its variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RecordedEvent {
    /// Event of a lock.
    Mutex(mutex::Event),
    /// Event of an election.
    Election(election::Event),
    /// Event of a protocol that combines a lock with an election. A reader also parses the election
    /// events of [`RecordedEvent::WithElection`] into this variant, because their JSON is the same.
    MutexAndElection(mutex_and_election::Event),
    /// Event of a channel.
    Stream(stream::Event),
    /// Event of a service that an elected leader provides, such as a replicated list.
    Application(ApplicationEvent),
    /// Event of a protocol that combines an election with a service of the elected leader.
    WithElection(with_election::Event<ApplicationEvent>),
    /// Event of an agreement service.
    Agreement(agreement::Event),
    /// Event that belongs to no known service.
    Other(Value),
}

/// Command to a service that an elected leader provides. No two of these services have a command
/// with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ApplicationCommand {
    /// Command to the clock synchronisation.
    Clock(clock_synchronisation::Command),
    /// Command to a replicated list.
    Replication(replicated_list::Command),
    /// Command to a transaction service.
    Commit(commit::Command),
    /// Command to a spanning tree.
    Tree(leader_tree::Command),
}

/// Event of a service that an elected leader provides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ApplicationEvent {
    /// Event of the clock synchronisation.
    Clock(clock_synchronisation::Event),
    /// Event of a replicated list.
    Replication(replicated_list::Event),
    /// Event of a transaction service.
    Commit(commit::Event),
    /// Event of a spanning tree.
    Tree(leader_tree::Event),
}

impl RecordedCommand {
    /// Returns the command if this is a command to a lock, and `None` otherwise. The lock may be
    /// combined with an election in one protocol.
    pub fn mutex(&self) -> Option<&mutex::Command> {
        match self {
            RecordedCommand::Mutex(command)
            | RecordedCommand::MutexAndElection(mutex_and_election::Command::Mutex(command)) => {
                Some(command)
            }
            _ => None,
        }
    }

    /// Returns the command if this is a command to an election, and `None` otherwise. The election
    /// may be combined with a lock in one protocol.
    pub fn election(&self) -> Option<&election::Command> {
        match self {
            RecordedCommand::Election(command)
            | RecordedCommand::MutexAndElection(mutex_and_election::Command::Election(command)) => {
                Some(command)
            }
            _ => None,
        }
    }

    /// Returns the command if this is a command to a service that a leader provides. Returns `None`
    /// for all other commands.
    pub fn application(&self) -> Option<&ApplicationCommand> {
        match self {
            RecordedCommand::Application(command)
            | RecordedCommand::WithElection(with_election::Command::Application(command)) => {
                Some(command)
            }
            _ => None,
        }
    }

    /// Returns the variant `WithElection` if this is a command for a service of a leader. This
    /// variant is for protocols that combine the service with an election. Returns the variant
    /// `Other` for any other command.
    pub(crate) fn into_with_election(self) -> Self {
        match self {
            RecordedCommand::Application(command) => {
                RecordedCommand::WithElection(with_election::Command::Application(command))
            }
            other => RecordedCommand::Other(json!({ "Application": other })),
        }
    }

    pub(crate) fn from_json(json: &RawValue) -> Result<Self, serde_json::Error> {
        let json = json.get();
        Ok(match serde_json::from_str(json) {
            Ok(AnyCommand::Enter) => RecordedCommand::Mutex(mutex::Command::Enter),
            Ok(AnyCommand::Exit) => RecordedCommand::Mutex(mutex::Command::Exit),
            Ok(AnyCommand::Elect) => RecordedCommand::Election(election::Command::Elect),
            Ok(AnyCommand::Resign) => RecordedCommand::Election(election::Command::Resign),
            Ok(AnyCommand::Mutex(command)) => {
                RecordedCommand::MutexAndElection(mutex_and_election::Command::Mutex(command))
            }
            Ok(AnyCommand::Election(command)) => {
                RecordedCommand::MutexAndElection(mutex_and_election::Command::Election(command))
            }
            Ok(AnyCommand::Send { to, item }) => {
                RecordedCommand::Stream(stream::Command::Send { to, item })
            }
            Ok(AnyCommand::Application(command)) => {
                RecordedCommand::WithElection(with_election::Command::Application(command))
            }
            Err(_) => serde_json::from_str(json)
                .map(RecordedCommand::Application)
                .or_else(|_| serde_json::from_str(json).map(RecordedCommand::Agreement))
                .or_else(|_| serde_json::from_str(json).map(RecordedCommand::Other))?,
        })
    }
}

impl RecordedEvent {
    /// Returns the event if this is an event of a lock, and `None` otherwise. The lock may be
    /// combined with an election in one protocol.
    pub fn mutex(&self) -> Option<&mutex::Event> {
        match self {
            RecordedEvent::Mutex(event)
            | RecordedEvent::MutexAndElection(mutex_and_election::Event::Mutex(event)) => {
                Some(event)
            }
            _ => None,
        }
    }

    /// Returns the event if this is an event of an election, and `None` otherwise. The election may
    /// be combined with a lock in one protocol.
    pub fn election(&self) -> Option<&election::Event> {
        match self {
            RecordedEvent::Election(event)
            | RecordedEvent::MutexAndElection(mutex_and_election::Event::Election(event)) => {
                Some(event)
            }
            _ => None,
        }
    }

    /// Returns the event if this is an event of a service that a leader provides. Returns `None`
    /// for all other events.
    pub fn application(&self) -> Option<&ApplicationEvent> {
        match self {
            RecordedEvent::Application(event)
            | RecordedEvent::WithElection(with_election::Event::Application(event)) => Some(event),
            _ => None,
        }
    }

    /// Converts an event of a service of a leader into the variant `WithElection`, which is for
    /// protocols that combine the service with an election. Converts any other event into the
    /// variant `Other`.
    pub(crate) fn into_with_election(self) -> Self {
        match self {
            RecordedEvent::Application(event) => {
                RecordedEvent::WithElection(with_election::Event::Application(event))
            }
            other => RecordedEvent::Other(json!({ "Application": other })),
        }
    }

    pub(crate) fn from_json(json: &RawValue) -> Result<Self, serde_json::Error> {
        let json = json.get();
        Ok(match serde_json::from_str(json) {
            Ok(AnyEvent::Entered { fence }) => {
                RecordedEvent::Mutex(mutex::Event::Entered { fence })
            }
            Ok(AnyEvent::Exited) => RecordedEvent::Mutex(mutex::Event::Exited),
            Ok(AnyEvent::Elected { leader, term }) => {
                RecordedEvent::Election(election::Event::Elected { leader, term })
            }
            Ok(AnyEvent::Deposed { term }) => {
                RecordedEvent::Election(election::Event::Deposed { term })
            }
            Ok(AnyEvent::Mutex(event)) => {
                RecordedEvent::MutexAndElection(mutex_and_election::Event::Mutex(event))
            }
            Ok(AnyEvent::Election(event)) => {
                RecordedEvent::MutexAndElection(mutex_and_election::Event::Election(event))
            }
            Ok(AnyEvent::Received { from, item }) => {
                RecordedEvent::Stream(stream::Event::Received { from, item })
            }
            Ok(AnyEvent::Application(event)) => {
                RecordedEvent::WithElection(with_election::Event::Application(event))
            }
            Err(_) => serde_json::from_str(json)
                .map(RecordedEvent::Application)
                .or_else(|_| serde_json::from_str(json).map(RecordedEvent::Agreement))
                .or_else(|_| serde_json::from_str(json).map(RecordedEvent::Other))?,
        })
    }
}

/// Commands that a reader recognizes by their names: commands to locks, elections, combinations of
/// both, and channels, and those of [`RecordedCommand::WithElection`]. No two of them have the same
/// name.
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

/// Events that a reader recognizes by their names, like the commands in [`AnyCommand`].
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
