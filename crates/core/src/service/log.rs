//! One log of a group: what is appended is committed at an index, the same one everywhere, and
//! told to everybody in that order.
//!
//! Whoever leads takes what is appended; the others decline it and say who leads, or have the
//! leader take it ([`Event::Relaying`]). Each command has a ticket of its user, and is answered
//! once: with [`Event::Acknowledged`] or [`Event::Answered`], with [`Event::Declined`] if
//! it had no effect and will have none, or with [`Event::Unknown`] where nobody can tell yet. Only
//! a crash leaves a command without an answer.
//!
//! A log does not grow for ever where its users give it what their state machines have come to
//! ([`Command::Compact`]): that stands for the entries before it, and who lacks those is given
//! that.

mod members;
mod payload;
mod user;

use core::fmt;

use alloc::boxed::Box;

use crate::process::ProcessId;
use crate::process_set::ProcessSet;

pub use members::Members;
pub use payload::Payload;
pub use user::User;

/// What the local user may ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Propose an entry.
    Append {
        /// By which the answer is known: no two commands of one user have the same.
        ticket: u64,
        /// What it says.
        payload: Payload,
    },
    /// Ask how far one must have come to see all that anybody was told of before.
    Read {
        /// By which the answer is known.
        ticket: u64,
    },
    /// Give the lead to another process, once that has all that this one has.
    Transfer {
        /// By which the answer is known.
        ticket: u64,
        /// To whom.
        to: ProcessId,
    },
    /// Give the lead to whoever is the first to have all that this process has.
    HandOver {
        /// By which the answer is known.
        ticket: u64,
    },
    /// Keep this in place of all entries up to an index, which this process was told of. Every
    /// process is asked for itself, whether it leads or not.
    Compact {
        /// By which the answer is known.
        ticket: u64,
        /// The index of the last entry that it stands for.
        index: u64,
        /// What the user's state machine has come to there: the same bytes everywhere.
        state: Payload,
    },
    /// Have the log kept by others from now on.
    ChangeMembers {
        /// By which the answer is known.
        ticket: u64,
        /// Who is to vote and to be counted.
        voters: ProcessSet,
        /// Who is to be sent the log only.
        learners: ProcessSet,
    },
}

impl Command {
    /// By which its answer is known.
    pub fn ticket(&self) -> u64 {
        let (Command::Append { ticket, .. }
        | Command::Read { ticket }
        | Command::Transfer { ticket, .. }
        | Command::HandOver { ticket }
        | Command::Compact { ticket, .. }
        | Command::ChangeMembers { ticket, .. }) = self;
        *ticket
    }
}

/// What the local user is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process leads from now on.
    Leading {
        /// In which term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
        term: u64,
    },
    /// Another process leads, or nobody that this one knows of.
    Following {
        /// In which term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
        term: u64,
        /// Who.
        leader: Option<ProcessId>,
    },
    /// Another process leads, and has done there what this one is asked.
    Relaying {
        /// In which term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
        term: u64,
        /// Who.
        leader: ProcessId,
    },
    /// An entry is in the log of this process. It may yet be dropped.
    Stored {
        /// Where: the first has index 1, and each is behind the last one.
        index: u64,
        /// What.
        entry: Entry,
    },
    /// Everything from here on is in the log of this process no longer: another leader has other
    /// entries there.
    Dropped {
        /// The first index that is free again.
        from: u64,
    },
    /// An entry is in the log for ever, everywhere. All are told, in the order of the log; who
    /// comes back from a crash is told again from the beginning, or from where its log begins.
    Committed {
        /// Where.
        index: u64,
        /// What.
        entry: Entry,
    },
    /// What was to be appended is committed.
    Acknowledged {
        /// Which.
        ticket: u64,
        /// Where.
        index: u64,
    },
    /// Who has been told of all that is committed up to there sees all that anybody was told of
    /// before it asked. This process has.
    Answered {
        /// What is answered.
        ticket: u64,
        /// The index.
        index: u64,
    },
    /// This process was to give the lead away, and does not lead any more.
    HandedOver {
        /// What is answered.
        ticket: u64,
    },
    /// Nothing was done, nor will be.
    Declined {
        /// Of what was asked.
        ticket: u64,
        /// Why.
        reason: Reason,
        /// Who leads, as far as this process knows.
        leader: Option<ProcessId>,
    },
    /// This process leads no longer, and cannot say whether an entry will be committed.
    Unknown {
        /// What was to be appended.
        ticket: u64,
    },
    /// Much was committed since the log was last compacted: it should be, and nothing waits for it.
    SnapshotNeeded {
        /// How far this process was told.
        index: u64,
    },
    /// The log of this process begins later now, or may.
    Compacted {
        /// What is answered.
        ticket: u64,
        /// What it was given stands for all entries up to here.
        index: u64,
    },
    /// What this user was told so far is replaced: its state machine has come to this, and it is
    /// told next of the entry behind it. Of the log of this process, nothing else is there any
    /// more. Whoever comes back is told so first.
    Restored {
        /// The index of the last entry that it stands for.
        index: u64,
        /// The term of that entry.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
        term: u64,
        /// Who kept the log then.
        members: Box<Members>,
        /// What was given to [`Command::Compact`].
        state: Payload,
    },
    /// The log is kept by whom was asked for, and by nobody else.
    MembersChanged {
        /// What is answered.
        ticket: u64,
        /// The index of the entry that says so, which is committed.
        index: u64,
    },
    /// This process is no member any more, as another one reports. Its user should end it: it is
    /// sent no further entries.
    Removed {
        /// The index of the committed entry that removed it.
        at: u64,
    },
    /// The log of this process lacks entries that it has acknowledged to the leader. It takes no
    /// further part, because it may have forgotten votes as well.
    Forgotten {
        /// The index of the last entry that is left.
        last: u64,
        /// Up to which index it had acknowledged entries.
        acknowledged: u64,
    },
}

