//! A replicated log. An entry is committed at the same index at all processes, and all processes
//! apply the entries in the order of their indices.
//!
//! The leader appends entries. Other processes decline commands and name the leader, or relay
//! commands to the leader ([`Event::Relaying`]). The user gives each command a number, its ticket.
//! Each command receives one answer with its ticket. On success, the answer depends on the command:
//! for example [`Event::Acknowledged`] for an append, and [`Event::Answered`] for a read. If the
//! command had no effect and will have no effect later, the answer is [`Event::Declined`]. If the
//! outcome is not known yet, the answer is [`Event::Unknown`]. Only a crash leaves a command
//! without an answer.
//!
//! Users keep the log short with snapshots of their state machine ([`Command::Compact`]). A
//! snapshot replaces the entries before it. A process that lacks these entries receives the
//! snapshot instead.

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

/// Command of the local user to the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Propose an entry.
    Append {
        /// Number of this command. The answer to the command contains this number. No two commands
        /// of one user have the same number.
        ticket: u64,
        /// Content of the entry.
        payload: Payload,
    },
    /// Perform a linearizable read. The answer is [`Event::Answered`]. The answer arrives after
    /// this process has applied all entries that the read must observe.
    Read {
        /// Number of this command. The answer to the command contains this number.
        ticket: u64,
    },
    /// Transfer leadership to another process, once the log of that process is complete.
    Transfer {
        /// Number of this command. The answer to the command contains this number.
        ticket: u64,
        /// Process that becomes leader.
        to: ProcessId,
    },
    /// Transfer leadership to any other voter. The leader chooses the first voter that responds and
    /// has the whole log.
    HandOver {
        /// Number of this command. The answer to the command contains this number.
        ticket: u64,
    },
    /// Replace all entries up to an applied index by a snapshot. The command compacts only the log
    /// of this process, whether this process leads or not.
    Compact {
        /// Number of this command. The answer to the command contains this number.
        ticket: u64,
        /// Index of the last entry that the snapshot covers.
        index: u64,
        /// State of the user's state machine after the entry at `index`. All processes must provide
        /// the same bytes for an index.
        state: Payload,
    },
    /// Change the members that keep the log. Only the leader executes this command.
    ChangeMembers {
        /// Number of this command. The answer to the command contains this number.
        ticket: u64,
        /// Members that vote and count for a majority.
        voters: ProcessSet,
        /// Members that only receive the log.
        learners: ProcessSet,
    },
}

