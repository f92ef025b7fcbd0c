//! What processes of a log that is asked anywhere say to each other.

use tenure_core::service::log::{Payload, Reason};
use tenure_core::service::relayed_log::Ticket;
use tenure_core::{Label, Labelled, Layer};

use super::raft_log;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Something of the log.
    Log(raft_log::Message),
    /// "You lead: my user wants this."
    Ask {
        /// By which the sender knows it.
        ticket: Ticket,
        /// What.
        wanted: Wanted,
    },
    /// "This became of it."
    Answer {
        /// Of what.
        ticket: Ticket,
        /// What.
        said: Said,
    },
    /// "Your user may want to know this."
    Tell {
        /// What.
        what: Payload,
    },
}

/// What a user wants of whoever leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Wanted {
    /// To have this appended to the log.
    Append(Payload),
    /// To know how far one must have come to see all that anybody was told of before.
    Read,
    /// To have the leader's user asked this.
    Question(Payload),
}

/// What was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Append,
    Read,
    Question,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Said {
    /// It is committed at this index, or read as of that.
    Done {
        /// The index.
        index: u64,
    },
    /// Nothing was done, nor will be.
    Declined(Reason),
    /// Nobody can tell.
    Unknown,
    /// The leader's user says this.
    Reply(Payload),
}

impl Wanted {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Wanted::Append(_) => Kind::Append,
            Wanted::Read => Kind::Read,
            Wanted::Question(_) => Kind::Question,
        }
    }
}

impl Labelled for Message {
    fn label(&self) -> Label {
        let kind = match self {
            Message::Log(message) => return message.label(),
            Message::Ask { .. } => "ask",
            Message::Answer { .. } => "answer",
            Message::Tell { .. } => "tell",
        };
        Label { layer: Layer::Application, kind }
    }
}
