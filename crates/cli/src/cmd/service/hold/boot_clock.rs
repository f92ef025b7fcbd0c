//! A clock that counts the time since boot. All processes of the machine read the same time. The
//! time includes periods in which the machine was suspended.

use std::io;
use std::time::{Duration, Instant};

/// Returns the time since boot, including the time in which the machine was suspended.
#[cfg(target_os = "linux")]
pub(super) fn now() -> Duration {
    read(rustix::time::ClockId::Boottime)
}

/// Returns the time since boot, on a system other than Linux. The result may exclude the time in
/// which the machine was suspended.
#[cfg(not(target_os = "linux"))]
pub(super) fn now() -> Duration {
    read(rustix::time::ClockId::Monotonic)
}

fn read(clock: rustix::time::ClockId) -> Duration {
    Duration::try_from(rustix::time::clock_gettime(clock)).unwrap_or_default()
}

/// Converts an instant to a time since boot. The result may be slightly earlier than the instant,
/// but not later. If the instant has passed, the result is the present time.
pub(super) fn from_instant(instant: Instant) -> Duration {
    // The clock is read first. If this process is stopped between the two lines, the result is too
    // early, which is safe for a deadline.
    let now = now();
    now + instant.saturating_duration_since(Instant::now())
}

/// Timer on the clock since boot. If the time of the timer passes while the machine is suspended,
/// the timer fires when the machine resumes.
#[derive(Debug)]
pub(super) struct Timer {
    #[cfg(target_os = "linux")]
    timer: tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Timer {
    /// Creates a timer. Must be called inside a tokio runtime.
    pub(super) fn new() -> io::Result<Timer> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
        #[expect(
            deprecated,
            reason = "its replacement is unsafe to call, and an `OwnedFd` keeps its conditions"
        )]
        let timer = tokio::io::unix::AsyncFd::new(timer)?;
        Ok(Timer { timer })
    }

    /// Waits until the clock since boot reads `at`. The future can be dropped at any time.
    pub(super) async fn sleep_until(&self, at: Duration) {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        while now() < at {
            let Ok(it_value) = Timespec::try_from(at) else { return };
            let value = Itimerspec { it_interval: zero, it_value };
            let set = timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &value);
            match (set, self.timer.readable().await) {
                // The timer may have expired for an earlier value of `at`. The loop then continues.
                (Ok(_), Ok(mut ready)) => ready.clear_ready(),
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Timer {
    pub(super) fn new() -> io::Result<Timer> {
        Ok(Timer {})
    }

    pub(super) async fn sleep_until(&self, at: Duration) {
        tokio::time::sleep(at.saturating_sub(now())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn timer_fires_at_the_time_it_was_last_set_to() {
        let timer = Timer::new().expect("a timer");
        let started = now();
        let late = timer.sleep_until(started + Duration::from_secs(3600));
        assert!(tokio::time::timeout(Duration::from_millis(20), late).await.is_err());
        timer.sleep_until(started + Duration::from_millis(60)).await;
        assert!(now() >= started + Duration::from_millis(60));
        timer.sleep_until(started).await;
    }

    #[test]
    fn converted_instant_is_not_later() {
        let started = now();
        let at = from_instant(Instant::now() + Duration::from_secs(5));
        assert!(at >= started + Duration::from_secs(4) && at <= now() + Duration::from_secs(5));
        assert!(from_instant(Instant::now()) <= now());
    }
}
