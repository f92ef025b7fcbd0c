//! The directory of one process: a lock, a state file, and nothing half written.

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

use super::image::{Damage, Image, Owner};
use super::private;
use super::registry::Registry;
use super::saves::Saves;
use super::tail::Tail;
use crate::priority::set_back;
use crate::transport::SESSIONS;

/// The file that holds the state.
const STATE: &str = "state";

/// The file that the next state is written to before it takes the place of the old.
const NEXT: &str = "state.next";

/// The file whose lock says that a node owns the directory. It stays empty.
const LOCK: &str = "lock";

/// How much of a state is written before it is flushed: a disk does one thing after another, so a
/// change of this process, or of another on the same disk, waits behind so much and no more.
const PIECE: usize = 256 << 10;

/// The stable state of one process, in a directory that belongs to this value alone.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    image: Image,
    /// What comes after it.
    tail: Tail,
    /// Whether it is unknown what is on the disk: nothing is saved any more then.
    lost: bool,
    /// Open for as long as the directory is owned: the system releases it even after a crash.
    lock: Possession,
    /// A descriptor that is given back for the moment of writing: whoever uses up all others must
    /// not keep a state from being saved.
    reserve: Option<File>,
    saves: Saves,
    registry: Option<Registry>,
    /// Who writes all there is, beside the changes.
    rewriting: Option<JoinHandle<Option<Image>>>,
    /// Whether the disk does nothing for now, as a test wants it.
    #[cfg(test)]
    pub(crate) is_stuck: Arc<AtomicBool>,
}

