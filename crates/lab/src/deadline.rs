//! Cancellation and time limits of computations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time limit of a computation that also ends when its client disconnects. Clones share the
/// cancellation.
#[derive(Clone, Debug, Default)]
pub struct Deadline {
    cancelled: Arc<AtomicBool>,
    limit: Option<(Instant, Duration)>,
}

/// Guard that cancels the computation when it is dropped.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(Deadline);

impl Deadline {
    /// Creates a deadline that expires after `limit`.
    pub fn within(limit: Duration) -> Self {
        Deadline { limit: Some((Instant::now(), limit)), ..Deadline::default() }
    }

    /// Returns a guard that cancels the computation when it is dropped.
    pub(crate) fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// Returns true if the time limit has passed. A partial result is then better than a late one.
    pub fn is_past(&self) -> bool {
        self.limit.is_some_and(|(since, limit)| since.elapsed() >= limit)
    }

    /// Returns an error if the computation must stop.
    ///
    /// # Errors
    ///
    /// Returns the reason if the computation was cancelled, or if the time limit has passed.
    pub fn check(&self) -> Result<(), String> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err("the client disconnected".to_owned());
        }
        match self.limit {
            Some((_, limit)) if self.is_past() => {
                let seconds = limit.as_secs();
                Err(format!(
                    "this takes longer than {seconds} s; `tenure simulate` has no such limit"
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }
}
