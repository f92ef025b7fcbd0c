//! A store, and the position of its last log entry.

use tenure_store::{ApplyOutcome, Command, LogPosition, Principal, Store};

#[derive(Default)]
pub(crate) struct Log {
    pub(crate) store: Store,
    pub(crate) at: LogPosition,
}

impl Log {
    /// Creates an empty store in term 1.
    pub(crate) fn new() -> Self {
        Log { at: LogPosition { index: 0, term: 1 }, ..Log::default() }
    }

    pub(crate) fn apply(&mut self, command: Command) -> ApplyOutcome {
        self.apply_as(&Principal::Member, command)
    }

    pub(crate) fn apply_as(&mut self, principal: &Principal, command: Command) -> ApplyOutcome {
        self.at.index += 1;
        self.store.apply_as(self.at, principal, command)
    }
}