/// Why a store was not opened. Nothing in the directory was changed, unless the error is
/// [`OpenError::Unbegun`], which leaves the state as it was.
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
        "the saved state {path} cannot be used: {damage}; restore its folder, or empty that if \
         this process may forget everything it ever promised"
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
    /// The state file is of another process, or of this one in another group.
    #[error(
        "the saved state {path} is that of {found}, and this node is {expected}; give each node a \
         directory of its own (a group keeps its name and its size for life)"
    )]
    WrongOwner {
        /// The state file.
        path: PathBuf,
        /// Whose state it is.
        found: Owner,
        /// Who asked for it.
        expected: Owner,
    },
    /// The saved session is not one that a process can have come to.
    #[error(
        "the saved state {path} cannot be true: it is of session {session}, and nobody boots that \
         often; docs/wire.md has the way out, under \"A state that cannot be true\""
    )]
    Session {
        /// The state file.
        path: PathBuf,
        /// The session in it.
        session: u64,
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
    Unbegun(#[source] SaveError),
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
    /// A change may be on the disk or not, or in part.
    #[error("cannot save to {path}: {source}; the last change may be there or not")]
    Unknown {
        /// The segment.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// An earlier save failed so that nobody knows what is on the disk: what a failed flush was to
    /// make durable is lost, and the next one would not say so.
    #[error("nothing is saved in {path} after a save that failed; open it again")]
    Lost {
        /// The directory.
        path: PathBuf,
    },
}

impl Store {
    /// Takes possession of `directory`, made if it is absent, reads what was saved there and
    /// durably begins a new session.
    ///
    /// `schema` names what the state is a state of (the algorithm and the version of its stable
    /// form), so that no process boots with the memory of another; `owner` whose it is.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    ///
    /// # Panics
    ///
    /// When `schema` or the name of the cluster is longer than 65 535 bytes.
    pub fn open(
        directory: impl Into<PathBuf>,
        owner: &Owner,
        schema: &str,
    ) -> Result<Store, OpenError> {
        let directory = directory.into();
        let lock = take_possession(&directory)?;
        let path = directory.join(STATE);
        let mut image = match read(&path)? {
            Some(image) => image,
            None => Image::new(schema),
        };
        // A file that does not say whose it is becomes whose it is used by.
        let found = image.owner.replace(owner.clone()).filter(|found| found != owner);
        if let Some(found) = found {
            return Err(OpenError::WrongOwner { path, found, expected: owner.clone() });
        }
        if image.schema != schema {
            let expected = schema.to_owned();
            return Err(OpenError::WrongSchema { path, found: image.schema, expected });
        }
        if image.session >= SESSIONS - 1 {
            return Err(OpenError::Session { path, session: image.session });
        }
        let (tail, changes) = Tail::find(&directory, owner, image.segment, image.records)?;
        if image.state.is_none() && !changes.is_empty() {
            return Err(OpenError::Damaged { path, damage: Damage::Missing { count: 1 } });
        }
        image.session += 1;
        image.changes.extend(changes);
        let saves = Saves::default();
        let (reserve, rewriting, registry) = (None, None, None);
        let mut store = Store {
            directory,
            image,
            tail,
            lost: false,
            lock,
            reserve,
            saves,
            registry,
            rewriting,
            #[cfg(test)]
            is_stuck: Arc::default(),
        };
        // All that was found is written once more: what a flush failed to make durable before a
        // crash of the process alone may have been found in memory.
        store.write().map_err(OpenError::Unbegun)?;
        Ok(store)
    }

    /// The same in a later session than it would be: for who takes the place of a process whose
    /// directory is lost, and must not be taken for an earlier boot of that. An earlier session
    /// than this one changes nothing.
    ///
    /// # Errors
    ///
    /// [`SaveError`] says what is on the disk.
    ///
    /// # Panics
    ///
    /// When no process can come to that session.
    pub fn in_session(mut self, session: u64) -> Result<Store, SaveError> {
        assert!(session < SESSIONS - 1, "nobody boots that often");
        if session > self.image.session {
            self.image.session = session;
            self.write()?;
        }
        Ok(self)
    }

    /// The same with a [`Registry`] in the directory, so that this process remembers its peers
    /// beyond a restart. `has_joined` describes a process that has no registry yet: false if it
    /// takes the place of another and is no member so far.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the registry cannot be read or made.
    pub fn with_registry(mut self, has_joined: bool) -> Result<Store, OpenError> {
        let size = self.image.owner.as_ref().map_or(0, |owner| owner.group_size);
        self.registry = Some(Registry::open(&self.directory, size, has_joined)?);
        Ok(self)
    }

    /// The registry, if there is one.
    pub fn registry(&self) -> Option<Registry> {
        self.registry.clone()
    }

    /// The number of this boot of the process: greater than that of every earlier one.
    pub fn session(&self) -> u64 {
        self.image.session
    }

    /// What was saved last as a whole; nothing if nothing ever was.
    pub fn state(&self) -> Option<&[u8]> {
        self.image.state.as_deref()
    }

    /// What was added to it before this session, in order.
    pub fn changes(&self) -> &[Vec<u8>] {
        &self.image.changes
    }

    /// Replaces the state. It is durable when this returns: written to a file of its own, flushed
    /// to the disk, renamed into place, and the directory flushed.
    ///
    /// # Errors
    ///
    /// [`SaveError`] says what is on the disk; [`Store::state`] stays as it was.
    pub fn save(&mut self, state: &[u8]) -> Result<(), SaveError> {
        self.wait();
        let state = self.image.state.replace(state.to_vec());
        let changes = std::mem::take(&mut self.image.changes);
        let saved = self.write();
        if saved.is_err() {
            (self.image.state, self.image.changes) = (state, changes);
        }
        saved
    }

    /// Adds a change to what was saved. It is durable when this returns: written behind the others
    /// and flushed to the disk.
    ///
    /// # Errors
    ///
    /// [`SaveError`] says what is on the disk. After [`SaveError::Unknown`] nothing is saved any
    /// more: a flush that failed says nothing of what it left out when it is asked again.
    ///
    /// # Panics
    ///
    /// When nothing was saved that could be changed, or a change has 4 GiB or more.
    pub fn append(&mut self, change: &[u8]) -> Result<(), SaveError> {
        if self.rewriting.as_ref().is_some_and(JoinHandle::is_finished) {
            self.wait();
        }
        assert!(self.image.state.is_some(), "only what was saved can be changed");
        let whole = self.length();
        let opens = !self.tail.has_room(change);
        self.saving(opens, |store| store.tail.append(change, whole))
    }

    /// Begins to replace the state by one that says the same as it and all that was added so far,
    /// in a thread of its own, which leaves the processor to others
    /// ([`set_back`](crate::set_back)), and asks `state` for it: what is added from now on comes
    /// behind it. `done` is told when it is durable, or why it cannot be; a crash before finds what
    /// was there and all that was added.
    ///
    /// # Panics
    ///
    /// When the system starts no thread.
    pub fn rewrite(
        &mut self,
        state: impl FnOnce() -> Vec<u8> + Send + 'static,
        done: impl FnOnce(Result<(), SaveError>) + Send + 'static,
    ) {
        self.wait();
        let (segment, records) = self.tail.turn_over();
        let (owner, schema) = (self.image.owner.clone(), self.image.schema.clone());
        let session = self.image.session;
        let (directory, older) = (self.directory.clone(), self.tail.older());
        let reserve = std::mem::replace(&mut self.reserve, self.lock.0.try_clone().ok());
        let write = move || {
            set_back();
            drop(reserve);
            let (state, changes) = (Some(state()), Vec::new());
            let image = Image { owner, schema, session, state, changes, segment, records };
            let written = replace(&directory, &image);
            let is_written = written.is_ok();
            if is_written {
                older.remove();
            }
            done(written);
            is_written.then_some(image)
        };
        let thread = thread::Builder::new().name("tenure-rewrite".into()).spawn(write);
        self.rewriting = Some(thread.expect("the system starts a thread"));
    }

    /// Waits until nothing is being rewritten.
    fn wait(&mut self) {
        let Some(rewriting) = self.rewriting.take() else { return };
        // Whoever panics while it writes a state has said why.
        if let Ok(Some(image)) = rewriting.join() {
            self.image = image;
        }
    }

    /// Whether so much was added that the whole should be saved instead.
    pub fn is_long(&self) -> bool {
        self.rewriting.is_none() && self.tail.is_long(self.length())
    }

    /// How many bytes there are in the state file.
    fn length(&self) -> u64 {
        let changes = self.image.changes.iter().map(Vec::len).sum::<usize>();
        (self.image.state.as_ref().map_or(0, Vec::len) + changes) as u64
    }

    /// What can be read of its saving from anywhere.
    pub fn saves(&self) -> Saves {
        self.saves.clone()
    }

    /// The directory this store owns.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn write(&mut self) -> Result<(), SaveError> {
        (self.image.segment, self.image.records) = (self.tail.next(), self.tail.records());
        self.saving(true, |store| replace(&store.directory, &store.image))?;
        self.tail.begin_anew();
        Ok(())
    }

    /// Saves in some way, which opens a file or not, unless one has failed for good.
    fn saving(
        &mut self,
        opens: bool,
        save: impl FnOnce(&mut Store) -> Result<(), SaveError>,
    ) -> Result<(), SaveError> {
        if self.lost {
            return Err(SaveError::Lost { path: self.directory.clone() });
        }
        if opens {
            self.reserve = None;
        }
        let begun = Instant::now();
        #[cfg(test)]
        while self.is_stuck.load(Ordering::SeqCst) {
            thread::sleep(std::time::Duration::from_millis(1));
        }
        let saved = save(self);
        if saved.is_ok() {
            self.saves.note(begun.elapsed());
        }
        if self.reserve.is_none() {
            self.reserve = self.lock.0.try_clone().ok();
        }
        self.lost = matches!(saved, Err(SaveError::Undurable { .. } | SaveError::Unknown { .. }));
        saved
    }
}

impl Drop for Store {
    /// The directory is free when nobody writes there any more.
    fn drop(&mut self) {
        self.wait();
    }
}

/// Writes a state file, in place of the one that is there.
fn replace(directory: &Path, image: &Image) -> Result<(), SaveError> {
    let next = directory.join(NEXT);
    let write = || {
        let mut file = private::create(&next)?;
        for (place, piece) in image.encode().chunks(PIECE).enumerate() {
            if place > 0 {
                file.sync_data()?;
            }
            file.write_all(piece)?;
        }
        file.sync_all()?;
        fs::rename(&next, directory.join(STATE))
    };
    if let Err(source) = write() {
        // A rest that stays is overwritten by the next attempt; the full disk needs the room.
        let _ = fs::remove_file(&next);
        return Err(SaveError::of_file(next, source));
    }
    let undurable = |source| SaveError::Undurable { path: directory.to_owned(), source };
    sync_directory(directory).map_err(undurable)
}

/// The lock of a directory, for as long as this lives: whoever is being started in this moment has
/// a copy of all that is open, and closing ours would leave the lock with it until it runs.
#[derive(Debug)]
struct Possession(File);

impl Drop for Possession {
    fn drop(&mut self) {
        // Who cannot give it up closes it, with the same effect a moment later.
        let _ = self.0.unlock();
    }
}

/// Makes the directory if need be and locks it against every other node.
fn take_possession(directory: &Path) -> Result<Possession, OpenError> {
    let unusable = |path: &Path, source| OpenError::Unusable { path: path.to_owned(), source };
    make(directory).map_err(|source| unusable(directory, source))?;
    let path = directory.join(LOCK);
    let open = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = open.map_err(|source| unusable(&path, source))?;
    match lock.try_lock() {
        Ok(()) => Ok(Possession(lock)),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: directory.to_owned() }),
        Err(TryLockError::Error(source)) => Err(unusable(&path, source)),
    }
}