/// Why a command is declined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reason {
    /// This process does not lead.
    NotLeading,
    /// It led when it was asked, and was deposed before it could answer.
    Deposed,
    /// It has taken as much as it may before any of that is committed.
    Full,
    /// It is giving the lead away.
    HandingOver,
    /// Whoever was to lead does not, and this process goes on.
    NotTaken,
    /// That index is not committed here, or was given before.
    NotThere,
    /// Another change is under way.
    Changing,
    /// Who is to vote lacks too much of the log, and does not get it soon enough.
    NotCaughtUp,
    /// Nobody would vote, or one of them is not of the group or would only learn.
    NoGroup,
}

/// What a log has at one index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// The term of the leader that took it.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
    pub term: u64,
    /// What it says.
    pub content: Content,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Content {
    /// Nothing: with it a leader begins its term.
    Nothing,
    /// What a user appended.
    Payload(Payload),
    /// Who keeps the log from here on.
    Members(Box<Members>),
}

impl Content {
    /// How many bytes of users it has.
    pub fn weight(&self) -> usize {
        match self {
            Content::Payload(payload) => payload.bytes().len(),
            Content::Nothing | Content::Members(_) => 0,
        }
    }
}

impl Event {
    /// The command that it answers, if it answers one.
    pub fn answers(&self) -> Option<u64> {
        match self {
            Event::Acknowledged { ticket, .. }
            | Event::Answered { ticket, .. }
            | Event::HandedOver { ticket }
            | Event::Declined { ticket, .. }
            | Event::Unknown { ticket }
            | Event::Compacted { ticket, .. }
            | Event::MembersChanged { ticket, .. } => Some(*ticket),
            Event::Leading { .. }
            | Event::Following { .. }
            | Event::Relaying { .. }
            | Event::Stored { .. }
            | Event::Dropped { .. }
            | Event::Committed { .. }
            | Event::SnapshotNeeded { .. }
            | Event::Removed { .. }
            | Event::Forgotten { .. }
            | Event::Restored { .. } => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NotLeading => "it does not lead",
            Reason::Deposed => "it was deposed",
            Reason::Full => "it has too much to do",
            Reason::HandingOver => "it is giving the lead away",
            Reason::NotTaken => "nobody took the lead",
            Reason::NotThere => "that index is not committed here, or was given before",
            Reason::Changing => "another change is under way",
            Reason::NotCaughtUp => "who is to vote lacks too much",
            Reason::NoGroup => "those can be no group",
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            Content::Nothing => write!(f, "nothing of term {}", self.term),
            Content::Payload(payload) => write!(f, "{payload} of term {}", self.term),
            Content::Members(members) => write!(f, "members {members} of term {}", self.term),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Append { ticket, payload } => write!(f, "appends {payload} as {ticket}"),
            Command::Read { ticket } => write!(f, "reads as {ticket}"),
            Command::Transfer { ticket, to } => write!(f, "gives {to} the lead as {ticket}"),
            Command::HandOver { ticket } => write!(f, "gives the lead away as {ticket}"),
            Command::Compact { ticket, index, state } => {
                write!(f, "compacts all up to {index} to {state} as {ticket}")
            }
            Command::ChangeMembers { ticket, voters, learners } => {
                let (voters, learners) = (voters.clone(), learners.clone());
                let members = Members { learners, ..Members::of(voters) };
                write!(f, "has the log kept by {members} as {ticket}")
            }
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Leading { term } => write!(f, "leads in term {term}"),
            Event::Following { term, leader: Some(leader) } => {
                write!(f, "follows {leader} in term {term}")
            }
            Event::Following { term, leader: None } => write!(f, "follows nobody in term {term}"),
            Event::Relaying { term, leader } => write!(f, "relays to {leader} in term {term}"),
            Event::Stored { index, entry } => write!(f, "stores {index}: {entry}"),
            Event::Dropped { from } => write!(f, "drops all from {from} on"),
            Event::Committed { index, entry } => write!(f, "commits {index}: {entry}"),
            Event::Acknowledged { ticket, index } => {
                write!(f, "acknowledges {ticket}, committed at {index}")
            }
            Event::Answered { ticket, index } => write!(f, "answers {ticket}, as of {index}"),
            Event::HandedOver { ticket } => write!(f, "has given the lead away as {ticket}"),
            Event::Declined { ticket, reason, leader } => {
                write!(f, "declines {ticket}: {reason}")?;
                leader.map_or(Ok(()), |leader| write!(f, ", {leader} leads"))
            }
            Event::Unknown { ticket } => write!(f, "cannot say what becomes of {ticket}"),
            Event::SnapshotNeeded { index } => write!(f, "wants a snapshot of {index}"),
            Event::Compacted { ticket, index } => {
                write!(f, "has compacted all up to {index} as {ticket}")
            }
            Event::Restored { index, state, .. } => write!(f, "begins with {state} as of {index}"),
            Event::MembersChanged { ticket, index } => {
                write!(f, "has changed the members as {ticket}, committed at {index}")
            }
            Event::Removed { at } => write!(f, "was removed by entry {at}"),
            Event::Forgotten { last, acknowledged } => {
                write!(f, "acknowledged {acknowledged} entries, and has only {last} left")
            }
        }
    }
}
