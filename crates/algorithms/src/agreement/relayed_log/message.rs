//! Messages of the relayed log.

use tenure_core::service::log::{DeclineReason, Payload};
use tenure_core::service::relayed_log::QueryId;
use tenure_core::{Labelled, Layer, MessageLabel};

use super::raft_log;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the log.
    Log(raft_log::Message),
    /// Forwards a request of the sender's user to the leader.
    Ask {
        /// Ticket by which the sender identifies the request.
        ticket: QueryId,
        /// The forwarded request.
        request: UserRequest,
    },
    /// The leader's response to a forwarded request: the outcome of that request.
    Answer {
        /// Ticket of the forwarded request.
        ticket: QueryId,
        /// Outcome of the forwarded request.
        outcome: ForwardedOutcome,
    },
    /// Delivers a notice to the user of the receiver. Notices need no response.
    Notify {
        /// Content of the notice.
        payload: Payload,
    },
}

/// A user's request to the leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum UserRequest {
    /// Append this payload to the log.
    Append(Payload),
    /// Return an index for a linearizable read. All entries that were acknowledged before the
    /// request are at or below this index.
    Read,
    /// Ask the leader's user this query.
    Question(Payload),
}

/// Kind of a [`UserRequest`], without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RequestKind {
    Append,
    Read,
    Question,
}

/// Outcome of a forwarded request. The leader sends it to the process that forwarded the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ForwardedOutcome {
    /// The request has succeeded: the appended entry is committed, or the read may be answered.
    Done {
        /// Index of the appended entry. For a read: the index of the last entry that the read
        /// reflects.
        index: u64,
    },
    /// The request has taken no effect, and never will.
    Declined(DeclineReason),
    /// It is not known whether the request takes effect.
    Unknown,
    /// Reply of the leader's user to a [`UserRequest::Question`].
    Reply(Payload),
}

impl UserRequest {
    pub(super) fn kind(&self) -> RequestKind {
        match self {
            UserRequest::Append(_) => RequestKind::Append,
            UserRequest::Read => RequestKind::Read,
            UserRequest::Question(_) => RequestKind::Question,
        }
    }
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        let kind = match self {
            Message::Log(message) => return message.label(),
            Message::Ask { .. } => "ask",
            Message::Answer { .. } => "answer",
            Message::Notify { .. } => "notify",
        };
        MessageLabel { layer: Layer::Application, kind }
    }
}
