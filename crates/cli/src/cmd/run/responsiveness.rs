//! Measures whether the machine responds fast enough for the nodes. On a slow machine, `tenure run`
//! gives the nodes more time to make progress.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Delay of a probe above which the machine is too slow. A probe wakes a task and flushes a few
/// bytes.
///
/// The limit is a quarter of the shortest election timeout, because a node needs several such
/// operations in that timeout.
const MAX_DELAY: Duration = Duration::from_millis(40);

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
    /// Records that a probe took the time `took` and ended at `now`. Ignores a probe that took at
    /// most [`MAX_DELAY`].
    fn record(&mut self, now: Instant, took: Duration) {
        if took > MAX_DELAY {
            self.last = Some(now);
            self.most = self.most.max(took);
        }
    }

    /// Returns the longest delay since the start of the run if a probe was too slow in the last
    /// `span` before `now`. Otherwise, returns `None`.
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

/// Background thread that measures the responsiveness of the machine. The measurement can be
/// enabled and disabled.
#[derive(Debug)]
pub(super) struct ResponsivenessProbe(Arc<Shared>);

impl ResponsivenessProbe {
    /// Starts a thread that measures how fast the machine responds. At first, the measurement is
    /// disabled. The thread writes a file in `directory`, where the nodes have their files.
    pub(super) fn start(directory: &Path) -> ResponsivenessProbe {
        let shared: Arc<Shared> = Arc::default();
        let (mine, file) = (Arc::clone(&shared), tempfile::tempfile_in(directory).ok());
        thread::spawn(move || mine.run(file));
        ResponsivenessProbe(shared)
    }

    /// Enables or disables the measurement. The caller disables it while delays do not matter,
    /// because each probe writes to the disk.
    pub(super) fn set_enabled(&self, is_enabled: bool) {
        self.0.is_enabled.store(is_enabled, Ordering::Relaxed);
    }

    /// Returns the longest delay since the start of the run if a probe was too slow within the last
    /// `span`. Otherwise, returns `None`.
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
            // Write errors are not delays, and are ignored.
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
