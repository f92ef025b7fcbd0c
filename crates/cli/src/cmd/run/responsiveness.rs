//! Measures whether the machine responds fast enough for the nodes. On a slow machine, `tenure run`
//! waits longer for progress, and a lack of progress is no violation.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Delay of a probe above which the machine is too slow. A probe sleeps for [`PROBE_INTERVAL`] and
/// then flushes a few bytes to the disk. The delay of the probe is its total time minus
/// [`PROBE_INTERVAL`].
///
/// The limit is the default of `detector.message_ms` in the configuration of a node: the upper
/// bound on the delay of a message, on which the timeouts of elections are based.
const MAX_DELAY: Duration = Duration::from_millis(40);

/// Time that a probe sleeps before it writes.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    /// End of the last probe whose delay was above [`MAX_DELAY`]; `None` if there was no such
    /// probe.
    last: Option<Instant>,
    /// Longest delay above [`MAX_DELAY`] so far; 0 if no delay was above it.
    most: Duration,
}

impl Delays {
    /// Records a probe with the delay `took` that ended at `now`. Ignores the probe if `took` is at
    /// most [`MAX_DELAY`].
    fn record(&mut self, now: Instant, took: Duration) {
        if took > MAX_DELAY {
            self.last = Some(now);
            self.most = self.most.max(took);
        }
    }

    /// Returns [`Delays::most`] if the last too slow probe ended less than `span` before `now`.
    /// Otherwise, returns `None`.
    fn longest_delay_if_slow(&self, now: Instant, span: Duration) -> Option<Duration> {
        let last = self.last?;
        (now.duration_since(last) < span).then_some(self.most)
    }
}

#[derive(Debug, Default)]
struct Shared {
    is_enabled: AtomicBool,
    is_stopped: AtomicBool,
    delays: Mutex<Delays>,
}

/// Handle of a background thread that measures the responsiveness of the machine. Dropping this
/// value stops the thread.
#[derive(Debug)]
pub(super) struct ResponsivenessProbe(Arc<Shared>);

impl ResponsivenessProbe {
    /// Starts the thread. The measurement is disabled until [`ResponsivenessProbe::set_enabled`]
    /// enables it. The thread writes a temporary file in `directory`, so that the probes measure
    /// the disk of the nodes. If this file cannot be created, the probes only sleep.
    pub(super) fn start(directory: &Path) -> ResponsivenessProbe {
        let shared: Arc<Shared> = Arc::default();
        let (mine, file) = (Arc::clone(&shared), tempfile::tempfile_in(directory).ok());
        thread::spawn(move || mine.run(file));
        ResponsivenessProbe(shared)
    }

    /// Enables or disables the measurement. The caller disables the measurement while delays do not
    /// matter, because each probe writes to the disk.
    pub(super) fn set_enabled(&self, is_enabled: bool) {
        self.0.is_enabled.store(is_enabled, Ordering::Relaxed);
    }

    /// Returns the longest delay of all probes so far if a probe that ended within the last `span`
    /// was too slow. Otherwise, returns `None`.
    pub(super) fn longest_delay_if_slow(&self, span: Duration) -> Option<Duration> {
        self.0.delays().longest_delay_if_slow(Instant::now(), span)
    }
}

impl Drop for ResponsivenessProbe {
    fn drop(&mut self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// Locks the delays. Ignores poisoning, because no panic can leave the delays inconsistent.
    fn delays(&self) -> std::sync::MutexGuard<'_, Delays> {
        self.delays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, mut file: Option<File>) {
        while !self.is_stopped.load(Ordering::Relaxed) {
            let started = Instant::now();
            thread::sleep(PROBE_INTERVAL);
            if !self.is_enabled.load(Ordering::Relaxed) {
                continue;
            }
            // Ignores write errors, because a write error is no delay.
            let _ = file.as_mut().map(flush);
            let now = Instant::now();
            self.delays().record(now, now.duration_since(started).saturating_sub(PROBE_INTERVAL));
        }
    }
}

fn flush(file: &mut File) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(b"pulse")?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_longest_recent_delay() {
        let (started, second) = (Instant::now(), Duration::from_secs(1));
        let mut delays = Delays::default();
        delays.record(started, MAX_DELAY);
        assert_eq!(delays.longest_delay_if_slow(started, second), None, "within the limit");
        delays.record(started, 3 * MAX_DELAY);
        delays.record(started + second, 2 * MAX_DELAY);
        delays.record(started + 2 * second, MAX_DELAY / 2);
        let now = started + 3 * second;
        assert_eq!(delays.longest_delay_if_slow(now, 3 * second), Some(3 * MAX_DELAY));
        assert_eq!(delays.longest_delay_if_slow(now, 2 * second), None, "no delay since then");
    }
}
