//! Guards of several locks at once, in the blocking form of the client. A caller may also take
//! further locks while it holds some.

use std::time::{Duration, Instant};

use crate::blocking::guard::Guard;
use crate::blocking::session::Session;
use crate::error::{ClientError, LossReason};

/// Several locks that a session holds: the blocking form of [`MultiGuard`](crate::MultiGuard).
/// Dropping the guard releases all locks in the background. The locks are also released when the
/// session ends.
#[must_use = "dropping this releases the locks"]
#[derive(Debug)]
pub struct MultiGuard {
    guard: crate::lock::multi_guard::MultiGuard,
    session: Session,
}

impl Session {
    /// Waits until this session holds all locks of `names`.
    ///
    /// # Errors
    ///
    /// As [`Session::lock_all`](crate::Session::lock_all).
    pub fn lock_all(
        &self,
        names: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<MultiGuard, ClientError> {
        let guard = self.background_runtime().block_on(self.async_session().lock_all(names))?;
        Ok(MultiGuard { guard, session: self.clone() })
    }

    /// Acquires all locks of `names`. If another client holds or awaits one of the locks, returns
    /// `None`.
    ///
    /// # Errors
    ///
    /// As [`Session::try_lock_all`](crate::Session::try_lock_all).
    pub fn try_lock_all(
        &self,
        names: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<Option<MultiGuard>, ClientError> {
        let guard = self.background_runtime().block_on(self.async_session().try_lock_all(names))?;
        Ok(guard.map(|guard| MultiGuard { guard, session: self.clone() }))
    }

    /// Acquires all locks of `names` within the time `within`. If the time passes first, releases
    /// the acquired locks and returns `None`.
    ///
    /// # Errors
    ///
    /// As [`Session::lock_all`](crate::Session::lock_all).
    pub fn lock_all_within(
        &self,
        names: impl IntoIterator<Item: AsRef<str>>,
        within: Duration,
    ) -> Result<Option<MultiGuard>, ClientError> {
        let guard = self
            .background_runtime()
            .block_on(self.async_session().lock_all_within(names, within))?;
        Ok(guard.map(|guard| MultiGuard { guard, session: self.clone() }))
    }

    /// Acquires a lock while the caller holds the locks of the guards `held`. Fails if the wait for
    /// the lock would complete a cycle of sessions that wait for each other.
    ///
    /// # Errors
    ///
    /// As [`Session::lock_detecting_deadlock`](crate::Session::lock_detecting_deadlock). The caller
    /// keeps its guards.
    pub fn lock_detecting_deadlock(
        &self,
        name: &str,
        held: &[&Guard],
    ) -> Result<Guard, ClientError> {
        let held: Vec<_> = held.iter().map(|held| &held.guard).collect();
        let guard = self
            .background_runtime()
            .block_on(self.async_session().lock_detecting_deadlock(name, &held))?;
        Ok(self.wrap_guard(guard))
    }
}

impl MultiGuard {
    /// Returns the names of the locks in ascending order. Each name occurs once.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.guard.names()
    }

    /// Returns the fencing token of the lock with this name. Returns `None` if this guard does not
    /// hold the lock.
    pub fn fence(&self, name: &str) -> Option<u64> {
        self.guard.fence(name)
    }

    /// Returns the time at which all locks are lost if the session is not renewed until then.
    /// Returns `None` if the session has already ended. See
    /// [`MultiGuard::deadline`](crate::MultiGuard::deadline).
    pub fn deadline(&self) -> Option<Instant> {
        self.guard.deadline()
    }

    /// Waits until one of the locks is lost, but at most for `within`. Returns the reason for the
    /// loss; `None` if all locks are still held.
    pub fn wait_lost_within(&self, within: Duration) -> Option<LossReason> {
        self.session.background_runtime().block_within(within, self.guard.lost())
    }

    /// Releases all locks and waits until the releases are committed.
    ///
    /// # Errors
    ///
    /// As [`MultiGuard::release`](crate::MultiGuard::release).
    pub fn release(self) -> Result<(), ClientError> {
        self.session.background_runtime().block_on(self.guard.release())
    }
}
