//! What processes that keep a log say to each other.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tenure_core::labelled;
use tenure_core::service::log::{Entry, Members, Payload};

use super::log::Place;

/// Messages between processes. Each has the term of its sender, except for the first two and the
/// last two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Would you vote for me in this term?"
    RequestPreVote {
        /// The term that the sender would begin.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Its last entry.
        last: Place,
    },
    /// The answer to that, which binds nobody.
    PreVote {
        /// The term that was asked about if granted, else the sender's.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Whether the sender would.
        granted: bool,
    },
    /// "Vote for me." `RequestVote`.
    RequestVote {
        /// The term in which the sender stands.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Its last entry: `lastLogIndex`, `lastLogTerm`.
        last: Place,
    },
    /// The answer to that.
    Vote {
        /// The term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Whether this is a vote.
        granted: bool,
    },
    /// "I lead, and this comes behind that in your log." `AppendEntries`; without entries it is a
    /// heartbeat.
    Append {
        /// The leader's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Behind which entry: `prevLogIndex`, `prevLogTerm`.
        behind: Place,
        /// What comes there.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::of_any_length"))]
        entries: Vec<Entry>,
        /// `leaderCommit`: how far the leader knows its log to be committed.
        commit: u64,
        /// The last round of questions whether it still leads.
        round: u64,
        /// Up to which index the receiver has acknowledged this leader's entries; 0 if nothing is
        /// reported.
        known: u64,
    },
    /// "My log is as yours up to there."
    Appended {
        /// The term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Up to where.
        matched: u64,
        /// The round that is answered.
        round: u64,
    },
    /// "What you sent comes behind an entry that I do not have."
    Rejected {
        /// The term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// The index of that entry.
        behind: u64,
        /// Where the sender's log may begin to differ: the first of the term that it has there; or
        /// behind its last entry, with term 0.
        conflict: Place,
        /// The round that is answered.
        round: u64,
    },
    /// "I lead, and my log does not go back as far as yours; this is a part of what stands for its
    /// head." `InstallSnapshot`; without bytes it asks how much of that is there.
    Piece {
        /// The leader's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// The last round of questions whether it still leads.
        round: u64,
        /// Up to which index the receiver has acknowledged this leader's entries; 0 if nothing is
        /// reported.
        known: u64,
        /// What it sends.
        piece: Box<Piece>,
    },
    /// "I have so much of that."
    HasPieces {
        /// The term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Of which snapshot.
        last: Place,
        /// How many bytes from its beginning.
        has: u64,
        /// The round that is answered.
        round: u64,
    },
    /// "Stand at once: I want you to lead."
    TimeoutNow {
        /// The term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// "Your term is over."
    Overtaken {
        /// The sender's.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// "I lead, and all up to this entry is committed." Nobody answers it, and nothing rests on it:
    /// the next `Append` says the same.
    Committed {
        /// The leader's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// The entry.
        last: Place,
    },
    /// "I lead." It is answered at once, and waits for no disk.
    Heartbeat {
        /// The leader's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// The last round of questions whether it still leads.
        round: u64,
    },
    /// "I follow you." It says nothing of the sender's log.
    HeartbeatResponse {
        /// The term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// The round that is answered.
        round: u64,
    },
    /// "Am I still a member?" Sent by a process without a vote that receives nothing of a leader.
    AskMembership {
        /// Its last entry.
        last: Place,
    },
    /// "You are no member any more."
    Removed {
        /// The index of the committed entry that says so.
        at: u64,
    },
}

/// A piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Piece {
    /// The last entry for which the snapshot stands: `lastIndex`, `lastTerm`.
    pub last: Place,
    /// Who kept the log there: `lastConfig`.
    pub members: Members,
    /// How many bytes come before these.
    pub offset: u64,
    /// Some of it: `data[]`.
    pub bytes: Payload,
    /// How many bytes there are in all.
    pub size: u64,
}

labelled!(
    Message, Agreement,
    RequestPreVote => "request-pre-vote", PreVote => "pre-vote",
    RequestVote => "request-vote", Vote => "vote",
    Append => "append", Appended => "appended", Rejected => "rejected",
    Piece => "piece", HasPieces => "has-pieces",
    TimeoutNow => "timeout-now", Overtaken => "overtaken", Committed => "committed",
    Heartbeat => "heartbeat", HeartbeatResponse => "heartbeat-response",
    AskMembership => "ask-membership", Removed => "removed",
);
