//! Clock of a search. In WebAssembly, the host provides the clock.

use std::sync::OnceLock;
use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
pub use std::time::Instant;

#[cfg(target_family = "wasm")]
pub use HostInstant as Instant;

/// Function that returns the time since some fixed moment, which the host may choose. All calls
/// must use the same moment.
pub type HostClock = fn() -> Duration;

static HOST_CLOCK: OnceLock<HostClock> = OnceLock::new();

/// Sets the clock of [`HostInstant`]. If a clock is already set, keeps that clock and returns
/// false.
///
/// In WebAssembly, this crate reads no other clock. If the host sets no clock, every search appears
/// to take no time, and no limit on time ends a search.
pub fn set_host_clock(clock: HostClock) -> bool {
    HOST_CLOCK.set(clock).is_ok()
}

/// Moment on the clock of the host, for targets on which [`std::time::Instant`] has no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostInstant(Duration);

impl HostInstant {
    /// Returns the current moment on the clock of the host. If the host has set no clock, time does
    /// not pass: every call returns the same moment.
    pub fn now() -> Self {
        HostInstant(HOST_CLOCK.get().map_or(Duration::ZERO, |clock| clock()))
    }

    /// Returns the time since this moment; zero if the clock was set back.
    pub fn elapsed(&self) -> Duration {
        HostInstant::now().0.saturating_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    static MILLISECONDS: AtomicU64 = AtomicU64::new(7);

    #[test]
    fn host_clock_measures_elapsed_time() {
        let clock = || Duration::from_millis(MILLISECONDS.load(Ordering::Relaxed));
        assert_eq!(HostInstant::now(), HostInstant(Duration::ZERO), "no clock is set");
        assert!(set_host_clock(clock));
        let started = HostInstant::now();
        MILLISECONDS.store(12, Ordering::Relaxed);
        assert_eq!(started.elapsed(), Duration::from_millis(5));
        MILLISECONDS.store(3, Ordering::Relaxed);
        assert_eq!(started.elapsed(), Duration::ZERO, "a clock that was set back");
        assert!(!set_host_clock(|| Duration::ZERO), "the first clock is kept");
    }
}
