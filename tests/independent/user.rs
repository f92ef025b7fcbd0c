//! Users of the algorithms. The user of a lock requests entry, waits and exits. The user of an
//! election requests a leader and receives it.

use super::search::Step;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum User {
    Outside,
    Waiting,
    Inside,
}

impl User {
    /// Returns the step that a user of a lock can take; `None` if the user waits for its entry or
    /// has no more requests. `requests` is the number of requests that the user has not made yet.
    pub(crate) fn enabled(self, requests: u32) -> Option<Step> {
        match self {
            User::Outside => (requests > 0).then_some(Step::Request),
            User::Waiting => None,
            User::Inside => Some(Step::Exit),
        }
    }
}

/// Last event at the user of an election: none, its own request, or the report of a leader.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reported {
    Nothing,
    Asked,
    Leader,
}
