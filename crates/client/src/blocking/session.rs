//! Sessions for programs without an asynchronous runtime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::blocking::background_runtime::BackgroundRuntime;
use crate::blocking::guard::Guard;
use crate::blocking::leadership::Leadership;
use crate::election::options::CampaignOptions;
use crate::error::{ClientError, LossReason};
use crate::lock::access::LockOptions;

/// A session at a service: a lease that the thread of the client renews. Clones share the session.
/// The session is closed in the background once all its clones, guards and leaderships are dropped.
#[derive(Clone, Debug)]
pub struct Session {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    session: crate::session::Session,
    background: Arc<BackgroundRuntime>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.background.close_session_in_background(self.session.clone());
    }
}

impl Session {
    pub(super) fn new(
        session: crate::session::Session,
        background: Arc<BackgroundRuntime>,
    ) -> Session {
        Session { shared: Arc::new(Shared { session, background }) }
    }

    pub(super) fn background_runtime(&self) -> &BackgroundRuntime {
        &self.shared.background
    }

    pub(super) fn async_session(&self) -> &crate::session::Session {
        &self.shared.session
    }

    pub(super) fn wrap_guard(&self, guard: crate::lock::guard::Guard) -> Guard {
        Guard { guard, session: self.clone() }
    }

    /// Returns the ID of the lease at the service.
    pub fn id(&self) -> i64 {
        self.async_session().id()
    }

    /// Returns the time to live of the lease, as the service granted it.
    pub fn ttl(&self) -> Duration {
        self.async_session().ttl()
    }

    /// Returns the time at which the session ends if it is not renewed until then. Returns `None`
    /// if the session has already ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.async_session().deadline()
    }

    /// Returns the reason why the session has ended; `None` while the session is alive.
    pub fn end_reason(&self) -> Option<LossReason> {
        self.async_session().loss_reason()
    }

    /// Waits until the session ends, but at most for `within`. Returns the reason for the end;
    /// `None` if the session is alive.
    pub fn wait_lost_within(&self, within: Duration) -> Option<LossReason> {
        self.background_runtime().block_within(within, self.async_session().lost())
    }

    /// Ends the session, and all locks and leaderships in the session. Waits until the service has
    /// confirmed the end of the session.
    ///
    /// # Errors
    ///
    /// As [`Session::close`](crate::Session::close).
    pub fn close(&self) -> Result<(), ClientError> {
        self.background_runtime().block_on(self.async_session().close())
    }

    /// Waits in the queue of a lock until this session acquires the lock, as
    /// [`Session::lock`](crate::Session::lock) does.
    ///
    /// # Errors
    ///
    /// As [`Session::lock`](crate::Session::lock).
    pub fn lock(&self, name: &str) -> Result<Guard, ClientError> {
        self.background_runtime()
            .block_on(self.async_session().lock(name))
            .map(|it| self.wrap_guard(it))
    }

    /// Acquires the lock if no client holds it or waits for it, not even through this session.
    /// Returns `None` otherwise.
    ///
    /// # Errors
    ///
    /// As [`Session::lock`](crate::Session::lock).
    pub fn try_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        let guard = self.background_runtime().block_on(self.async_session().try_lock(name))?;
        Ok(guard.map(|it| self.wrap_guard(it)))
    }

    /// Acquires the lock within the time `within`. If the time passes first, leaves the queue and
    /// returns `None`.
    ///
    /// # Errors
    ///
    /// As [`Session::lock`](crate::Session::lock).
    pub fn lock_within(&self, name: &str, within: Duration) -> Result<Option<Guard>, ClientError> {
        let guard =
            self.background_runtime().block_on(self.async_session().lock_within(name, within))?;
        Ok(guard.map(|it| self.wrap_guard(it)))
    }

    /// Waits until this session holds a lock with the requested access, as
    /// [`Session::lock_with`](crate::Session::lock_with) does.
    ///
    /// # Errors
    ///
    /// As [`Session::lock_with`](crate::Session::lock_with).
    pub fn lock_with(&self, name: &str, request: &LockOptions) -> Result<Guard, ClientError> {
        self.background_runtime()
            .block_on(self.async_session().lock_with(name, request))
            .map(|it| self.wrap_guard(it))
    }

    /// Acquires a lock with the requested access without waiting. Returns `None` if earlier claims
    /// exclude this access.
    ///
    /// # Errors
    ///
    /// As [`Session::try_lock_with`](crate::Session::try_lock_with).
    pub fn try_lock_with(
        &self,
        name: &str,
        request: &LockOptions,
    ) -> Result<Option<Guard>, ClientError> {
        let guard = self
            .background_runtime()
            .block_on(self.async_session().try_lock_with(name, request))?;
        Ok(guard.map(|it| self.wrap_guard(it)))
    }

    /// Acquires a lock with the requested access within the time `within`. If the time passes
    /// first, leaves the queue and returns `None`.
    ///
    /// # Errors
    ///
    /// As [`Session::lock_with`](crate::Session::lock_with).
    pub fn lock_with_within(
        &self,
        name: &str,
        request: &LockOptions,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        let locked = self.async_session().lock_with(name, request);
        let guard = self.background_runtime().block_within(within, locked).transpose()?;
        Ok(guard.map(|it| self.wrap_guard(it)))
    }

    /// Takes part in an election, and waits until this session is the leader, as
    /// [`Session::campaign`](crate::Session::campaign) does.
    ///
    /// # Errors
    ///
    /// As [`Session::campaign`](crate::Session::campaign).
    pub fn campaign(
        &self,
        name: &str,
        value: impl Into<Vec<u8>>,
    ) -> Result<Leadership, ClientError> {
        let leadership =
            self.background_runtime().block_on(self.async_session().campaign(name, value))?;
        Ok(Leadership { leadership, session: self.clone() })
    }

    /// Takes part in an election with an identity and a priority, and waits until this session is
    /// the leader, as [`Session::campaign_with`](crate::Session::campaign_with) does.
    ///
    /// # Errors
    ///
    /// As [`Session::campaign_with`](crate::Session::campaign_with).
    pub fn campaign_with(
        &self,
        name: &str,
        options: CampaignOptions,
    ) -> Result<Leadership, ClientError> {
        let leadership = self
            .background_runtime()
            .block_on(self.async_session().campaign_with(name, options))?;
        Ok(Leadership { leadership, session: self.clone() })
    }

    /// Takes part in an election with an identity and a priority, but at most for `within`. If this
    /// session does not lead within this time, withdraws the candidacy and returns `None`.
    ///
    /// # Errors
    ///
    /// As [`Session::campaign_with`](crate::Session::campaign_with).
    pub fn campaign_with_within(
        &self,
        name: &str,
        options: CampaignOptions,
        within: Duration,
    ) -> Result<Option<Leadership>, ClientError> {
        let campaign = self.async_session().campaign_with(name, options);
        let leadership = self.background_runtime().block_within(within, campaign).transpose()?;
        Ok(leadership.map(|leadership| Leadership { leadership, session: self.clone() }))
    }
}
