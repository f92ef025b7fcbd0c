//! The clock by which leases end, which goes on while the machine sleeps.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often it is seen whether the machine has slept.
const OFTEN: Duration = Duration::from_secs(1);

/// What is no sleep, but a clock that was read a little later than another.
const SLIGHT: Duration = Duration::from_millis(10);

/// This moment. It is that of `Instant` but for the time in which the machine was asleep, which
/// that one does not count.
pub(crate) fn now() -> Instant {
    static BEGUN: OnceLock<(Instant, Duration)> = OnceLock::new();
    let (begun, then) = BEGUN.get_or_init(|| (Instant::now(), since_boot()));
    *begun + since_boot().saturating_sub(*then)
}

/// Tells whoever waits that the machine has slept, so that they look how late it is.
#[derive(Debug, Default)]
pub(crate) struct Waking(watch::Sender<()>);

impl Waking {
    /// Looks for it as long as anybody else has this. Must be called inside a tokio runtime.
    pub(crate) fn start() -> Arc<Waking> {
        let waking = Arc::new(Waking::default());
        tokio::spawn(tell(Arc::downgrade(&waking)));
        waking
    }

    /// Waits until then.
    pub(crate) async fn reached(&self, deadline: Instant) {
        let mut told = self.0.subscribe();
        loop {
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = sleep(left) => {}
                // The sender is as old as this.
                _ = told.changed() => {}
            }
        }
    }
}

async fn tell(waking: Weak<Waking>) {
    let asleep = || now().saturating_duration_since(Instant::now());
    let mut known = asleep();
    loop {
        sleep(OFTEN).await;
        let Some(waking) = waking.upgrade() else { return };
        let slept = asleep();
        if slept > known + SLIGHT {
            waking.0.send_replace(());
        }
        known = slept;
    }
}

#[cfg(all(target_os = "linux", not(test)))]
fn since_boot() -> Duration {
    system()
}

/// What is not known to go on on other systems is taken to stand still on all of them.
#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed()
}

#[cfg(target_os = "linux")]
fn system() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(all(target_os = "linux", test))]
fn since_boot() -> Duration {
    system() + tests::SLEPT.get()
}

#[cfg(all(target_os = "linux", test))]
mod tests {
    use std::cell::Cell;

    use tokio::time::timeout;

    use super::*;
    use crate::client::{Client, PATIENCE};
    use crate::error::Lost;
    use crate::member::member;

    thread_local! {
        /// How long the machine has slept, as this thread's tests have it.
        pub(super) static SLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    #[tokio::test]
    async fn whoever_waits_is_told_when_the_machine_wakes_up() {
        let waking = Waking::start();
        let late = now() + Duration::from_secs(3600);
        let mut reached = std::pin::pin!(waking.reached(late));
        tokio::select! {
            biased;
            () = &mut reached => panic!("an hour has not passed"),
            () = tokio::task::yield_now() => {}
        }
        SLEPT.set(Duration::from_secs(3601));
        assert!(now() >= late, "it counts at once");
        timeout(PATIENCE, reached).await.expect("nobody waits for the hour");
    }

    #[tokio::test]
    async fn a_lease_that_ran_out_while_the_machine_slept_is_claimed_no_more() {
        let (_folder, address) = member().await;
        let client = Client::connect([&address]).await.expect("a connection");
        let session = client.session(Duration::from_secs(60)).await.expect("a session");
        let guard = session.lock("jobs").await.expect("the lock");
        let until = guard.deadline().expect("it is held");

        SLEPT.set(SLEPT.get() + Duration::from_secs(30));
        assert_eq!(session.ended(), None);
        let sooner = guard.deadline().expect("it is held still");
        assert!(sooner < until - Duration::from_secs(29), "half of it is over");

        SLEPT.set(SLEPT.get() + Duration::from_secs(31));
        // Nobody has been told yet, and nothing was renewed.
        assert_eq!(session.ended(), Some(Lost::Silence));
        assert_eq!(guard.deadline(), None);
        assert_eq!(guard.lost().await, Lost::Silence);
        assert!(std::time::Instant::now() < until, "nobody waited for it to run out here");
    }
}
