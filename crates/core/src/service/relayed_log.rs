//! A [`log`] that accepts commands at any process, and whose leader also answers queries.
//!
//! A process that does not lead relays appends and reads to the leader, and reports it with
//! [`log::Event::Relaying`]. A query is for the leader's user. It reaches that user after a
//! majority has confirmed the leader, and after the user has received all committed entries. Each
//! command receives one answer, as with a log. Only a crash leaves a command without one.

use super::{EventViews, agreement, log};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// Identifier of a query at the leader. It is unique among the queries of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket {
    /// Incarnation of the process that sent the query. After a crash it may use the same number
    /// for another query.
    pub incarnation: u64,
    /// Number of the query; unique within one incarnation.
    pub number: u64,
}

/// Command of the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Command for the log. Its ticket is below 2⁶³.
    Log(log::Command),
    /// Query for the leader's user, which may be at this process. The answer is [`Event::Replied`],
    /// or [`log::Event::Declined`] or [`log::Event::Unknown`] in an [`Event::Log`].
    Query {
        /// Number that the answer repeats. It differs from all tickets of the log.
        ticket: u64,
        /// Content of the query.
        query: log::Payload,
    },
    /// Answer a query ([`Event::QueryReceived`]).
    Reply {
        /// Process that sent the query.
        to: ProcessId,
        /// Ticket of the query.
        ticket: Ticket,
        /// Content of the answer.
        reply: log::Payload,
    },
    /// Notify other processes. They send no answer, and the notification may be lost.
    Notify {
        /// Processes that receive the notification.
        to: ProcessSet,
        /// Content of the notification.
        payload: log::Payload,
    },
}

/// Event for the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Event of the log.
    Log(log::Event),
    /// This process leads, and its user shall answer a query, by [`Command::Reply`].
    QueryReceived {
        /// Process that sent the query.
        by: ProcessId,
        /// Ticket of the query at that process.
        ticket: Ticket,
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

impl EventViews for Event {
    fn of_agreement(&self) -> Option<agreement::Event> {
        match self {
            Event::Log(event) => event.of_agreement(),
            Event::QueryReceived { .. } | Event::Replied { .. } | Event::Notified { .. } => None,
        }
    }
}

/// Only the log's commands and events belong to the agreement services.
impl TryFrom<agreement::Command> for Command {
    type Error = agreement::WrongService;

    fn try_from(command: agreement::Command) -> Result<Self, agreement::WrongService> {
        log::Command::try_from(command).map(Command::Log)
    }
}

impl TryFrom<Event> for agreement::Event {
    type Error = agreement::WrongService;

    fn try_from(event: Event) -> Result<Self, agreement::WrongService> {
        event.of_agreement().ok_or(agreement::WrongService)
    }
}
