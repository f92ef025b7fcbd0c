//! The user of a lock: it requests, waits and exits.

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