impl Command {
    /// Returns the ticket of this command. The answer to the command has the same ticket.
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

/// Event of the log for the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process became leader.
    Leading {
        /// Term of the leader.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
        term: u64,
    },
    /// Another process leads, or no leader is known.
    Following {
        /// Term of this process.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
        term: u64,
        /// Leader, as far as this process knows; `None` if this process knows no leader.
        leader: Option<ProcessId>,
    },
    /// Another process leads and executes the commands of this process.
    Relaying {
        /// Term of the leader.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
        term: u64,
        /// Leader to which this process relays commands.
        leader: ProcessId,
    },
    /// This process stored an entry in its log. The entry may still be dropped.
    Stored {
        /// Index of the entry. The first entry has index 1, and each later entry has the next
        /// index.
        index: u64,
        /// Entry that is stored at this index.
        entry: Entry,
    },
    /// The last entries of this process were removed from its log, because a new leader has other
    /// entries at these indices.
    Dropped {
        /// Index of the first removed entry.
        from: u64,
    },
    /// An entry is committed permanently. All processes receive this event for each entry, in the
    /// order of the log. After a recovery, the events are repeated from the first entry that no
    /// snapshot covers.
    Committed {
        /// Index of the entry.
        index: u64,
        /// Entry that is committed at this index.
        entry: Entry,
    },
    /// An appended entry is committed.
    Acknowledged {
        /// Ticket of the command that this event answers.
        ticket: u64,
        /// Index of the entry.
        index: u64,
    },
    /// Answer to a read. This process has applied all entries up to `index`. The state of this
    /// process therefore includes everything that any process had observed before the read was
    /// issued.
    Answered {
        /// Ticket of the command that this event answers.
        ticket: u64,
        /// Index of the last entry that the read observes. This process has applied all entries up
        /// to this index.
        index: u64,
    },
    /// A transfer of leadership succeeded: this process does not lead any more.
    HandedOver {
        /// Ticket of the command that this event answers.
        ticket: u64,
    },
    /// The command had no effect, and will have no effect later.
    Declined {
        /// Ticket of the command that this event answers.
        ticket: u64,
        /// Reason for declining the command.
        reason: DeclineReason,
        /// Leader, as far as this process knows; `None` if this process knows no leader.
        leader: Option<ProcessId>,
    },
    /// The outcome of the command is not known, for example because the leader was deposed while it
    /// executed the command. The entry of the command may still be committed.
    Unknown {
        /// Ticket of the command that this event answers.
        ticket: u64,
    },
    /// Many entries were committed since the last compaction. The user should issue
    /// [`Command::Compact`]. The log continues without waiting for this command.
    SnapshotNeeded {
        /// Index of the last entry that this process applied.
        index: u64,
    },
    /// The log of this process was compacted. The log may now begin at a higher index.
    Compacted {
        /// Ticket of the command that this event answers.
        ticket: u64,
        /// Index of the last entry that the snapshot covers.
        index: u64,
    },
    /// A snapshot replaces the state of the user and all entries in the log of this process. The
    /// next committed entry follows the snapshot. After a recovery, if there is a snapshot, this
    /// event comes before all others.
    Restored {
        /// Index of the last entry that the snapshot covers.
        index: u64,
        /// Term of the last entry that the snapshot covers.
        #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
        term: u64,
        /// Members after the last entry that the snapshot covers.
        members: Box<Members>,
        /// State of the user's state machine. A user provided this state with [`Command::Compact`].
        state: Payload,
    },
    /// The change of members is complete.
    MembersChanged {
        /// Ticket of the command that this event answers.
        ticket: u64,
        /// Index of the committed entry with the new members.
        index: u64,
    },
    /// Another process reports that this process is no longer a member. The user should shut this
    /// process down, because the process receives no further entries.
    Removed {
        /// Index of the committed entry that removed this process.
        at: u64,
    },
    /// The log of this process lacks entries that the process has acknowledged to the leader. The
    /// process stops taking part, because it may have lost its votes together with these entries.
    Forgotten {
        /// Index of the last entry that the log still contains.
        last: u64,
        /// Index of the last entry that this process acknowledged to the leader.
        acknowledged: u64,
    },
}

/// Reason for declining a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum DeclineReason {
    /// This process does not lead.
    NotLeading,
    /// The process was leader when it received the command, and was deposed before it could answer.
    Deposed,
    /// This process has reached the limit of uncommitted entries.
    Full,
    /// This process is transferring leadership to another process.
    HandingOver,
    /// The chosen process cannot become leader, or did not become leader in time. This process
    /// continues to lead.
    NotTaken,
    /// The requested snapshot is not possible: the entry at its index is not committed at this
    /// process, or an earlier snapshot covers the entry.
    NotThere,
    /// Another membership change is in progress.
    Changing,
    /// A new voter lacks too many entries and does not catch up with the log in time.
    NotCaughtUp,
    /// The requested set of members is invalid. The set contains no voter, contains a process
    /// outside of the group, or contains a process that is both voter and learner.
    NoGroup,
}

/// Entry of a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// Term of the leader that appended the entry.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
    pub term: u64,
    /// Content of the entry.
    pub content: Content,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Content {
    /// No content. A leader begins its term with an entry of this kind.
    Nothing,
    /// Payload of a user.
    Payload(Payload),
    /// New members, which apply from this entry on.
    Members(Box<Members>),
}

impl Content {
    /// Returns the length of the payload in bytes, or 0 for an entry without a payload.
    pub fn payload_len(&self) -> usize {
        match self {
            Content::Payload(payload) => payload.bytes().len(),
            Content::Nothing | Content::Members(_) => 0,
        }
    }
}

impl Event {
    /// Returns the ticket of the command that the event answers. Returns `None` if the event is not
    /// an answer to a command.
    pub fn answered_ticket(&self) -> Option<u64> {
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

impl fmt::Display for DeclineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeclineReason::NotLeading => "it does not lead",
            DeclineReason::Deposed => "it was deposed",
            DeclineReason::Full => "it has too many uncommitted entries",
            DeclineReason::HandingOver => "it is transferring leadership",
            DeclineReason::NotTaken => "no process took the lead",
            DeclineReason::NotThere => "that index is not committed here, or was given before",
            DeclineReason::Changing => "another change is under way",
            DeclineReason::NotCaughtUp => "a new voter lacks too many entries",
            DeclineReason::NoGroup => "the members are not a valid group",
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
                let members = Members { learners, ..Members::from_voters(voters) };
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
            Event::Following { term, leader: None } => write!(f, "knows no leader in term {term}"),
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
