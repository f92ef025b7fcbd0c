//! Cancellation and time limits of computations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Function that returns the time since the start of a computation.
type ElapsedTime = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Limit of a computation. The computation should stop when its time limit has passed, or when its
/// client has disconnected. The clones of a deadline share the notice that the client has
/// disconnected. The default deadline has no time limit.
#[derive(Clone, Default)]
pub struct Deadline {
    /// True if the client has disconnected.
    cancelled: Arc<AtomicBool>,
    limit: Option<(ElapsedTime, Duration)>,
}

/// Guard that cancels a deadline and its clones when it is dropped.
#[cfg(feature = "server")]
pub(crate) struct CancelOnDrop(Deadline);

impl Deadline {
    /// Creates a deadline that passes when `limit` has elapsed from now.
    #[cfg(not(target_family = "wasm"))]
    pub fn within(limit: Duration) -> Self {
        let started = std::time::Instant::now();
        Deadline::with_clock(move || started.elapsed(), limit)
    }

    /// Creates a deadline for a host with its own clock. `elapsed` returns the time since the start
    /// of the computation. The deadline passes as soon as this time is at least `limit`.
    pub fn with_clock(
        elapsed: impl Fn() -> Duration + Send + Sync + 'static,
        limit: Duration,
    ) -> Self {
        Deadline { limit: Some((Arc::new(elapsed), limit)), ..Deadline::default() }
    }

    /// Returns a guard that cancels this deadline and its clones when it is dropped.
    #[cfg(feature = "server")]
    pub(crate) fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    /// Returns true if the time limit has passed. The caller should then stop and return a partial
    /// result. A disconnected client does not affect the result.
    pub fn is_past(&self) -> bool {
        self.limit.as_ref().is_some_and(|(elapsed, limit)| elapsed() >= *limit)
    }

    /// Checks that the computation may continue.
    ///
    /// # Errors
    ///
    /// The reason to stop: the client has disconnected, or the time limit has passed.
    pub fn ensure_may_continue(&self) -> Result<(), String> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err("the client disconnected".to_owned());
        }
        match &self.limit {
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

#[cfg(feature = "server")]
impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn clock_of_the_host_ends_computation() {
        let seconds = Arc::new(AtomicU64::new(9));
        let clock = Arc::clone(&seconds);
        let elapsed = move || Duration::from_secs(clock.load(Ordering::Relaxed));
        let deadline = Deadline::with_clock(elapsed, Duration::from_secs(10));
        assert!(!deadline.is_past());
        assert_eq!(deadline.ensure_may_continue(), Ok(()));
        seconds.store(10, Ordering::Relaxed);
        assert!(deadline.is_past());
        assert!(
            deadline.ensure_may_continue().is_err_and(|reason| reason.contains("longer than 10 s"))
        );
        assert!(!Deadline::default().is_past(), "without a limit");
    }
}
