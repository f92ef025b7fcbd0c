//! Whether the machine does in time what nodes need of it. Progress is promised where it does.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a task that sleeps may take to wake and to have a few bytes on the disk: a quarter of
/// the shortest election timeout, within which a group has to be done with several such things.
const LATE: Duration = Duration::from_millis(40);

/// How often that is tried.
const BEAT: Duration = Duration::from_millis(100);

/// What was felt so far.
#[derive(Clone, Copy, Debug, Default)]
struct Felt {
    /// When the machine was late last.
    last: Option<Instant>,
    /// By how much at most.
    most: Duration,
}

impl Felt {
    /// Something took so long, and has ended now.
    fn feel(&mut self, now: Instant, took: Duration) {
        if took > LATE {
            self.last = Some(now);
            self.most = self.most.max(took);
        }
    }

    /// By how much the machine was late, if it ever was within so long before now.
    fn late_within(&self, now: Instant, span: Duration) -> Option<Duration> {
        let last = self.last?;
        (now.duration_since(last) < span).then_some(self.most)
    }
}

#[derive(Debug, Default)]
struct Shared {
    is_wanted: AtomicBool,
    is_over: AtomicBool,
    felt: Mutex<Felt>,
}

/// Tries again and again, while it is wanted, how long the machine takes.
#[derive(Debug)]
pub(super) struct Pulse(Arc<Shared>);

impl Pulse {
    /// Tries it in this directory, where nodes keep their files as well.
    pub(super) fn of(directory: &Path) -> Pulse {
        let shared: Arc<Shared> = Arc::default();
        let (mine, file) = (Arc::clone(&shared), tempfile::tempfile_in(directory).ok());
        thread::spawn(move || mine.go_on(file));
        Pulse(shared)
    }

    /// Whether it is wanted now: a disk that nobody waits for is left alone.
    pub(super) fn want(&self, is_wanted: bool) {
        self.0.is_wanted.store(is_wanted, Ordering::Relaxed);
    }

    /// By how much the machine was late, if it ever was within so long before now.
    pub(super) fn late_within(&self, span: Duration) -> Option<Duration> {
        self.0.felt().late_within(Instant::now(), span)
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// Nothing that is written here can be left half written.
    fn felt(&self) -> std::sync::MutexGuard<'_, Felt> {
        self.felt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn go_on(&self, mut file: Option<File>) {
        while !self.is_over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            thread::sleep(BEAT);
            if !self.is_wanted.load(Ordering::Relaxed) {
                continue;
            }
            // A disk that takes nothing any more is another matter.
            let _ = file.as_mut().map(flush);
            let now = Instant::now();
            self.felt().feel(now, now.duration_since(begun).saturating_sub(BEAT));
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
    fn a_machine_is_late_for_as_long_as_it_was_late_since() {
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let mut felt = Felt::default();
        felt.feel(begun, LATE);
        assert_eq!(felt.late_within(begun, second), None, "that is in time");
        felt.feel(begun, 3 * LATE);
        felt.feel(begun + second, 2 * LATE);
        felt.feel(begun + 2 * second, LATE / 2);
        let now = begun + 3 * second;
        assert_eq!(felt.late_within(now, 3 * second), Some(3 * LATE));
        assert_eq!(felt.late_within(now, 2 * second), None, "it was in time ever since");
    }
}
