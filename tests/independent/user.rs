//! The user of a lock: it asks, waits and leaves.

use super::search::Act;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum User {
    Outside,
    Waiting,
    Inside,
}

impl User {
    /// What it may do, if it wants to enter so often still.
    pub(crate) fn may(self, wishes: u32) -> Option<Act> {
        match self {
            User::Outside => (wishes > 0).then_some(Act::Ask),
            User::Waiting => None,
            User::Inside => Some(Act::Leave),
        }
    }
}
