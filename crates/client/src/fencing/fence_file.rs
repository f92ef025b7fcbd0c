//! The highest fencing token of a resource, in a file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fencing::fence_error::FenceError;
use crate::fencing::reject_stale;

/// Longest text of a token: the digits of `u64::MAX` and a line break.
const MAX_TEXT: usize = 21;

/// A file that contains the highest fencing token that a resource has seen, as a decimal number.
///
/// [`FenceFile::admit`] compares a token with the number in this file. From the comparison until
/// its result is dropped, the process holds a lock of the operating system (`flock`) on a second
/// file with the suffix `.lock`. All processes that write to the resource must use the same two
/// files. If the processes run on several machines, the file system must support `flock` between
/// machines.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (report, fence) = (folder.path().join("report.txt"), 7);
/// use tenure_client::FenceFile;
///
/// let resource = FenceFile::new(report.with_extension("fence"));
/// resource.admit(fence)?; // before the first read: earlier holders are rejected from here on
/// let text = "a long computation";
/// resource.admit(fence)?.replace(&report, text)?;
/// assert!(resource.admit(6).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FenceFile {
    path: PathBuf,
    /// Highest token that this handle or a clone has flushed to disk; 0 if there is none. A process
    /// may fail or crash after it has replaced the file and before it has flushed the directory. A
    /// token in the file is therefore not necessarily on disk.
    durable_fence: Arc<AtomicU64>,
}

impl FenceFile {
    /// Creates a handle for this path. The file is created by the first accepted token.
    pub fn new(path: impl Into<PathBuf>) -> FenceFile {
        FenceFile { path: path.into(), durable_fence: Arc::default() }
    }

    /// Accepts a token that is not lower than the highest accepted token, and records the token
    /// durably. The holder may write until it drops the result: until then, no other token is
    /// accepted.
    ///
    /// A holder should also call this method before it first reads the resource. Otherwise, a
    /// former holder may write between the read and the write of the new holder.
    ///
    /// The call blocks until the previous [`FencedAccessGuard`] is dropped and the token is on
    /// disk. An asynchronous program calls the method in `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// [`FenceError`]. After [`FenceError::Stale`], nothing has changed.
    pub fn admit(&self, fence: u64) -> Result<FencedAccessGuard, FenceError> {
        let file_error = |source| FenceError::File { path: self.path.clone(), source };
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(with_suffix(&self.path, ".lock"))
            .map_err(file_error)?;
        lock.lock().map_err(file_error)?;
        let highest = self.highest_fence()?;
        reject_stale(fence, highest)?;
        if fence > highest {
            replace(&self.path, format!("{fence}\n").as_bytes()).map_err(file_error)?;
        } else if fence != self.durable_fence.load(Ordering::Relaxed) {
            File::open(&self.path).and_then(|file| sync(&file, &self.path)).map_err(file_error)?;
        }
        self.durable_fence.store(fence, Ordering::Relaxed);
        Ok(FencedAccessGuard { fence, _lock: lock })
    }

    /// Returns the highest token that was accepted; 0 if there was none.
    ///
    /// # Errors
    ///
    /// [`FenceError::File`] and [`FenceError::Damaged`].
    pub fn highest_fence(&self) -> Result<u64, FenceError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(source) => return Err(FenceError::File { path: self.path.clone(), source }),
        };
        let text = String::from_utf8_lossy(&bytes);
        text.trim_end().parse().map_err(|_| FenceError::Damaged {
            path: self.path.clone(),
            text: text.chars().take(MAX_TEXT).collect(),
        })
    }
}

/// Exclusive access to a resource for the holder of an accepted token. The access ends when this
/// value is dropped.
#[must_use = "dropping this ends the exclusive access"]
#[derive(Debug)]
pub struct FencedAccessGuard {
    fence: u64,
    /// Open file. This process holds the operating system's lock of the file.
    _lock: File,
}

impl FencedAccessGuard {
    /// Returns the accepted token.
    pub const fn fence(&self) -> u64 {
        self.fence
    }

    /// Replaces the contents of a file. After a crash the file has the old or the new contents.
    ///
    /// # Errors
    ///
    /// An error of the operating system. If the flush of the directory failed, the file has the new
    /// contents. After any earlier failure, the file has the old contents.
    pub fn replace(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
        replace(path.as_ref(), contents.as_ref())
    }
}

/// Writes a temporary file and flushes it to disk, renames it to `path`, and flushes the directory.
/// The caller holds the lock, so the temporary file has no other writer.
fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let temporary = with_suffix(path, ".new");
    let mut file = File::create(&temporary)?;
    file.write_all(contents)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    sync_parent(path)
}

/// Flushes an open file and its directory to disk.
fn sync(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    sync_parent(path)
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::fs::TryLockError;
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn fence_file() -> (tempfile::TempDir, FenceFile) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fence");
        (folder, FenceFile::new(path))
    }

    #[test]
    fn admits_equal_and_higher_tokens_only() {
        let (_folder, resource) = fence_file();
        for (fence, is_accepted) in [(5, true), (5, true), (4, false), (9, true), (5, false)] {
            let admitted = resource.admit(fence).map(|it| it.fence());
            match admitted {
                Ok(accepted) => assert!(is_accepted && accepted == fence, "{fence}"),
                Err(FenceError::Stale { fence: stale, highest }) => {
                    assert!(!is_accepted && stale == fence && highest > fence, "{fence}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(resource.highest_fence().expect("a token"), 9);
    }

    #[test]
    fn later_holder_waits_for_the_end_of_a_write() {
        let (folder, resource) = fence_file();
        let admission = resource.admit(5).expect("the first token");
        let lock = File::open(folder.path().join("fence.lock")).expect("the lock file");
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        let later = {
            let resource = resource.clone();
            thread::spawn(move || resource.admit(6).map(|it| it.fence()))
        };
        // The higher token is recorded only after the write has ended. Without the lock, the thread
        // would usually have ended by now.
        thread::sleep(Duration::from_millis(100));
        assert!(!later.is_finished());
        assert_eq!(resource.highest_fence().expect("a token"), 5);
        drop(admission);
        assert_eq!(later.join().expect("no panic").expect("a higher token"), 6);
        assert!(lock.try_lock().is_ok());
    }

    #[test]
    fn replaces_contents_and_leaves_no_other_file() {
        let (folder, resource) = fence_file();
        let report = folder.path().join("report");
        for text in ["first", "second"] {
            resource.admit(3).expect("accepted").replace(&report, text).expect("written");
            assert_eq!(fs::read_to_string(&report).expect("a file"), text);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 3);
    }

    #[test]
    fn damaged_fence_file_rejects_every_token() {
        let (folder, resource) = fence_file();
        fs::write(folder.path().join("fence"), "five\n").expect("written");
        let error = resource.admit(u64::MAX).expect_err("rejected");
        assert!(error.to_string().contains("\"five\\n\", expected a number"), "{error}");
    }

    /// Checks that a fence file contains a decimal number and a line break, and that it has a lock
    /// file. The scripts in `examples/guards` read and write these two files.
    #[test]
    fn format_is_a_decimal_number_and_a_line_break() {
        let (folder, resource) = fence_file();
        resource.admit(12).map(drop).expect("accepted");
        assert_eq!(fs::read(folder.path().join("fence")).expect("a file"), b"12\n");
        assert!(folder.path().join("fence.lock").exists());
    }
}
