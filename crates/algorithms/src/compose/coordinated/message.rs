//! What processes of a lock at a leader say to each other.

use tenure_core::{Fence, Label, Labelled, Layer, Term};

use crate::compose::Standing;
use crate::mutex::Ticket;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<E> {
    /// Of the election.
    Election(E),
    /// "I want to enter."
    Request {
        /// The term that the sender takes the receiver to lead in.
        term: Term,
        /// The request's name.
        ticket: Ticket,
        /// Which question this is.
        round: u64,
    },
    /// "You may."
    Grant {
        /// The term of the grant.
        term: Term,
        /// Which request this answers.
        ticket: Ticket,
        /// Which question of it.
        round: u64,
        /// The fence of the entry.
        fence: Fence,
    },
    /// "I have left."
    Release {
        /// The term that the sender takes the receiver to lead in.
        term: Term,
        /// Which request is over.
        ticket: Ticket,
    },
    /// "I am the leader now: are you idle, waiting, or inside?"
    Inquire {
        /// The term that begins.
        term: Term,
    },
    /// The answer.
    Report {
        /// The term in which it was asked.
        term: Term,
        /// Idle, waiting, or inside.
        standing: Standing,
        /// Which question this is, where there is anything to ask.
        round: u64,
    },
}

impl<E: Labelled> Labelled for Message<E> {
    fn label(&self) -> Label {
        let kind = match self {
            Message::Election(message) => return message.label(),
            Message::Request { .. } => "request",
            Message::Grant { .. } => "grant",
            Message::Release { .. } => "release",
            Message::Inquire { .. } => "inquire",
            Message::Report { .. } => "report",
        };
        Label { layer: Layer::Mutex, kind }
    }
}
