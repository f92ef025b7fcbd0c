//! The clock for leases. On Linux, it also counts time in which the machine was suspended.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// Interval at which this clock is compared with [`Instant`], to detect a suspension of the
/// machine.
const SUSPEND_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Largest difference between this clock and [`Instant`] that is not treated as a suspension. The
/// clocks differ a little, because they are read one after the other.
const CLOCK_READ_TOLERANCE: Duration = Duration::from_millis(10);

/// Returns the current time. On Linux, the returned time advances while the machine is suspended,
/// unlike [`Instant::now`].
pub(crate) fn suspend_aware_now() -> Instant {
    static ORIGIN: OnceLock<(Instant, Duration)> = OnceLock::new();
    let (origin, then) = ORIGIN.get_or_init(|| (Instant::now(), since_boot()));
    *origin + since_boot().saturating_sub(*then)
}

/// Channel that wakes sleeping tasks after a suspension of the machine, so that they compare the
/// time with their deadlines again.
#[derive(Debug, Default)]
pub(crate) struct SuspensionNotifier(watch::Sender<()>);

impl SuspensionNotifier {
    /// Starts a task that detects suspensions. The task ends when all references to the result are
    /// dropped. Must be called in a tokio runtime.
    pub(crate) fn start() -> Arc<SuspensionNotifier> {
        let watch = Arc::new(SuspensionNotifier::default());
        tokio::spawn(detect_suspensions(Arc::downgrade(&watch)));
        watch
    }

    /// Sleeps until a deadline on the clock of [`suspend_aware_now`].
    pub(crate) async fn sleep_until(&self, deadline: Instant) {
        let mut resumed = self.0.subscribe();
        loop {
            let left = deadline.saturating_duration_since(suspend_aware_now());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = sleep(left) => {}
                // `self` owns the sender of the channel, so the wait does not fail.
                _ = resumed.changed() => {}
            }
        }
    }
}

async fn detect_suspensions(watch: Weak<SuspensionNotifier>) {
    let suspended = || suspend_aware_now().saturating_duration_since(Instant::now());
    let mut before = suspended();
    loop {
        sleep(SUSPEND_CHECK_INTERVAL).await;
        let Some(watch) = watch.upgrade() else { return };
        let total = suspended();
        if total > before + CLOCK_READ_TOLERANCE {
            watch.0.send_replace(());
        }
        before = total;
    }
}

#[cfg(all(target_os = "linux", not(test)))]
fn since_boot() -> Duration {
    boot_time()
}

/// Returns the time since the first call of this function, on systems other than Linux. Some of
/// these systems count the time of a suspension and others do not. Suspensions are therefore not
/// detected on these systems.
#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed()
}

#[cfg(target_os = "linux")]
fn boot_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(all(target_os = "linux", test))]
fn since_boot() -> Duration {
    boot_time() + tests::SIMULATED_SUSPENSION.get()
}

#[cfg(all(target_os = "linux", test))]
mod tests {
    use std::cell::Cell;

    use tokio::time::timeout;

    use super::*;
    use crate::client::Client;
    use crate::error::LossReason;
    use crate::test_member::start_member;
    use crate::transport::REQUEST_TIMEOUT;

    thread_local! {
        /// Time for which a test pretends that the machine was suspended. Each thread has a value
        /// of its own.
        pub(super) static SIMULATED_SUSPENSION: Cell<Duration> =
            const { Cell::new(Duration::ZERO) };
    }

    #[tokio::test]
    async fn sleepers_wake_after_a_suspension() {
        let watch = SuspensionNotifier::start();
        let late = suspend_aware_now() + Duration::from_secs(3600);
        let mut reached = std::pin::pin!(watch.sleep_until(late));
        tokio::select! {
            biased;
            () = &mut reached => panic!("an hour has not passed"),
            () = tokio::task::yield_now() => {}
        }
        SIMULATED_SUSPENSION.set(Duration::from_secs(3601));
        assert!(suspend_aware_now() >= late, "the clock advances at once");
        timeout(REQUEST_TIMEOUT, reached).await.expect("the sleeper does not wait for an hour");
    }

    #[tokio::test]
    async fn session_ends_if_lease_expires_during_suspension() {
        let (_folder, address) = start_member().await;
        let client = Client::connect([&address]).await.expect("a connection");
        let session = client.session(Duration::from_secs(60)).await.expect("a session");
        let guard = session.lock("jobs").await.expect("the lock");
        let until = guard.deadline().expect("a deadline");

        SIMULATED_SUSPENSION.set(SIMULATED_SUSPENSION.get() + Duration::from_secs(30));
        assert_eq!(session.loss_reason(), None);
        let sooner = guard.deadline().expect("a deadline");
        assert!(sooner < until - Duration::from_secs(29), "half of the TTL has passed");

        SIMULATED_SUSPENSION.set(SIMULATED_SUSPENSION.get() + Duration::from_secs(31));
        // The session ends as soon as the clock passes the deadline, before a task is notified or a
        // renewal is sent.
        assert_eq!(session.loss_reason(), Some(LossReason::NotRenewed));
        assert_eq!(guard.deadline(), None);
        assert_eq!(guard.lost().await, LossReason::NotRenewed);
        assert!(std::time::Instant::now() < until, "the TTL has not passed on the ordinary clock");
    }
}
