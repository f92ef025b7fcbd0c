//! What a process remembers of the membership of its group, in a file of its own: the newest boot
//! of each peer, and whether it takes part itself.
//!
//! Peers refuse a process whose saved state was lost or is an old copy, since it comes with an
//! earlier session than they have seen. They can do so after a restart only if the sessions are
//! durable. A session is durable before the first message of that boot is taken.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tenure_core::{ProcessId, ProcessSet};

use super::file::{OpenError, SaveError, sync_directory};
use super::image::Damage;
use super::private;
use crate::transport::frame::Boot;

/// The file.
const PEERS: &str = "peers";

/// The file that replaces it when it is written.
const NEXT: &str = "peers.next";

/// The bytes that open the file, whatever its version.
const MAGIC: [u8; 8] = *b"TENPEERS";

/// The version of the file that this build reads and writes.
const VERSION: u16 = 1;

/// Bytes of the checksum at the end.
const CHECKSUM_BYTES: usize = 32;

/// What a process remembers of the membership of its group. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    saved: Mutex<Saved>,
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saved {
    has_joined: bool,
    eviction: Option<String>,
    /// The index of the newest entry of the log that changed the membership below.
    members_as_of: u64,
    peers: Vec<Known>,
}

/// One process of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    is_member: bool,
    /// Its newest boot; session 0 if none was seen since it became a member.
    newest: Boot,
}

