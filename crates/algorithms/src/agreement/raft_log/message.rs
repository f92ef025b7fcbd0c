//! Messages between the members of a Raft group.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tenure_core::labelled;
use tenure_core::service::log::{Entry, Members, Payload};

use super::log::EntryId;

/// Messages between processes. Each message contains the term of its sender, except
/// `RequestPreVote`, `PreVote`, `AskMembership` and `Removed`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks whether the receiver would vote for the sender in a new term.
    RequestPreVote {
        /// The term that the sender would start.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Last entry of the sender's log.
        last: EntryId,
    },
    /// Response to a pre-vote request. The response does not bind the sender: it may still vote for
    /// another process.
    PreVote {
        /// The requested term if the sender grants the pre-vote, otherwise the sender's current
        /// term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// True if the sender would grant its vote.
        granted: bool,
    },
    /// Requests the vote of the receiver (`RequestVote` in the paper).
    RequestVote {
        /// Term of the candidate.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Last entry of the candidate's log: `lastLogIndex`, `lastLogTerm`.
        last: EntryId,
    },
    /// Response to a vote request.
    Vote {
        /// The sender's current term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// True if the vote is granted.
        granted: bool,
    },
    /// Carries the entries after the entry `prev` (`AppendEntries` in the paper). A message without
    /// entries serves as a heartbeat.
    Append {
        /// Term of the leader.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Entry before the new entries (`prevLogIndex` and `prevLogTerm` in the paper).
        prev: EntryId,
        /// Entries to store.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::of_any_length"))]
        entries: Vec<Entry>,
        /// Commit index of the leader (`leaderCommit` in the paper).
        commit: u64,
        /// Number of the latest round of messages with which the leader confirms that it still
        /// leads. Linearizable reads require such rounds.
        round: u64,
        /// Highest index that the receiver has acknowledged to this leader, as far as the leader
        /// knows. Always 0 without the variant `noticing`.
        acked: u64,
    },
    /// Successful response to an append.
    Appended {
        /// The sender's current term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Index up to which the sender's log matches the leader's log.
        match_index: u64,
        /// The `round` of the message to which this message responds.
        round: u64,
    },
    /// Rejects an append, because the sender's log does not contain the entry before the new
    /// entries.
    Rejected {
        /// The sender's current term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Index of the entry that the sender lacks.
        prev: u64,
        /// Index and term of the earliest entry that may differ from the leader's entry. If the
        /// sender's log has an entry at index `prev` with term *t*, this is the sender's first
        /// entry with term *t*. Otherwise, this is the index after the sender's last entry, with
        /// term 0.
        conflict: EntryId,
        /// The `round` of the message to which this message responds.
        round: u64,
    },
    /// Carries a part of a snapshot (`InstallSnapshot` in the paper). The snapshot replaces entries
    /// that the leader's log no longer contains. If the part has no bytes, the message asks how
    /// many bytes the receiver has.
    Piece {
        /// Term of the leader.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Number of the latest round of messages with which the leader confirms that it still
        /// leads. Linearizable reads require such rounds.
        round: u64,
        /// Highest index that the receiver has acknowledged to this leader, as far as the leader
        /// knows. Always 0 without the variant `noticing`.
        acked: u64,
        /// Bytes of the snapshot, with their offset.
        piece: Box<SnapshotChunk>,
    },
    /// Response to a [`Message::Piece`]: states how much of the snapshot the sender has.
    HasPieces {
        /// The sender's current term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Last entry that the snapshot covers; identifies the snapshot.
        last: EntryId,
        /// Number of bytes of the snapshot that the sender has, counted from the start of the
        /// snapshot.
        has: u64,
        /// The `round` of the message to which this message responds.
        round: u64,
    },
    /// The leader transfers its leadership to the receiver, and asks the receiver to start an
    /// election immediately (`TimeoutNow` in the paper).
    TimeoutNow {
        /// Term of the leader.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// Response to a message of an old term: tells the receiver that a later term has started.
    Overtaken {
        /// The sender's current term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// Announces that every entry up to `last` is committed. The announcement needs no response,
    /// because the next `Append` repeats the commit index.
    Committed {
        /// Term of the leader.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Last committed entry.
        last: EntryId,
    },
    /// A heartbeat. The receiver responds to it immediately. In contrast, the response to an
    /// `Append` may wait until entries are written to disk.
    Heartbeat {
        /// Term of the leader.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Number of the latest round of messages with which the leader confirms that it still
        /// leads. Linearizable reads require such rounds.
        round: u64,
    },
    /// Response to a heartbeat. It does not acknowledge entries.
    HeartbeatResponse {
        /// The sender's current term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// The `round` of the heartbeat to which this message responds.
        round: u64,
    },
    /// Asks whether the sender is still a member. If a process has no vote and receives no message
    /// from a leader, it sends this message.
    AskMembership {
        /// Last entry of the sender's log.
        last: EntryId,
    },
    /// The receiver was removed from the group.
    Removed {
        /// Index of the committed membership entry that removed the receiver.
        at: u64,
    },
}

/// A part of a snapshot, with the position and the size that the receiver needs to assemble it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SnapshotChunk {
    /// Last entry that the snapshot covers: `lastIndex`, `lastTerm`.
    pub last: EntryId,
    /// Membership at the last entry that the snapshot covers: `lastConfig`.
    pub members: Members,
    /// Offset of `bytes` in the snapshot.
    pub offset: u64,
    /// Bytes of the chunk (`data[]` in the paper).
    pub bytes: Payload,
    /// Total size of the snapshot, in bytes.
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
