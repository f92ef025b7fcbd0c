//! Messages of the relayed log.

use tenure_core::service::log::{Payload, Reason};
use tenure_core::service::relayed_log::Ticket;
use tenure_core::{Label, Labelled, Layer};

use super::raft_log;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the log.
    Log(raft_log::Message),
    /// Forwards a user's request to the leader.
    Ask {
        /// Ticket by which the sender identifies the request.
        ticket: Ticket,
        /// The forwarded request.
        request: Request,
    },
    /// Outcome of a forwarded request.
    Answer {
        /// Ticket of the request.
        ticket: Ticket,
        /// Outcome of the request.
        outcome: Outcome,
    },
    /// A notice for the receiver's user.
    Notify {
        /// Content of the notice.
        payload: Payload,
    },
}

/// A user's request to the leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Request {
    /// Append this to the log.
    Append(Payload),
    /// Return an index such that all entries acknowledged before the request are at or below it.
    Read,
    /// Ask the leader's user this question.
    Question(Payload),
}

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Append,
    Read,
    Question,
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Outcome {
    /// Committed at this index, or read as of this index.
    Done {
        /// Index of the entry.
        index: u64,
    },
    /// The request has no effect and never will.
    Declined(Reason),
    /// The outcome is unknown.
    Unknown,
    /// Reply of the leader's user to a question.
    Reply(Payload),
}

impl Request {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Request::Append(_) => Kind::Append,
            Request::Read => Kind::Read,
            Request::Question(_) => Kind::Question,
        }
    }
}

impl Labelled for Message {
    fn label(&self) -> Label {
        let kind = match self {
            Message::Log(message) => return message.label(),
            Message::Ask { .. } => "ask",
            Message::Answer { .. } => "answer",
            Message::Notify { .. } => "notify",
        };
        Label { layer: Layer::Application, kind }
    }
}