impl Registry {
    /// Reads the file in a directory, or makes it. `has_joined` and `size`, the number of processes
    /// in the group, describe a process that has none yet; all of the group are members then.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; a file that cannot be used is left as it is.
    pub(crate) fn open(
        directory: &Path,
        size: u32,
        has_joined: bool,
    ) -> Result<Registry, OpenError> {
        let path = directory.join(PEERS);
        let saved = match fs::read(&path) {
            Ok(bytes) => read(&bytes).map_err(|damage| match damage {
                Damage::NewerVersion { .. } => OpenError::NewerVersion { path, damage },
                _ => OpenError::Damaged { path, damage },
            })?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let peers = vec![Known { is_member: true, newest: Boot::default() }; size as usize];
                let saved = Saved { has_joined, eviction: None, members_as_of: 0, peers };
                write(directory, &saved).map_err(OpenError::Unbegun)?;
                saved
            }
            Err(source) => return Err(OpenError::Unusable { path, source }),
        };
        let (directory, saved) = (directory.to_owned(), Mutex::new(saved));
        Ok(Registry(Arc::new(Inner { directory, saved })))
    }

    /// Returns true once this process has been a member. One that takes the place of another has
    /// not, until the log says that it is one.
    pub fn has_joined(&self) -> bool {
        self.saved().has_joined
    }

    /// Notes that this process is a member.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; nothing is noted then.
    pub fn join(&self) -> Result<(), SaveError> {
        self.change(|saved| saved.has_joined = true)
    }

    /// Why this process must not take part any more, if that was noted.
    pub fn eviction(&self) -> Option<String> {
        self.saved().eviction.clone()
    }

    /// Notes for good that this process must not take part any more.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; nothing is noted then.
    pub fn evict(&self, reason: &str) -> Result<(), SaveError> {
        self.change(|saved| saved.eviction = Some(reason.to_owned()))
    }

    /// Notes who is a member since an entry of the log. A log is read again after a restart: what
    /// is older than what was noted changes nothing. Returns the processes that are members no
    /// longer, whose boots are forgotten: a process that takes such a place is another one.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; nothing is noted then.
    pub(crate) fn set_members(
        &self,
        index: u64,
        members: &ProcessSet,
    ) -> Result<Vec<ProcessId>, SaveError> {
        let mut left = Vec::new();
        if index <= self.saved().members_as_of {
            return Ok(left);
        }
        self.change(|saved| {
            saved.members_as_of = index;
            for (place, known) in saved.peers.iter_mut().enumerate() {
                let process = ProcessId::at(place);
                let is_member = members.contains(process);
                if known.is_member && !is_member {
                    known.newest = Boot::default();
                    left.push(process);
                }
                known.is_member = is_member;
            }
        })?;
        Ok(left)
    }

    /// Returns true if a process is a member, as far as was noted.
    pub(crate) fn is_member(&self, process: ProcessId) -> bool {
        self.saved().peers.get(process.index()).is_none_or(|known| known.is_member)
    }

    /// Returns the newest boot of a process that was noted; session 0 if there is none.
    pub(crate) fn newest(&self, process: ProcessId) -> Boot {
        self.saved().peers.get(process.index()).map_or_else(Boot::default, |known| known.newest)
    }

    /// Notes the newest boot of a process.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; nothing is noted then.
    pub(crate) fn note(&self, process: ProcessId, newest: Boot) -> Result<(), SaveError> {
        if self.newest(process) == newest {
            return Ok(());
        }
        self.change(|saved| {
            if let Some(known) = saved.peers.get_mut(process.index()) {
                known.newest = newest;
            }
        })
    }

    fn saved(&self) -> MutexGuard<'_, Saved> {
        self.0.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change durable.
    fn change(&self, change: impl FnOnce(&mut Saved)) -> Result<(), SaveError> {
        let mut saved = self.saved();
        let mut next = saved.clone();
        change(&mut next);
        if next != *saved {
            write(&self.0.directory, &next)?;
            *saved = next;
        }
        Ok(())
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Saved, Damage> {
    let head = MAGIC.len() + size_of::<u16>();
    let torn = || Damage::Torn { length: bytes.len() };
    if !bytes.starts_with(&MAGIC) {
        return Err(if MAGIC.starts_with(bytes) { torn() } else { Damage::Foreign });
    }
    let version = bytes.get(MAGIC.len()..head).ok_or_else(torn)?;
    let found = u16::from_le_bytes([version[0], version[1]]);
    if found > VERSION {
        return Err(Damage::NewerVersion { found });
    }
    let end = bytes.len().checked_sub(CHECKSUM_BYTES).filter(|end| *end >= head);
    let (covered, checksum) = bytes.split_at(end.ok_or_else(torn)?);
    if Sha256::digest(covered)[..] != *checksum {
        return Err(Damage::Checksum);
    }
    match postcard::take_from_bytes(&covered[head..]) {
        Ok((saved, [])) => Ok(saved),
        _ => Err(Damage::Inconsistent),
    }
}

fn write(directory: &Path, saved: &Saved) -> Result<(), SaveError> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    let mut bytes = postcard::to_extend(saved, bytes).expect("a registry can always be encoded");
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    let next = directory.join(NEXT);
    let write = || {
        let mut file = private::create(&next)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&next, directory.join(PEERS))
    };
    write().map_err(|source| SaveError::of_file(next.clone(), source))?;
    let undurable = |source| SaveError::Undurable { path: directory.to_owned(), source };
    sync_directory(directory).map_err(undurable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: ProcessId = ProcessId(2);

    fn boot(session: u64) -> Boot {
        Boot { session, nonce: 7 }
    }

    #[test]
    fn what_was_noted_is_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Registry::open(folder.path(), 3, false).expect("a registry");
        assert!(!registry.has_joined() && registry.is_member(PEER));
        registry.note(PEER, boot(5)).expect("room");
        registry.join().expect("room");
        registry.evict("removed").expect("room");
        let again = Registry::open(folder.path(), 3, false).expect("a registry");
        assert_eq!((again.newest(PEER), again.has_joined()), (boot(5), true));
        assert_eq!(again.eviction().as_deref(), Some("removed"));
    }

    #[test]
    fn the_boots_of_a_removed_member_are_forgotten_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Registry::open(folder.path(), 3, true).expect("a registry");
        registry.note(PEER, boot(5)).expect("room");
        let (two, three) = (ProcessSet::first(2), ProcessSet::first(3));
        assert_eq!(registry.set_members(9, &two).expect("room"), [PEER]);
        assert_eq!((registry.newest(PEER), registry.is_member(PEER)), (Boot::default(), false));
        registry.note(PEER, boot(3)).expect("room");
        assert_eq!(registry.set_members(12, &three).expect("room"), []);
        // The log is read again.
        for (index, members) in [(9, &two), (12, &three)] {
            assert_eq!(registry.set_members(index, members).expect("room"), []);
        }
        assert_eq!((registry.newest(PEER), registry.is_member(PEER)), (boot(3), true));
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        Registry::open(folder.path(), 3, true).expect("a registry");
        let path = folder.path().join(PEERS);
        let bytes = fs::read(&path).expect("a file");
        for place in 0..bytes.len() {
            let mut hurt = bytes.clone();
            hurt[place] ^= 1;
            fs::write(&path, &hurt).expect("room");
            assert!(Registry::open(folder.path(), 3, true).is_err(), "byte {place}");
            fs::write(&path, &bytes[..place]).expect("room");
            assert!(Registry::open(folder.path(), 3, true).is_err(), "cut at {place}");
        }
    }
}
