//! A [`log`] that may be asked at any process, and whose leader is asked other things as
//! well.
//!
//! Whoever does not lead has done by the leader what it is asked to append and to read, and says so
//! with [`log::Event::Relaying`]. A question is for the user of whoever leads: that one is asked
//! when a majority has confirmed since that it leads, and its user was told of all that was
//! committed. What is asked is answered once, as of a log; only a crash leaves it without an
//! answer.

use super::{Facts, agreement, log};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// By which something is known at another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket {
    /// In which of its lives a process asked. Who asked may have crashed by the time of the answer,
    /// and ask something else.
    pub life: u64,
    /// Its user's number for it: no two of one life are the same.
    pub number: u64,
}

/// What the local user may ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Something of the log. Its ticket is less than 2⁶³.
    Log(log::Command),
    /// Something of the user of whoever leads, this one perhaps. It is answered with
    /// [`Event::Replied`], or as something of the log is: declined, which had no effect; or
    /// unknown, which may have one.
    Ask {
        /// By which the answer is known: another one than all that was asked of the log.
        ticket: u64,
        /// What.
        question: log::Payload,
    },
    /// Answers what a process has asked ([`Event::Asked`]).
    Reply {
        /// Who.
        to: ProcessId,
        /// What of its.
        ticket: Ticket,
        /// What it is told.
        reply: log::Payload,
    },
    /// Tells others something that needs no answer and may be lost.
    Tell {
        /// Whom.
        whom: ProcessSet,
        /// What.
        what: log::Payload,
    },
}

/// What the local user is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Something of the log.
    Log(log::Event),
    /// This process leads, and a process asks its user something.
    Asked {
        /// Which process.
        by: ProcessId,
        /// By which the answer is known there.
        ticket: Ticket,
        /// What.
        question: log::Payload,
    },
    /// Whoever leads has answered.
    Replied {
        /// What.
        ticket: u64,
        /// What it says.
        reply: log::Payload,
    },
    /// Another process tells something.
    Told {
        /// What.
        what: log::Payload,
    },
}

impl Facts for Event {
    fn of_agreement(&self) -> Option<agreement::Event> {
        match self {
            Event::Log(event) => event.of_agreement(),
            Event::Asked { .. } | Event::Replied { .. } | Event::Told { .. } => None,
        }
    }
}

/// Of what all services of agreement have in common, a log has its part.
impl TryFrom<agreement::Command> for Command {
    type Error = agreement::OfAnother;

    fn try_from(command: agreement::Command) -> Result<Self, agreement::OfAnother> {
        log::Command::try_from(command).map(Command::Log)
    }
}

impl TryFrom<Event> for agreement::Event {
    type Error = agreement::OfAnother;

    fn try_from(event: Event) -> Result<Self, agreement::OfAnother> {
        event.of_agreement().ok_or(agreement::OfAnother)
    }
}