/// Makes the directory and those above it that are missing, so that a loss of power does not take
/// what is saved in it away.
fn make(directory: &Path) -> io::Result<()> {
    let above = |path: &Path| match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_path_buf(),
        None => path.to_path_buf(),
    };
    let missing = directory.ancestors().take_while(|path| !path.exists());
    let missing: Vec<&Path> = missing.filter(|path| !path.as_os_str().is_empty()).collect();
    private::create_directory(directory)?;
    missing.into_iter().try_for_each(|path| sync_directory(&above(path)))
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
///
/// # Errors
///
/// What the system says; the rename may or may not survive then.
#[cfg(unix)]
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Elsewhere a directory cannot be opened as a file; the rename is as durable as it gets.
///
/// # Errors
///
/// None.
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

    /// A pipe takes what is written, and cannot be flushed to any disk.
    #[test]
    fn after_a_flush_that_failed_nothing_is_taken_for_saved() {
        let directory = tempfile::tempdir().expect("a directory");
        let owner = Owner { cluster: "demo".into(), process: ProcessId(0), group_size: 1 };
        let mut store = Store::open(directory.path(), &owner, "token 1").expect("a store");
        store.save(b"whole").expect("room");
        store.append(b"one").expect("room");
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        store.tail.write_to(File::from(OwnedFd::from(writer)));
        let error = store.append(b"two").expect_err("no flush");
        assert!(matches!(error, SaveError::Unknown { .. }), "{error}");
        let mut written = [0; 64];
        assert!(reader.read(&mut written).expect("a pipe") > 0, "it was written");
        // However often it is tried, and in whatever way.
        for _ in 0..2 {
            let error = store.append(b"two").expect_err("it is unknown what is there");
            assert!(matches!(error, SaveError::Lost { .. }), "{error}");
            let error = store.save(b"whole").expect_err("it is unknown what is there");
            assert!(matches!(error, SaveError::Lost { .. }), "{error}");
        }
        drop(store);
        let store = Store::open(directory.path(), &owner, "token 1").expect("a store");
        assert_eq!(store.changes(), [b"one".to_vec()]);
    }
}
