//! Durable knowledge of a process about the members of its group: the newest boot (start) of each
//! peer, and whether the process itself is a member.
//!
//! A process that lost its saved state or restored an old copy has a lower session than before. Its
//! peers therefore reject it. The peers can reject it even after their own restart, because each of
//! them saves the sessions of its peers. A process saves a new session of a peer before it accepts
//! the first message of this session.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tenure_core::{ProcessId, ProcessSet};

use super::directory::{SaveError, replace_file};
use super::open_error::OpenError;
use super::state_file_format::UnreadableReason;
use crate::transport::frame::BootId;

const REGISTRY_FILE: &str = "peers";

const MAGIC: [u8; 8] = *b"TENPEERS";

const VERSION: u16 = 1;

const CHECKSUM_BYTES: usize = 32;

/// Durable record of the members of a group, and of their newest boots. Cheap to clone; all clones
/// share one state. After a [`SaveError`], the membership record continues with its earlier
/// content, although the new content may be on disk after [`SaveError::NotDurable`].
#[derive(Clone, Debug)]
pub struct MembershipRecord(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    /// Content of the file. This mutex is never held during a write.
    saved: Mutex<RegistryContent>,
    /// Mutex that is held during a write, so that changes are written in order.
    writing: Mutex<()>,
}

/// Content of the file of a [`MembershipRecord`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RegistryContent {
    has_joined: bool,
    eviction: Option<String>,
    /// Index of the last log entry whose members are recorded in `peers`; 0 before the first such
    /// entry.
    members_as_of: u64,
    peers: Vec<PeerRecord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PeerRecord {
    is_member: bool,
    /// Newest known boot of the process since it became a member. If no boot is known, a
    /// placeholder with session 0.
    newest: BootId,
}

impl MembershipRecord {
    /// Opens the membership record in a directory, or creates it. A new membership record contains
    /// `has_joined`, and lists all `size` processes of the group as members. An existing membership
    /// record ignores `size` and `has_joined`.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; an unusable file is left as it is.
    pub(crate) fn open(
        directory: &Path,
        size: u32,
        has_joined: bool,
    ) -> Result<MembershipRecord, OpenError> {
        let path = directory.join(REGISTRY_FILE);
        let saved = match fs::read(&path) {
            Ok(bytes) => {
                decode(&bytes).map_err(|reason| OpenError::from_unreadable(path, reason))?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let peers =
                    vec![PeerRecord { is_member: true, newest: BootId::default() }; size as usize];
                let saved = RegistryContent { has_joined, eviction: None, members_as_of: 0, peers };
                write(directory, &saved).map_err(OpenError::SessionNotSaved)?;
                saved
            }
            Err(source) => return Err(OpenError::Io { path, source }),
        };
        let (directory, saved) = (directory.to_owned(), Mutex::new(saved));
        Ok(MembershipRecord(Arc::new(Inner { directory, saved, writing: Mutex::new(()) })))
    }

    /// Returns true once this process is or has been a member. A process that replaces another
    /// process becomes a member by an entry of the replicated log.
    pub fn has_joined(&self) -> bool {
        self.saved().has_joined
    }

    /// Records that this process is a member. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. The membership record then continues with its earlier content.
    pub fn mark_joined(&self) -> Result<(), SaveError> {
        self.change(|saved| saved.has_joined = true)
    }

    /// Returns the reason why this process was evicted. `None` if it was not evicted.
    pub fn eviction_reason(&self) -> Option<String> {
        self.saved().eviction.clone()
    }

    /// Records permanently that this process was evicted and must not participate any more. Blocks
    /// on the disk.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. The membership record then continues with its earlier content.
    pub fn record_eviction(&self, reason: &str) -> Result<(), SaveError> {
        self.change(|saved| saved.eviction = Some(reason.to_owned()))
    }

    /// Records which processes are members after the log entry with the index `log_index`. Does
    /// nothing if this entry or a later entry was recorded before, which happens when a restarted
    /// process reads its log. Returns the processes that are no longer members. Forgets the boots
    /// of these processes, because other processes may take their places.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. The membership record then continues with its earlier content.
    pub(crate) fn record_members(
        &self,
        log_index: u64,
        members: &ProcessSet,
    ) -> Result<Vec<ProcessId>, SaveError> {
        let mut left = Vec::new();
        self.change(|saved| {
            if log_index <= saved.members_as_of {
                return;
            }
            saved.members_as_of = log_index;
            for (index, record) in saved.peers.iter_mut().enumerate() {
                let process = ProcessId::from_index(index);
                let is_member = members.contains(process);
                if record.is_member && !is_member {
                    record.newest = BootId::default();
                    left.push(process);
                }
                record.is_member = is_member;
            }
        })?;
        Ok(left)
    }

    /// Returns true if the process is a member, or if the membership record does not contain the
    /// process.
    pub(crate) fn is_member(&self, process: ProcessId) -> bool {
        self.saved().peers.get(process.index()).is_none_or(|record| record.is_member)
    }

    /// Returns the newest recorded boot of a process. If no boot was recorded, returns a
    /// placeholder with session 0.
    pub(crate) fn newest_boot(&self, process: ProcessId) -> BootId {
        self.saved().peers.get(process.index()).map_or_else(BootId::default, |record| record.newest)
    }

