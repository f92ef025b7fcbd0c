//! What a member wants of the leader besides its log, and what it gets: the same whether that is
//! another member or itself.

use serde::{Deserialize, Serialize};
use tenure_core::ProcessId;
use tenure_core::service::log::{Members, Reason};
use tenure_store::{Asker, Bytes, Command, LeaseId};

/// What a member wants of the leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Errand {
    /// To renew a lease.
    Renew(LeaseId),
    /// How much is left of a lease.
    Left(LeaseId),
    /// To have the log kept by others.
    Change(Change),
    /// Names of all leases, the one that expires first before the others.
    Leases,
}

/// Who is to keep the log besides those who do, or no longer. Each is the number of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    /// Who does not, and is to vote as soon as it has the log.
    Add(u32),
    /// Who does not, and is to have the log without a vote.
    AddLearner(u32),
    /// Who has the log without a vote, and is to have one.
    Promote(u32),
    /// Who is not to have it any more.
    Remove(u32),
}

impl Change {
    /// Whether these are who it wants to keep the log.
    pub(crate) fn is_done(self, members: &Members) -> bool {
        match self {
            Change::Add(who) | Change::Promote(who) => members.voters.contains(ProcessId(who)),
            Change::AddLearner(who) => members.learners.contains(ProcessId(who)),
            Change::Remove(who) => !members.everybody().contains(ProcessId(who)),
        }
    }
}

/// What it gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Return {
    /// It is done.
    Done,
    /// What came of a renewal, in which term.
    Renewed { term: u64, renewal: Renewal },
    /// How many seconds are left of a lease, if it is there.
    Left(Option<u64>),
    /// It was not done.
    Undone(Undone),
    /// Names of leases.
    Leases(Vec<LeaseId>),
}

/// What may be done about a lease that somebody renews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Renewal {
    /// It is renewed for so many seconds.
    Renewed(u64),
    /// All of it has to be noted first: so many seconds.
    Noting(u64),
    /// Its end is proposed, and not decided yet.
    Ending,
    /// There is no such lease.
    Gone,
    /// The leader does not lead in that term.
    Deposed,
}

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Undone {
    /// It had no effect and will have none.
    Declined(Reason),
    /// Nobody can say what becomes of it.
    Unknown,
}

/// A lock that its holder claims no longer. That stays so, whatever becomes of the entry by which
/// its key is deleted, so it may be told before that is committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Released {
    /// The key by which it was held.
    pub(crate) key: Bytes,
    /// The revision that made it.
    pub(crate) fence: u64,
}

/// What an entry of the log says, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// The process that asked, its life, and its number there.
    pub(crate) by: (u32, u64, u64),
    /// What is to be done.
    pub(crate) what: What,
}

/// An entry of the log, of which is written already what is to be done.
pub(crate) fn written(by: (u32, u64, u64), what: &[u8]) -> Vec<u8> {
    let mut bytes = encoded(&by);
    bytes.extend_from_slice(what);
    bytes
}

/// How many bytes most of what members write has.
const MOST: usize = 256;

/// What members write, for each other or into the log.
pub(crate) fn encoded(what: &impl Serialize) -> Vec<u8> {
    let bytes = postcard::to_extend(what, Vec::with_capacity(MOST));
    bytes.expect("what members write can be encoded")
}

/// What an entry of the log has all members do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum What {
    /// Something in the store, for somebody.
    Command(Asker, Command),
    /// To know where clients reach a member, whose process has this number.
    Introduction { process: u32, urls: Vec<String> },
}
