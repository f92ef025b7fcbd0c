//! Read/write locks for programs without an asynchronous runtime.

use std::time::Duration;

use crate::blocking::guard::Guard;
use crate::blocking::session::Session;
use crate::error::ClientError;

impl Session {
    /// Waits until this session holds a read/write lock as a reader, as
    /// [`Session::read_lock`](crate::Session::read_lock) does.
    ///
    /// # Errors
    ///
    /// As [`Session::read_lock`](crate::Session::read_lock).
    pub fn read_lock(&self, name: &str) -> Result<Guard, ClientError> {
        self.background_runtime()
            .block_on(self.async_session().read_lock(name))
            .map(|it| self.wrap_guard(it))
    }

    /// Acquires a read/write lock as a reader, if no writer holds it or waits for it. Returns
    /// `None` otherwise.
    ///
    /// # Errors
    ///
    /// As [`Session::read_lock`](crate::Session::read_lock).
    pub fn try_read_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        let guard = self.background_runtime().block_on(self.async_session().try_read_lock(name))?;
        Ok(guard.map(|it| self.wrap_guard(it)))
    }

    /// Acquires a read/write lock as a reader within the time `within`. If the time passes first,
    /// leaves the queue and returns `None`.
    ///
    /// # Errors
    ///
    /// As [`Session::read_lock`](crate::Session::read_lock).
    pub fn read_lock_within(
        &self,
        name: &str,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        let guard = self
            .background_runtime()
            .block_on(self.async_session().read_lock_within(name, within))?;
        Ok(guard.map(|it| self.wrap_guard(it)))
    }

    /// Waits until this session holds a read/write lock as the writer, as
    /// [`Session::write_lock`](crate::Session::write_lock) does.
    ///
    /// # Errors
    ///
    /// As [`Session::write_lock`](crate::Session::write_lock).
    pub fn write_lock(&self, name: &str) -> Result<Guard, ClientError> {
        self.background_runtime()
            .block_on(self.async_session().write_lock(name))
            .map(|it| self.wrap_guard(it))
    }

    /// Acquires a read/write lock as the writer, if no other client holds it or waits for it.
    /// Returns `None` otherwise.
    ///
    /// # Errors
    ///
    /// As [`Session::write_lock`](crate::Session::write_lock).
    pub fn try_write_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        let guard =
            self.background_runtime().block_on(self.async_session().try_write_lock(name))?;
        Ok(guard.map(|it| self.wrap_guard(it)))
    }

    /// Acquires a read/write lock as the writer within the time `within`. If the time passes first,
    /// leaves the queue and returns `None`.
    ///
    /// # Errors
    ///
    /// As [`Session::write_lock`](crate::Session::write_lock).
    pub fn write_lock_within(
        &self,
        name: &str,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        let guard = self
            .background_runtime()
            .block_on(self.async_session().write_lock_within(name, within))?;
        Ok(guard.map(|it| self.wrap_guard(it)))
    }
}