    /// Records the newest boot of a process. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. The membership record then continues with its earlier content.
    pub(crate) fn record_boot(&self, process: ProcessId, newest: BootId) -> Result<(), SaveError> {
        if self.newest_boot(process) == newest {
            return Ok(());
        }
        self.change(|saved| {
            if let Some(record) = saved.peers.get_mut(process.index()) {
                record.newest = newest;
            }
        })
    }

    fn saved(&self) -> MutexGuard<'_, RegistryContent> {
        self.0.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a change to the content and writes the file. If the write fails, the content is
    /// unchanged.
    fn change(&self, change: impl FnOnce(&mut RegistryContent)) -> Result<(), SaveError> {
        // A separate lock, so that readers on asynchronous threads never wait for the disk.
        let _writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = self.saved().clone();
        let mut next = saved.clone();
        change(&mut next);
        if next != saved {
            write(&self.0.directory, &next)?;
            *self.saved() = next;
        }
        Ok(())
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<RegistryContent, UnreadableReason> {
    let head = MAGIC.len() + size_of::<u16>();
    let torn = || UnreadableReason::Torn { length: bytes.len() };
    if !bytes.starts_with(&MAGIC) {
        return Err(if MAGIC.starts_with(bytes) { torn() } else { UnreadableReason::Foreign });
    }
    let version = bytes.get(MAGIC.len()..head).ok_or_else(torn)?;
    let found = u16::from_le_bytes([version[0], version[1]]);
    if found > VERSION {
        return Err(UnreadableReason::NewerVersion { found, newest: VERSION });
    }
    let end = bytes.len().checked_sub(CHECKSUM_BYTES).filter(|end| *end >= head);
    let (covered, checksum) = bytes.split_at(end.ok_or_else(torn)?);
    if Sha256::digest(covered)[..] != *checksum {
        return Err(UnreadableReason::Checksum);
    }
    match postcard::take_from_bytes(&covered[head..]) {
        Ok((saved, [])) => Ok(saved),
        _ => Err(UnreadableReason::Inconsistent),
    }
}

fn write(directory: &Path, saved: &RegistryContent) -> Result<(), SaveError> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    let mut bytes = postcard::to_extend(saved, bytes).expect("a registry is serializable");
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    replace_file(directory, REGISTRY_FILE, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: ProcessId = ProcessId(2);

    fn boot(session: u64) -> BootId {
        BootId { session, nonce: 7 }
    }

    #[test]
    fn registry_survives_restart() {
        let directory = tempfile::tempdir().expect("a directory");
        let registry = MembershipRecord::open(directory.path(), 3, false).expect("a registry");
        assert!(!registry.has_joined() && registry.is_member(PEER));
        registry.record_boot(PEER, boot(5)).expect("room");
        registry.mark_joined().expect("room");
        registry.record_eviction("removed").expect("room");
        let again = MembershipRecord::open(directory.path(), 3, false).expect("a registry");
        assert_eq!((again.newest_boot(PEER), again.has_joined()), (boot(5), true));
        assert_eq!(again.eviction_reason().as_deref(), Some("removed"));
    }

    #[test]
    fn boots_of_removed_member_are_forgotten_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let registry = MembershipRecord::open(directory.path(), 3, true).expect("a registry");
        registry.record_boot(PEER, boot(5)).expect("room");
        let (two, three) = (ProcessSet::first_n(2), ProcessSet::first_n(3));
        assert_eq!(registry.record_members(9, &two).expect("room"), [PEER]);
        assert_eq!(
            (registry.newest_boot(PEER), registry.is_member(PEER)),
            (BootId::default(), false)
        );
        registry.record_boot(PEER, boot(3)).expect("room");
        assert_eq!(registry.record_members(12, &three).expect("room"), []);
        // After a restart, a process reads the log again and records the same members.
        for (index, members) in [(9, &two), (12, &three)] {
            assert_eq!(registry.record_members(index, members).expect("room"), []);
        }
        assert_eq!((registry.newest_boot(PEER), registry.is_member(PEER)), (boot(3), true));
    }

    #[test]
    fn error_names_the_newest_version_of_the_registry() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(REGISTRY_FILE);
        fs::write(&path, [&MAGIC[..], &(VERSION + 1).to_le_bytes()].concat()).expect("room");
        let error = MembershipRecord::open(directory.path(), 3, true).expect_err("a newer version");
        assert!(matches!(error, OpenError::NewerVersion { .. }), "{error}");
        let expected = "is too new: it has format version 2, and this build reads up to 1;";
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn rejects_damaged_file() {
        let directory = tempfile::tempdir().expect("a directory");
        MembershipRecord::open(directory.path(), 3, true).expect("a registry");
        let path = directory.path().join(REGISTRY_FILE);
        let bytes = fs::read(&path).expect("a file");
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 1;
            fs::write(&path, &damaged).expect("room");
            assert!(MembershipRecord::open(directory.path(), 3, true).is_err(), "byte {index}");
            fs::write(&path, &bytes[..index]).expect("room");
            assert!(MembershipRecord::open(directory.path(), 3, true).is_err(), "cut at {index}");
        }
    }
}
