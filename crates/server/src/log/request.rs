//! Contents of log entries, and requests, responses and notifications that members send to each
//! other. This module does not contain the messages by which the log replicates its entries.
//!
//! A member that leads also uses a [`LeaderRequest`] when it needs the leader: it sends the request
//! to itself.

use serde::{Deserialize, Serialize};
use tenure_core::ProcessId;
use tenure_core::service::log::{DeclineReason, Members};
use tenure_store::{Bytes, Command, LeaseId, Principal};

/// Request that only the leader can serve, because it reads the leader's timers or changes the
/// members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LeaderRequest {
    Renew(LeaseId),
    TimeToLive(LeaseId),
    ChangeMembers(MembershipChange),
    /// List all leases, in the order of their expiry.
    Leases,
}

/// Change of the set of members that keep the log. The number in each variant is the index of the
/// process of the added, promoted or removed member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MembershipChange {
    /// Add a member. The member gets a vote as soon as it has received the log.
    Add(u32),
    /// Add a member that receives the log and has no vote.
    AddLearner(u32),
    /// Give a learner a vote.
    Promote(u32),
    Remove(u32),
}

impl MembershipChange {
    /// Returns true if `members` is already in the state that this change would produce.
    pub(crate) fn is_done(self, members: &Members) -> bool {
        match self {
            MembershipChange::Add(process) | MembershipChange::Promote(process) => {
                members.voters.contains(ProcessId(process))
            }
            MembershipChange::AddLearner(process) => members.learners.contains(ProcessId(process)),
            MembershipChange::Remove(process) => !members.all().contains(ProcessId(process)),
        }
    }

    /// Returns the members after this change of `members`. The addition of a member and the
    /// promotion of a process that is no learner have no effect: another change may have come
    /// first.
    pub(crate) fn apply_to(self, mut members: Members) -> Members {
        let Members { voters, learners, .. } = &mut members;
        let (MembershipChange::Add(process)
        | MembershipChange::AddLearner(process)
        | MembershipChange::Promote(process)
        | MembershipChange::Remove(process)) = self;
        let process = ProcessId(process);
        let is_learner = learners.contains(process);
        let has_effect = match self {
            MembershipChange::Add(_) | MembershipChange::AddLearner(_) => {
                !is_learner && !voters.contains(process)
            }
            MembershipChange::Promote(_) => is_learner,
            MembershipChange::Remove(_) => true,
        };
        if !has_effect {
            return members;
        }
        for side in [&mut *voters, &mut *learners] {
            side.remove(process);
        }
        match self {
            MembershipChange::Add(_) | MembershipChange::Promote(_) => drop(voters.insert(process)),
            MembershipChange::AddLearner(_) => drop(learners.insert(process)),
            MembershipChange::Remove(_) => {}
        }
        members
    }
}

/// Response of the log to a task of this member, or of a leader to a [`LeaderRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LogTaskResponse {
    /// The request was executed. It has no other result.
    Done,
    /// Outcome of a renewal, and the term in which the leader decided it.
    Renewed { term: u64, renewal: RenewalOutcome },
    /// Remaining time of a lease in whole seconds; `None` if the lease does not exist.
    TimeToLive(Option<u64>),
    /// The request had no effect, or its outcome is unknown.
    Failed(ProposeError),
    /// All leases, in the order of their expiry.
    Leases(Vec<LeaseId>),
    /// The leader declined a membership change. After the change, the voters that respond to the
    /// leader would be no majority of all voters.
    Unhealthy,
}

/// Outcome of a lease renewal at the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RenewalOutcome {
    /// The lease is renewed for this number of seconds, its TTL.
    Renewed(u64),
    /// The renewal needs a checkpoint first: a log entry that records the full TTL as the remaining
    /// time of the lease. The number is this TTL in seconds.
    NeedsCheckpoint(u64),
    /// The leader has proposed the expiry of the lease, and the outcome is not known yet.
    Expiring,
    Gone,
    /// The renewal was not decided, because the member that received the request does not lead in
    /// its latest known term.
    Deposed,
}

/// Failure of a proposal: it was declined, or its outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProposeError {
    /// The proposal had no effect and will have none: the log declined it for this reason.
    Declined(DeclineReason),
    /// The outcome is unknown: the proposal may yet be committed.
    Unknown,
}

/// Lock whose holder has sent a release.
///
/// The holder never uses the lock again, even if the deletion of its key is never committed. So
/// members may notify waiters before the commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReleasedLock {
    /// Key of the claim of the former holder.
    pub(crate) key: Bytes,
    /// Revision in which `key` was created.
    pub(crate) fence: u64,
}

/// Message to another member about a released lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReleaseNotice {
    pub(crate) released: ReleasedLock,
    /// Index of the last entry that the sender knew to be committed. The receiver notifies waiters
    /// only after it has applied the entries up to this index, because one of them may have removed
    /// the claim of a waiter.
    pub(crate) committed: u64,
}

/// Contents of a log entry: a command, and the origin of the request for this command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogEntry {
    /// Index of the process that proposed the command, its session, and the number of the request
    /// in that session.
    pub(crate) origin: (u32, u64, u64),
    pub(crate) command: LogCommand,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LogCommand {
    /// Execute a command of the store, with the rights of its caller.
    Store(Principal, Command),
    /// Record the client URLs of a member. `process` is the index of its process.
    Announce { process: u32, urls: Vec<String> },
}

/// Initial capacity of the buffer for an encoding, in bytes. Most messages need no more.
const TYPICAL_BYTES: usize = 256;

/// Encodes a log entry whose command is encoded already.
pub(crate) fn encode_entry(origin: (u32, u64, u64), command: &[u8]) -> Vec<u8> {
    let mut bytes = encode(&origin);
    bytes.extend_from_slice(command);
    bytes
}

pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    let bytes = postcard::to_extend(message, Vec::with_capacity(TYPICAL_BYTES));
    bytes.expect("a message has an encoding")
}

#[cfg(test)]
mod tests {
    use tenure_core::ProcessSet;

    use super::*;

    #[test]
    fn change_after_another_change_of_the_same_member_has_no_effect() {
        let learners: ProcessSet = [ProcessId(3)].into_iter().collect();
        let members = Members { learners, ..Members::from_voters(ProcessSet::first_n(3)) };
        // A voter does not become a learner, and a removed learner does not become a voter.
        for late in [
            MembershipChange::AddLearner(0),
            MembershipChange::Add(3),
            MembershipChange::Promote(4),
            MembershipChange::Promote(0),
        ] {
            assert_eq!(late.apply_to(members.clone()), members, "{late:?}");
        }
        let promoted = MembershipChange::Promote(3).apply_to(members.clone());
        assert_eq!(promoted, Members::from_voters(ProcessSet::first_n(4)));
        let removed = MembershipChange::Remove(3).apply_to(members);
        assert_eq!(removed, Members::from_voters(ProcessSet::first_n(3)));
    }
}
