//! Observers of an election.

use std::sync::Arc;
use std::time::Duration;

use crate::blocking::background_runtime::BackgroundRuntime;
use crate::election::observer::ElectionState;
use crate::error::ClientError;

/// Observer of the leader of an election. [`ElectionObserver::next_state`] waits for the next state
/// of the election.
pub struct ElectionObserver {
    pub(super) observer: crate::election::observer::ElectionObserver,
    pub(super) background: Arc<BackgroundRuntime>,
}

impl ElectionObserver {
    /// Waits for a change and returns the new state, as
    /// [`ElectionObserver::next_state`](crate::ElectionObserver::next_state) does. The first call
    /// returns the current state.
    ///
    /// # Errors
    ///
    /// [`ClientError::Rejected`] if the service rejects a read.
    pub fn next_state(&mut self) -> Result<ElectionState, ClientError> {
        self.background.block_on(self.observer.next_state())
    }

    /// Waits for a change, but at most for `within`. Returns the new state; `None` if nothing has
    /// changed. The next call continues to wait for the same change.
    ///
    /// # Errors
    ///
    /// [`ClientError::Rejected`] if the service rejects a read.
    pub fn next_state_within(
        &mut self,
        within: Duration,
    ) -> Result<Option<ElectionState>, ClientError> {
        self.background.block_within(within, self.observer.next_state()).transpose()
    }
}
