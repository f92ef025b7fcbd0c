//! Barriers for programs without an asynchronous runtime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::blocking::background_runtime::BackgroundRuntime;
use crate::blocking::session::Session;
use crate::error::{ClientError, LossReason};

/// A barrier at which clients wait while the barrier is held: the blocking form of
/// [`Barrier`](crate::Barrier).
#[derive(Clone, Debug)]
pub struct Barrier {
    pub(super) barrier: crate::barrier::single::Barrier,
    pub(super) background: Arc<BackgroundRuntime>,
}

impl Barrier {
    /// Holds the barrier. Clients that wait for the barrier are blocked until it is released.
    /// Returns false if the barrier was already held before this call.
    ///
    /// # Errors
    ///
    /// As [`Barrier::hold`](crate::Barrier::hold).
    pub fn hold(&self) -> Result<bool, ClientError> {
        self.background.block_on(self.barrier.hold())
    }

    /// Releases the barrier, and lets all waiting clients continue.
    ///
    /// # Errors
    ///
    /// As [`Barrier::release`](crate::Barrier::release).
    pub fn release(&self) -> Result<(), ClientError> {
        self.background.block_on(self.barrier.release())
    }

    /// Waits until the barrier is released. Returns at once if it is not held.
    ///
    /// # Errors
    ///
    /// As [`Barrier::wait`](crate::Barrier::wait).
    pub fn wait(&self) -> Result<(), ClientError> {
        self.background.block_on(self.barrier.wait())
    }

    /// Waits until the barrier is released, but at most for `within`. Returns false if the barrier
    /// is still held after this time.
    ///
    /// # Errors
    ///
    /// As [`Barrier::wait`](crate::Barrier::wait).
    pub fn wait_within(&self, within: Duration) -> Result<bool, ClientError> {
        let waited = self.background.block_within(within, self.barrier.wait()).transpose()?;
        Ok(waited.is_some())
    }
}

/// A double barrier for a fixed number of participants: the blocking form of
/// [`DoubleBarrier`](crate::DoubleBarrier).
#[derive(Clone, Debug)]
pub struct DoubleBarrier {
    barrier: crate::barrier::double::DoubleBarrier,
    session: Session,
}

/// A participant that has entered a [`DoubleBarrier`]. When this value is dropped or the session
/// ends, the participant leaves the barrier without waiting for the other participants.
#[must_use = "dropping this leaves the barrier"]
#[derive(Debug)]
pub struct DoubleBarrierGuard {
    entered: crate::barrier::double::DoubleBarrierGuard,
    session: Session,
}

impl Session {
    /// Returns the double barrier with this name. Sends no request. `participant_count` is the
    /// number of participants, and must be at least 1.
    pub fn double_barrier(&self, name: &str, participant_count: u32) -> DoubleBarrier {
        let barrier = self.async_session().double_barrier(name, participant_count);
        DoubleBarrier { barrier, session: self.clone() }
    }
}

impl DoubleBarrier {
    /// Enters the barrier, and waits until all participants have entered.
    ///
    /// # Errors
    ///
    /// As [`DoubleBarrier::enter`](crate::DoubleBarrier::enter).
    pub fn enter(&self) -> Result<DoubleBarrierGuard, ClientError> {
        let entered = self.session.background_runtime().block_on(self.barrier.enter())?;
        Ok(DoubleBarrierGuard { entered, session: self.session.clone() })
    }

    /// Enters the barrier, and waits until all participants have entered, but at most for `within`.
    /// If a participant is missing after this time, leaves the barrier and returns `None`.
    ///
    /// # Errors
    ///
    /// As [`DoubleBarrier::enter`](crate::DoubleBarrier::enter).
    pub fn enter_within(
        &self,
        within: Duration,
    ) -> Result<Option<DoubleBarrierGuard>, ClientError> {
        let background = self.session.background_runtime();
        let entered = background.block_within(within, self.barrier.enter()).transpose()?;
        Ok(entered.map(|entered| DoubleBarrierGuard { entered, session: self.session.clone() }))
    }
}

impl DoubleBarrierGuard {
    /// Returns the time at which the session ends if it is not renewed until then. The participant
    /// then leaves the barrier. Returns `None` if the session has already ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.entered.deadline()
    }

    /// Waits for an event that [`DoubleBarrierGuard::lost`](crate::DoubleBarrierGuard::lost)
    /// detects, such as the end of the session, but at most for `within`. Returns the reason;
    /// `None` if there was no such event.
    pub fn wait_lost_within(&self, within: Duration) -> Option<LossReason> {
        self.session.background_runtime().block_within(within, self.entered.lost())
    }

    /// Leaves the barrier, and waits until all participants have left.
    ///
    /// # Errors
    ///
    /// As [`DoubleBarrierGuard::leave`](crate::DoubleBarrierGuard::leave).
    pub fn leave(self) -> Result<(), ClientError> {
        self.session.background_runtime().block_on(self.entered.leave())
    }
}
