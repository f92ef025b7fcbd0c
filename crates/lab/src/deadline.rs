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

/// Cancels the computation when dropped.
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

    /// True if the time limit has passed; partial results are then better than late ones.
    pub fn is_past(&self) -> bool {
        self.limit.is_some_and(|(since, limit)| since.elapsed() >= limit)
    }

    /// Checks that the computation should continue.
    ///
    /// # Errors
    ///
    /// Returns the reason if it was cancelled or the time limit has passed.
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
