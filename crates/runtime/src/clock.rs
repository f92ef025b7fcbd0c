//! The one timer that wakes the loop.

use std::future::pending;
use std::pin::Pin;
use std::time::Instant;

use tokio::time::Sleep;

/// A timer of the runtime that is set anew, and not made anew: whoever makes one that is due before
/// all others wakes the thread that waits for the network, if only to have it wait for less.
#[derive(Debug)]
pub(crate) struct Clock(Pin<Box<Sleep>>);

impl Clock {
    /// Must be called inside a tokio runtime.
    pub(crate) fn new() -> Self {
        Clock(Box::pin(tokio::time::sleep_until(tokio::time::Instant::now())))
    }

    /// Waits until then; for ever where nothing is due.
    pub(crate) async fn strikes(&mut self, due: Option<Instant>) {
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
    async fn it_strikes_when_something_is_due_whatever_was_due_before() {
        let mut clock = Clock::new();
        let begun = Instant::now();
        let (soon, later) = (begun + Duration::from_millis(20), begun + Duration::from_millis(40));
        let never = Some(begun + Duration::from_secs(3600));
        assert!(is_silent(&mut clock, never).await);
        assert!(is_silent(&mut clock, None).await);
        // It has struck for the first of them when it is asked for the second, and is asked again.
        for due in [begun, soon, soon, later, begun] {
            clock.strikes(Some(due)).await;
            assert!(Instant::now() >= due, "not before");
        }
        assert!(is_silent(&mut clock, never).await);
        assert!(is_silent(&mut clock, None).await);
    }

    /// Whether it does not strike now.
    async fn is_silent(clock: &mut Clock, due: Option<Instant>) -> bool {
        tokio::select! {
            biased;
            () = clock.strikes(due) => false,
            () = tokio::task::yield_now() => true,
        }
    }
}
