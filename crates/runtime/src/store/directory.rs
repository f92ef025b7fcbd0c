//! Directory of one process: lock file, state file and change log.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
#[cfg(test)]
use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use thiserror::Error;

use super::change_log::{ChangeLog, ChangeLogPosition};
use super::open_error::OpenError;
use super::peer_registry::MembershipRecord;
use super::private_file;
use super::reserved_files::ReservedFiles;
use super::save_metrics::SaveMetrics;
use super::state_file_format::{StateFile, StateOwner, UnreadableReason};
use crate::priority::lower_thread_priority;
use crate::transport::SESSION_LIMIT;

const STATE_FILE: &str = "state";

/// Name of the file whose lock protects the directory. The file stays empty.
const LOCK_FILE: &str = "lock";

/// Number of bytes written to a state file between two flushes. Each flush delays other writes to
/// the same disk. With a smaller number, each delay is shorter.
const FLUSH_BYTES: usize = 256 << 10;

/// Stable state of one process, in a directory that this value owns exclusively.
#[derive(Debug)]
pub struct StableStorage {
    directory: PathBuf,
    state_file: StateFile,
    change_log: ChangeLog,
    /// True after a save has failed and left unknown content on the disk. No further save is
    /// attempted then.
    has_failed: bool,
    /// Lock of the directory. The operating system releases it even after a crash.
    lock: DirectoryLock,
    reserved_files: ReservedFiles,
    saves: SaveMetrics,
    registry: Option<MembershipRecord>,
    /// Thread of the rewrite in progress. It returns the new state file, or `None` if the rewrite
    /// failed.
    rewriting: Option<JoinHandle<Option<StateFile>>>,
    /// True while a test simulates a stuck disk.
    #[cfg(test)]
    pub(crate) is_stuck: Arc<AtomicBool>,
}

