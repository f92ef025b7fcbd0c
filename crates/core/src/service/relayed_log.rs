//! A [`log`] that accepts commands at any process. The user at the leader answers queries.
//!
//! A process that does not lead reports [`log::Event::Relaying`], and relays appends and reads to
//! the leader. A query is addressed to the user at the leader. The query reaches this user after a
//! majority has confirmed the leader, and after the user has received all committed entries. Each
//! query, and each command for the log, receives exactly one answer. Only a crash leaves a query or
//! a command of the crashed process's user without an answer.

use super::{EventConversions, agreement, log};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// Identifier of a query, as the leader sees it. The answer of the leader contains the identifier
/// of the query. No two queries of one process have the same identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueryId {
    /// Incarnation of the process that sent the query. After a crash the process may use the same
    /// number for another query.
    pub incarnation: u64,
    /// Number of the query; unique within one incarnation.
    pub number: u64,
}

/// Command of the local user to the relayed log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Command for the log. The ticket in this command is below 2⁶³.
    Log(log::Command),
    /// Query that the user at the leader answers. The leader may be this process. The answer is
    /// [`Event::Replied`]. If the query fails, the answer is [`log::Event::Declined`] or
    /// [`log::Event::Unknown`], wrapped in [`Event::Log`].
    Query {
        /// Number of this query. The answer to the query contains this number. The number differs
        /// from all tickets of commands for the log.
        ticket: u64,
        /// Content of the query.
        query: log::Payload,
    },
    /// Answer a query that this process received by [`Event::QueryReceived`].
    Reply {
        /// Process that sent the query.
        to: ProcessId,
        /// Ticket of the query.
        ticket: QueryId,
        /// Content of the answer.
        reply: log::Payload,
    },
    /// Notify other processes. They send no answer, and the notification of each process may be
    /// lost.
    Notify {
        /// Processes that receive the notification.
        to: ProcessSet,
        /// Content of the notification.
        payload: log::Payload,
    },
}

/// Event of the relayed log for the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Event of the log.
    Log(log::Event),
    /// This process leads. Its user must answer the query by [`Command::Reply`].
    QueryReceived {
        /// Process that sent the query.
        by: ProcessId,
        /// Ticket that identifies the query at the process that sent it.
        ticket: QueryId,
        /// Content of the query.
        query: log::Payload,
    },
    /// The leader answered a query.
    Replied {
        /// Ticket of the query.
        ticket: u64,
        /// Content of the answer.
        reply: log::Payload,
    },
    /// Another process sent a notification.
    Notified {
        /// Content of the notification.
        payload: log::Payload,
    },
}

impl EventConversions for Event {
    fn to_agreement(&self) -> Option<agreement::Event> {
        match self {
            Event::Log(event) => event.to_agreement(),
            Event::QueryReceived { .. } | Event::Replied { .. } | Event::Notified { .. } => None,
        }
    }
}

/// Converts a command of the log service. Fails with [`agreement::WrongService`] for a command of
/// any other service.
impl TryFrom<agreement::Command> for Command {
    type Error = agreement::WrongService;

    fn try_from(command: agreement::Command) -> Result<Self, agreement::WrongService> {
        log::Command::try_from(command).map(Command::Log)
    }
}

impl TryFrom<Event> for agreement::Event {
    type Error = agreement::WrongService;

    fn try_from(event: Event) -> Result<Self, agreement::WrongService> {
        event.to_agreement().ok_or(agreement::WrongService)
    }
}
