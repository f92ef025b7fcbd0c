//! Users: that of a lock requests, waits and exits, and that of an election requests a leader and
//! receives it.

use super::search::Step;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum User {
    Outside,
    Waiting,
    Inside,
}

impl User {
    /// Returns the step that is enabled if the user has this number of remaining requests.
    pub(crate) fn enabled(self, requests: u32) -> Option<Step> {
        match self {
            User::Outside => (requests > 0).then_some(Step::Request),
            User::Waiting => None,
            User::Inside => Some(Step::Exit),
        }
    }
}

/// The last report to the user of an election since its request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reported {
    Nothing,
    Asked,
    Leader,
}
