//! Single timer that wakes the loop of a driver.

use std::future::pending;
use std::pin::Pin;
use std::time::Instant;

use tokio::time::Sleep;

/// Timer of tokio that is reset for each wait. A new timer for each wait would cost more: whenever
/// a new timer is due before all other timers, tokio wakes the thread that waits for the network.
#[derive(Debug)]
pub(crate) struct WakeTimer(Pin<Box<Sleep>>);

impl WakeTimer {
    /// Creates a timer. Must be called inside a tokio runtime.
    pub(crate) fn new() -> Self {
        WakeTimer(Box::pin(tokio::time::sleep_until(tokio::time::Instant::now())))
    }

    /// Waits until `due`, or forever if `due` is `None`.
    pub(crate) async fn wait_until(&mut self, due: Option<Instant>) {
        let Some(due) = due.map(tokio::time::Instant::from_std) else { return pending().await };
        if self.0.deadline() != due {
            self.0.as_mut().reset(due);
        }
        self.0.as_mut().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn timer_fires_at_latest_deadline_set() {
        let mut timer = WakeTimer::new();
        let started = Instant::now();
        let (soon, later) =
            (started + Duration::from_millis(20), started + Duration::from_millis(40));
        let never = Some(started + Duration::from_secs(3600));
        assert!(is_pending(&mut timer, never).await);
        assert!(is_pending(&mut timer, None).await);
        // The same timer is reused after it has fired.
        for due in [started, soon, soon, later, started] {
            timer.wait_until(Some(due)).await;
            assert!(Instant::now() >= due, "not before");
        }
        assert!(is_pending(&mut timer, never).await);
        assert!(is_pending(&mut timer, None).await);
    }

    async fn is_pending(timer: &mut WakeTimer, due: Option<Instant>) -> bool {
        tokio::select! {
            biased;
            () = timer.wait_until(due) => false,
            () = tokio::task::yield_now() => true,
        }
    }
}