/// Reason why a state was not saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The disk is full. The earlier state is intact.
    #[error("cannot write {path}: the disk is full; the earlier state is intact")]
    DiskFull {
        /// Path of the file that could not be written.
        path: PathBuf,
    },
    /// The state could not be written. The earlier state is intact.
    #[error("cannot write {path}: {source}; the earlier state is intact")]
    NotWritten {
        /// Path of the file that could not be written.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The replacement may not survive a power failure. All later saves of the store fail.
    #[error("cannot make {path} durable: {source}; it has either the earlier or the new state")]
    NotDurable {
        /// Path of the directory of the store.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The last change may be on disk completely, partly or not at all. No further save is
    /// attempted.
    #[error("cannot save to {path}: {source}; the last change may be on disk or not")]
    Unknown {
        /// Path of the file: a segment of the change log, or the marker of a segment. A marker is
        /// an empty file which shows that its segment was created.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Nothing was written, because an earlier save failed and left unknown content on the disk. A
    /// later flush may succeed although the data of the failed flush is lost.
    #[error("cannot save in {path} after an earlier failure; open the store again")]
    EarlierFailure {
        /// Path of the directory of the store.
        path: PathBuf,
    },
}

impl StableStorage {
    /// Locks `directory`, creates it if necessary, reads the saved state, and durably begins a new
    /// session.
    ///
    /// `schema` identifies the algorithm and the version of its stable state. A process can
    /// therefore not boot with the state of another algorithm. `owner` identifies the process.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; see its variants.
    ///
    /// # Panics
    ///
    /// If `schema` or the name of the cluster is longer than 65,535 bytes.
    pub fn open(
        directory: impl Into<PathBuf>,
        owner: &StateOwner,
        schema: &str,
    ) -> Result<StableStorage, OpenError> {
        let directory = directory.into();
        let lock = lock_directory(&directory)?;
        let path = directory.join(STATE_FILE);
        let mut state_file = match read_state_file(&path)? {
            Some(state_file) => state_file,
            None => StateFile::new(schema),
        };
        // A file of version 1 has no owner. It belongs to the first process that uses it.
        let found = state_file.owner.replace(owner.clone()).filter(|found| found != owner);
        if let Some(found) = found {
            return Err(OpenError::WrongOwner { path, found, expected: owner.clone() });
        }
        if state_file.schema != schema {
            let expected = schema.to_owned();
            return Err(OpenError::WrongSchema { path, found: state_file.schema, expected });
        }
        if state_file.session >= SESSION_LIMIT - 1 {
            return Err(OpenError::ImpossibleSession { path, session: state_file.session });
        }
        let (change_log, changes) = ChangeLog::recover(
            &directory,
            owner,
            state_file.first_later_segment,
            state_file.earlier_record_count,
        )?;
        if state_file.state.is_none() && !changes.is_empty() {
            let reason = UnreadableReason::Missing { count: 1 };
            return Err(OpenError::Damaged { path, reason });
        }
        state_file.session += 1;
        state_file.changes.extend(changes);
        let saves = SaveMetrics::default();
        let (reserved_files, rewriting, registry) = (ReservedFiles::default(), None, None);
        let mut store = StableStorage {
            directory,
            state_file,
            change_log,
            has_failed: false,
            lock,
            reserved_files,
            saves,
            registry,
            rewriting,
            #[cfg(test)]
            is_stuck: Arc::default(),
        };
        // The whole state is written again, because the data that was just read may be only in the
        // memory of the operating system. This happens if a flush failed before the last crash.
        store.write_state().map_err(OpenError::SessionNotSaved)?;
        Ok(store)
    }

    /// Raises the session number to at least `session`. A process calls this method if it replaces
    /// a process whose directory was lost. With a lower number, its peers would regard this boot as
    /// an old boot of the replaced process.
    ///
    /// # Errors
    ///
    /// [`SaveError`], which describes the content of the disk.
    ///
    /// # Panics
    ///
    /// If `session` is 2^40 - 1 or more, which no process reaches.
    pub fn with_session_at_least(mut self, session: u64) -> Result<StableStorage, SaveError> {
        assert!(session < SESSION_LIMIT - 1, "the session is above the limit");
        if session > self.state_file.session {
            self.state_file.session = session;
            self.write_state()?;
        }
        Ok(self)
    }

    /// Adds a [`MembershipRecord`] in the same directory, so that this process remembers its peers
    /// after a restart. `has_joined` is used only if the membership record is new. It must be false
    /// if this process replaces another process and is not a member yet.
    ///
    /// # Errors
    ///
    /// [`OpenError`], if the membership record cannot be read or created.
    pub fn with_registry(mut self, has_joined: bool) -> Result<StableStorage, OpenError> {
        let size = self.state_file.owner.as_ref().map_or(0, |owner| owner.group_size);
        self.registry = Some(MembershipRecord::open(&self.directory, size, has_joined)?);
        Ok(self)
    }

    /// Returns the membership record. `None` without [`StableStorage::with_registry`].
    pub fn peer_registry(&self) -> Option<MembershipRecord> {
        self.registry.clone()
    }

    /// Returns the session number of this boot. It is higher than those of all earlier boots.
    pub fn session(&self) -> u64 {
        self.state_file.session
    }

    /// Returns the state that was last saved as a whole. `None` before the first save.
    /// [`StableStorage::recovered_changes`] returns later changes, but not those of this session.
    pub fn state(&self) -> Option<&[u8]> {
        self.state_file.state.as_deref()
    }

    /// Returns the changes that earlier sessions appended to [`StableStorage::state`], in order.
    /// The list is empty once this session has saved or rewritten the whole state.
    pub fn recovered_changes(&self) -> &[Vec<u8>] {
        &self.state_file.changes
    }

    /// Replaces the state and all changes, after a rewrite in progress. The method writes and
    /// flushes a new file, renames it, and flushes the directory. The state is then durable.
    ///
    /// # Errors
    ///
    /// [`SaveError`], which describes the content of the disk. [`StableStorage::state`] stays
    /// unchanged.
    pub fn save(&mut self, state: &[u8]) -> Result<(), SaveError> {
        self.finish_rewrite();
        let state = self.state_file.state.replace(state.to_vec());
        let changes = std::mem::take(&mut self.state_file.changes);
        let saved = self.write_state();
        if saved.is_err() {
            (self.state_file.state, self.state_file.changes) = (state, changes);
        }
        saved
    }

    /// Appends a change to the saved state. The change is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`SaveError`], which describes the content of the disk. After [`SaveError::Unknown`], all
    /// further saves fail: a later flush could succeed although an earlier flush has lost data.
    ///
    /// # Panics
    ///
    /// If no state has been saved, or if the change has 4 GiB or more.
    pub fn append(&mut self, change: &[u8]) -> Result<(), SaveError> {
        if self.rewriting.as_ref().is_some_and(JoinHandle::is_finished) {
            self.finish_rewrite();
        }
        assert!(self.state_file.state.is_some(), "a change requires a saved state");
        let state_bytes = self.state_bytes();
        let opens = !self.change_log.has_room(change);
        self.save_with(opens, |store| store.change_log.append(change, state_bytes))
    }

    /// Replaces the saved state in the background. A thread with low priority
    /// ([`lower_thread_priority`]) calls `state` and writes the result, which must include all
    /// changes that were appended before this call. Later changes apply to the new state. The
    /// thread calls `done` with success once the new state is durable, or with the error if the
    /// rewrite fails. If the process crashes before the new state is durable, the store still has
    /// the old state and all changes.
    ///
    /// # Panics
    ///
    /// If the operating system starts no thread.
    pub fn rewrite_in_background(
        &mut self,
        state: impl FnOnce() -> Vec<u8> + Send + 'static,
        done: impl FnOnce(Result<(), SaveError>) + Send + 'static,
    ) {
        self.finish_rewrite();
        let ChangeLogPosition { next_segment, record_count } = self.change_log.close_segment();
        let (owner, schema) = (self.state_file.owner.clone(), self.state_file.schema.clone());
        let session = self.state_file.session;
        let (directory, closed_segments) =
            (self.directory.clone(), self.change_log.closed_segments());
        let reserved_files = std::mem::take(&mut self.reserved_files);
        self.reserved_files.refill(&self.lock.0);
        let write = move || {
            lower_thread_priority();
            drop(reserved_files);
            let (state, changes) = (Some(state()), Vec::new());
            let (segment, records) = (next_segment, record_count);
            let state_file = StateFile {
                owner,
                schema,
                session,
                state,
                changes,
                first_later_segment: segment,
                earlier_record_count: records,
            };
            let written = replace_file(&directory, STATE_FILE, &state_file.encode());
            let is_written = written.is_ok();
            if is_written {
                closed_segments.remove();
            }
            done(written);
            is_written.then_some(state_file)
        };
        let thread = thread::Builder::new().name("tenure-rewrite".into()).spawn(write);
        self.rewriting = Some(thread.expect("the operating system starts a thread"));
    }

    fn finish_rewrite(&mut self) {
        let Some(rewriting) = self.rewriting.take() else { return };
        // A panic of that thread has already been reported.
        if let Ok(Some(state_file)) = rewriting.join() {
            self.state_file = state_file;
        }
    }

    /// Returns true if the changes are so long that the whole state should be saved instead.
    /// Returns false from the beginning of a rewrite until the first save after its end.
    pub fn is_rewrite_due(&self) -> bool {
        self.rewriting.is_none() && self.change_log.is_rewrite_due(self.state_bytes())
    }

    /// Returns the size of the saved state and of the changes that the state file contains, in
    /// bytes. The changes in the change log are not included.
    fn state_bytes(&self) -> u64 {
        let changes = self.state_file.changes.iter().map(Vec::len).sum::<usize>();
        (self.state_file.state.as_ref().map_or(0, Vec::len) + changes) as u64
    }

    /// Returns the metrics of the saves.
    pub fn save_metrics(&self) -> SaveMetrics {
        self.saves.clone()
    }

    /// Returns the directory of this store.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn write_state(&mut self) -> Result<(), SaveError> {
        let position = self.change_log.position();
        self.state_file.first_later_segment = position.next_segment;
        self.state_file.earlier_record_count = position.record_count;
        self.save_with(true, |store| {
            replace_file(&store.directory, STATE_FILE, &store.state_file.encode())
        })?;
        // The deletion also needs a descriptor. It frees that of the open segment, which is then
        // reserved again.
        self.reserved_files.release();
        self.change_log.delete_all_segments();
        self.reserved_files.refill(&self.lock.0);
        Ok(())
    }

    /// Runs `save` and returns its result. `opens` is true if `save` opens a file. If an earlier
    /// save failed and left unknown content on the disk, returns an error without running `save`.
    fn save_with(
        &mut self,
        opens: bool,
        save: impl FnOnce(&mut StableStorage) -> Result<(), SaveError>,
    ) -> Result<(), SaveError> {
        if self.has_failed {
            return Err(SaveError::EarlierFailure { path: self.directory.clone() });
        }
        if opens {
            self.reserved_files.release();
        }
        let started = Instant::now();
        #[cfg(test)]
        while self.is_stuck.load(Ordering::SeqCst) {
            thread::sleep(std::time::Duration::from_millis(1));
        }
        let saved = save(self);
        if saved.is_ok() {
            self.saves.record(started.elapsed());
        }
        self.reserved_files.refill(&self.lock.0);
        self.has_failed =
            matches!(saved, Err(SaveError::NotDurable { .. } | SaveError::Unknown { .. }));
        saved
    }
}

impl Drop for StableStorage {
    /// Waits for the rewrite in progress. Another store can open the directory after the drop.
    fn drop(&mut self) {
        self.finish_rewrite();
    }
}

/// Replaces the file `name` in a directory durably. The new file is first written under this name
/// with the suffix `.next`, and then renamed.
pub(super) fn replace_file(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), SaveError> {
    let next = directory.join(format!("{name}.next"));
    let write = || {
        let mut file = private_file::create(&next)?;
        for (index, piece) in bytes.chunks(FLUSH_BYTES).enumerate() {
            if index > 0 {
                file.sync_data()?;
            }
            file.write_all(piece)?;
        }
        file.sync_all()?;
        fs::rename(&next, directory.join(name))
    };
    if let Err(source) = write() {
        // The incomplete file would take space on a disk that may be full.
        let _ = fs::remove_file(&next);
        return Err(SaveError::from_io(next, source));
    }
    let undurable = |source| SaveError::NotDurable { path: directory.to_owned(), source };
    sync_directory(directory).map_err(undurable)
}

/// Lock of a directory. Dropping the lock releases it explicitly. Closing the file would not
/// release the lock at once if a child process is starting, because the child has a copy of the
/// descriptor.
#[derive(Debug)]
struct DirectoryLock(File);

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // If the release fails, the lock is released when the last copy of the descriptor is
        // closed.
        let _ = self.0.unlock();
    }
}

