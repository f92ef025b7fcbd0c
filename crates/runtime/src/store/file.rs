//! The directory of one process: a lock, a state file, and nothing half written.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::image::{Damage, Image};

/// The file that holds the state.
const STATE: &str = "state";

/// The file that the next state is written to before it takes the place of the old.
const NEXT: &str = "state.next";

/// The file whose lock says that a node owns the directory. It stays empty.
const LOCK: &str = "lock";

/// The stable state of one process, in a directory that belongs to this value alone.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    image: Image,
    /// Open for as long as the directory is owned: the system releases it even after a crash.
    lock: File,
    /// A descriptor that is given back for the moment of writing: whoever uses up all others must
    /// not keep a state from being saved.
    reserve: Option<File>,
}

/// Why a store was not opened. Nothing in the directory was changed, unless the error is
/// [`OpenError::Session`], which leaves the state as it was.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Another node uses the directory.
    #[error("{path} is in use by another node")]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The state file cannot be believed. It was left alone: a process that forgets what it
    /// promised must not take part, so it is for a person to decide.
    #[error(
        "the saved state {path} cannot be used: {damage}; restore it, or remove it if this \
         process may forget everything it ever promised"
    )]
    Damaged {
        /// The state file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// A newer build wrote the state file.
    #[error("the saved state {path} is too new: {damage}; run the build that wrote it")]
    NewerVersion {
        /// The state file.
        path: PathBuf,
        /// Which version it is.
        damage: Damage,
    },
    /// The state file belongs to something else.
    #[error("the saved state {path} is of {found:?}, not of {expected:?}")]
    WrongSchema {
        /// The state file.
        path: PathBuf,
        /// What it is a state of.
        found: String,
        /// What was asked for.
        expected: String,
    },
    /// The directory or a file in it cannot be used.
    #[error("cannot open {path}: {source}")]
    Unusable {
        /// The directory or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The number of this session could not be made durable.
    #[error("cannot begin a new session: {0}")]
    Session(#[source] SaveError),
}

/// Why a state was not saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The disk is full. The state saved before is intact.
    #[error("the disk is full: cannot write {path}; the state saved before is intact")]
    Full {
        /// The file that could not be written.
        path: PathBuf,
    },
    /// The state could not be written. The state saved before is intact.
    #[error("cannot write {path}: {source}; the state saved before is intact")]
    Unwritten {
        /// The file that could not be written.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The state took its place, but whether that survives a loss of power is unknown.
    #[error("cannot make {path} durable: {source}; the state before or the new one is there")]
    Undurable {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Store {
    /// Takes possession of `directory`, made if it is absent, reads what was saved there and
    /// durably begins a new session.
    ///
    /// `schema` names what the state is a state of (the algorithm and the version of its stable
    /// form), so that no process boots with the memory of another.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    ///
    /// # Panics
    ///
    /// When `schema` is longer than 65 535 bytes.
    pub fn open(directory: impl Into<PathBuf>, schema: &str) -> Result<Store, OpenError> {
        let directory = directory.into();
        let lock = take_possession(&directory)?;
        let path = directory.join(STATE);
        let mut image = match read(&path)? {
            Some(image) => image,
            None => Image { schema: schema.to_owned(), session: 0, state: None },
        };
        if image.schema != schema {
            let expected = schema.to_owned();
            return Err(OpenError::WrongSchema { path, found: image.schema, expected });
        }
        image.session += 1;
        let mut store = Store { directory, image, lock, reserve: None };
        store.write().map_err(OpenError::Session)?;
        Ok(store)
    }

    /// The number of this boot of the process: greater than that of every earlier one.
    pub fn session(&self) -> u64 {
        self.image.session
    }

    /// What was saved last; nothing if nothing ever was.
    pub fn state(&self) -> Option<&[u8]> {
        self.image.state.as_deref()
    }

    /// Replaces the state. It is durable when this returns: written to a file of its own, flushed
    /// to the disk, renamed into place, and the directory flushed.
    ///
    /// # Errors
    ///
    /// [`SaveError`] says what is on the disk; [`Store::state`] stays as it was.
    pub fn save(&mut self, state: &[u8]) -> Result<(), SaveError> {
        let before = self.image.state.replace(state.to_vec());
        let saved = self.write();
        if saved.is_err() {
            self.image.state = before;
        }
        saved
    }

    /// The directory this store owns.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn write(&mut self) -> Result<(), SaveError> {
        self.reserve = None;
        let written = self.replace();
        self.reserve = self.lock.try_clone().ok();
        written
    }

    fn replace(&self) -> Result<(), SaveError> {
        let next = self.directory.join(NEXT);
        let state = self.directory.join(STATE);
        let write = || {
            let mut file = File::create(&next)?;
            file.write_all(&self.image.encode())?;
            file.sync_all()?;
            fs::rename(&next, &state)
        };
        if let Err(source) = write() {
            // A rest that stays is overwritten by the next attempt; the full disk needs the room.
            let _ = fs::remove_file(&next);
            return Err(match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => SaveError::Full { path: next },
                _ => SaveError::Unwritten { path: next, source },
            });
        }
        let undurable = |source| SaveError::Undurable { path: self.directory.clone(), source };
        sync_directory(&self.directory).map_err(undurable)
    }
}

/// Makes the directory if need be and locks it against every other node.
fn take_possession(directory: &Path) -> Result<File, OpenError> {
    let unusable = |path: &Path, source| OpenError::Unusable { path: path.to_owned(), source };
    fs::create_dir_all(directory).map_err(|source| unusable(directory, source))?;
    let path = directory.join(LOCK);
    let open = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = open.map_err(|source| unusable(&path, source))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: directory.to_owned() }),
        Err(TryLockError::Error(source)) => Err(unusable(&path, source)),
    }
}

/// The image in the state file; nothing if there is no file, which is the first boot.
fn read(path: &Path) -> Result<Option<Image>, OpenError> {
    let path = path.to_owned();
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(OpenError::Unusable { path, source }),
    };
    match Image::decode(&bytes) {
        Ok(image) => Ok(Some(image)),
        Err(damage @ Damage::NewerVersion { .. }) => Err(OpenError::NewerVersion { path, damage }),
        Err(damage) => Err(OpenError::Damaged { path, damage }),
    }
}

/// Makes a rename in the directory survive a loss of power.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Elsewhere a directory cannot be opened as a file; the rename is as durable as it gets.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
