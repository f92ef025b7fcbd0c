//! Rate limit for log lines that remote processes can cause, even without authentication.

use std::time::{Duration, Instant};

const MAX_LINES_PER_WINDOW: u32 = 5;

const WINDOW: Duration = Duration::from_secs(30);

/// Throttle for one kind of log line, so that no remote process can fill the disk with such lines.
/// Admits at most [`MAX_LINES_PER_WINDOW`] lines in [`WINDOW`].
#[derive(Debug, Default)]
pub(crate) struct LogThrottle {
    since: Option<Instant>,
    logged: u32,
    suppressed: u64,
}

/// Number of lines of the same kind that were suppressed since the last logged line. `None` instead
/// of 0. The next logged line contains the number as a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuppressedLineCount(pub(crate) Option<u64>);

impl LogThrottle {
    /// Decides whether a line may be logged now. If so, returns the number of lines that were
    /// suppressed since the last logged line. Otherwise counts the line as suppressed and returns
    /// `None`.
    pub(crate) fn admit(&mut self) -> Option<SuppressedLineCount> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&mut self, now: Instant) -> Option<SuppressedLineCount> {
        if self.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            self.since = Some(now);
            self.logged = 0;
        }
        if self.logged == MAX_LINES_PER_WINDOW {
            self.suppressed += 1;
            return None;
        }
        self.logged += 1;
        let suppressed = std::mem::take(&mut self.suppressed);
        Some(SuppressedLineCount((suppressed > 0).then_some(suppressed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_is_limited_and_counted() {
        let (mut throttle, begin) = (LogThrottle::default(), Instant::now());
        let logged = (0..1000).filter_map(|_| throttle.admit_at(begin)).count();
        assert_eq!(logged, 5);
        assert_eq!(throttle.admit_at(begin + WINDOW / 2), None);
        assert_eq!(throttle.admit_at(begin + WINDOW), Some(SuppressedLineCount(Some(996))));
        assert_eq!(throttle.admit_at(begin + WINDOW), Some(SuppressedLineCount(None)));
    }
}