fn lock_directory(directory: &Path) -> Result<DirectoryLock, OpenError> {
    let unusable = |path: &Path, source| OpenError::Io { path: path.to_owned(), source };
    create_directory_durably(directory).map_err(|source| unusable(directory, source))?;
    let path = directory.join(LOCK_FILE);
    let open = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = open.map_err(|source| unusable(&path, source))?;
    match lock.try_lock() {
        Ok(()) => Ok(DirectoryLock(lock)),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: directory.to_owned() }),
        Err(TryLockError::Error(source)) => Err(unusable(&path, source)),
    }
}

/// Creates the directory and missing parents durably. Only the owner may access new directories.
///
/// # Errors
///
/// The error of the operating system. Some of the directories may exist then.
pub fn create_directory_durably(directory: &Path) -> io::Result<()> {
    let above = |path: &Path| match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_path_buf(),
        None => path.to_path_buf(),
    };
    let missing = directory.ancestors().take_while(|path| !path.exists());
    let missing: Vec<&Path> = missing.filter(|path| !path.as_os_str().is_empty()).collect();
    private_file::create_directory(directory)?;
    missing.into_iter().try_for_each(|path| sync_directory(&above(path)))
}

/// Reads and decodes the state file. Returns `None` if the file does not exist, as before the first
/// boot.
fn read_state_file(path: &Path) -> Result<Option<StateFile>, OpenError> {
    let path = path.to_owned();
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(OpenError::Io { path, source }),
    };
    let decoded =
        StateFile::decode(&bytes).map_err(|reason| OpenError::from_unreadable(path, reason))?;
    Ok(Some(decoded))
}

