//! Semaphores for programs without an asynchronous runtime.

use std::time::Duration;

use crate::blocking::guard::Guard;
use crate::blocking::session::Session;
use crate::error::ClientError;

/// A semaphore with a fixed number of permits, which its holders share: the blocking form of
/// [`Semaphore`](crate::Semaphore).
#[derive(Clone, Debug)]
pub struct Semaphore {
    semaphore: crate::lock::semaphore::Semaphore,
    session: Session,
}

impl Session {
    /// Returns a semaphore with this number of permits, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// As [`Session::semaphore`](crate::Session::semaphore).
    pub fn semaphore(&self, name: &str, permits: u32) -> Result<Semaphore, ClientError> {
        let semaphore =
            self.background_runtime().block_on(self.async_session().semaphore(name, permits))?;
        Ok(Semaphore { semaphore, session: self.clone() })
    }
}

impl Semaphore {
    /// Returns the name of the semaphore.
    pub fn name(&self) -> &str {
        self.semaphore.name()
    }

    /// Returns the total number of permits of the semaphore.
    pub fn total_permits(&self) -> u32 {
        self.semaphore.total_permits()
    }

    /// Waits for one permit.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire`](crate::Semaphore::acquire).
    pub fn acquire(&self) -> Result<Guard, ClientError> {
        self.acquire_many(1)
    }

    /// Waits for several permits, and takes all these permits at once.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire_many`](crate::Semaphore::acquire_many).
    pub fn acquire_many(&self, permits: u32) -> Result<Guard, ClientError> {
        let guard =
            self.session.background_runtime().block_on(self.semaphore.acquire_many(permits))?;
        Ok(self.session.wrap_guard(guard))
    }

    /// Takes one permit, if one is free and no other client waits. Returns `None` otherwise.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire`](crate::Semaphore::acquire).
    pub fn try_acquire(&self) -> Result<Option<Guard>, ClientError> {
        self.try_acquire_many(1)
    }

    /// Takes several permits, if enough are free and no other client waits. Returns `None`
    /// otherwise.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire_many`](crate::Semaphore::acquire_many).
    pub fn try_acquire_many(&self, permits: u32) -> Result<Option<Guard>, ClientError> {
        let guard =
            self.session.background_runtime().block_on(self.semaphore.try_acquire_many(permits))?;
        Ok(guard.map(|it| self.session.wrap_guard(it)))
    }

    /// Takes one permit within the time `within`. If the time passes first, leaves the queue and
    /// returns `None`.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire`](crate::Semaphore::acquire).
    pub fn acquire_within(&self, within: Duration) -> Result<Option<Guard>, ClientError> {
        self.acquire_many_within(1, within)
    }

    /// Takes several permits within the time `within`. If the time passes first, leaves the queue
    /// and returns `None`.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire_many`](crate::Semaphore::acquire_many).
    pub fn acquire_many_within(
        &self,
        permits: u32,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        let acquired = self.semaphore.acquire_many_within(permits, within);
        let guard = self.session.background_runtime().block_on(acquired)?;
        Ok(guard.map(|it| self.session.wrap_guard(it)))
    }
}
