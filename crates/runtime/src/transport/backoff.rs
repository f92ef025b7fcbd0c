//! Exponential backoff with jitter. The first attempt has no pause.

use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Backoff {
    min: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(min: Duration, max: Duration) -> Self {
        Backoff { min, max: max.max(min), next: Duration::ZERO }
    }

    /// Returns the next pause. The first pause is zero. Each later pause is a random duration
    /// between half of the current bound and the whole bound. The bound is `min` for the second
    /// pause, and doubles after each pause until it reaches `max`.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let pause = self.next.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.next = (self.next * 2).clamp(self.min, self.max);
        pause
    }

    pub(crate) fn reset(&mut self) {
        self.next = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_limit_and_reset() {
        let (min, max) = (Duration::from_millis(10), Duration::from_secs(1));
        let mut backoff = Backoff::new(min, max);
        let pauses: Vec<_> = (0..20).map(|_| backoff.next_pause()).collect();
        assert_eq!(pauses[0], Duration::ZERO);
        assert!(pauses[1] >= min / 2 && pauses[1] <= min, "{pauses:?}");
        assert!(pauses[19] >= max / 2 && pauses[19] <= max, "{pauses:?}");
        backoff.reset();
        assert_eq!(backoff.next_pause(), Duration::ZERO);
    }
}