/// Flushes a directory, so that a rename in it survives a power failure.
///
/// # Errors
///
/// The error of the operating system. The rename may or may not survive then.
#[cfg(unix)]
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Does nothing, because only Unix systems can flush directories.
///
/// # Errors
///
/// Never.
#[cfg(not(unix))]
pub fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::os::fd::OwnedFd;

    use tenure_core::ProcessId;

    use super::*;

    /// Replaces the open segment by a pipe, which accepts data but cannot be flushed. Checks that
    /// the next save fails, and that all later saves are rejected.
    #[test]
    fn rejects_saves_after_failed_flush() {
        let directory = tempfile::tempdir().expect("a directory");
        let owner = StateOwner { cluster: "demo".into(), process: ProcessId(0), group_size: 1 };
        let mut store = StableStorage::open(directory.path(), &owner, "token 1").expect("a store");
        store.save(b"whole").expect("room");
        store.append(b"one").expect("room");
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        store.change_log.replace_open_file(File::from(OwnedFd::from(writer)));
        let error = store.append(b"two").expect_err("the flush fails");
        assert!(matches!(error, SaveError::Unknown { .. }), "{error}");
        let mut written = [0; 64];
        assert!(reader.read(&mut written).expect("a pipe") > 0, "the change was written");
        // Every later attempt fails.
        for _ in 0..2 {
            let error = store.append(b"two").expect_err("the content is unknown");
            assert!(matches!(error, SaveError::EarlierFailure { .. }), "{error}");
            let error = store.save(b"whole").expect_err("the content is unknown");
            assert!(matches!(error, SaveError::EarlierFailure { .. }), "{error}");
        }
        drop(store);
        let store = StableStorage::open(directory.path(), &owner, "token 1").expect("a store");
        assert_eq!(store.recovered_changes(), [b"one".to_vec()]);
    }
}
