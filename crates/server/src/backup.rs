//! Backup files, which `etcdctl snapshot save` and `tenure snapshot save` write. The command
//! `tenure snapshot restore` reads them.
//!
//! The file consists of whole pages, as clients of etcd expect, and a SHA-256 hash of them. The
//! last 8 bytes of the last page contain the length of the payload. The payload is a store as
//! `tenure-store` encodes it, and not a database of etcd.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use tenure_algorithms::agreement::raft_log::{EntryId, Snapshot, Stable};
use tenure_core::ProcessSet;
use tenure_core::service::log::{Members, Payload};
use tenure_runtime::store::{OpenError, SaveError, StateOwner, sync_directory};
use tenure_store::Store;
use thiserror::Error;

use crate::config::{Config, ConfigError};
use crate::log::snapshot;
use crate::log::state::ClientUrlsByProcess;
use crate::member::directory::OWN_FILES;
use crate::member::{LOG_STATE_SCHEMA, state_owner};

/// Length of a page of the file, in bytes. Clients of etcd expect this length.
const PAGE_BYTES: usize = 512;

const HASH_BYTES: usize = 32;

/// Highest revision at which a restored store may begin. Clients read revisions as signed 64-bit
/// numbers. With this limit, half of the positive numbers are left for later revisions.
const MAX_REVISION: u64 = 1 << 62;

/// Store as of one revision, read from a backup file.
#[derive(Clone, Debug)]
pub struct Backup {
    store: Store,
    bytes: u64,
    hash: [u8; HASH_BYTES],
}

/// Statistics of a backup, for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupSummary {
    /// First four bytes of the hash of the file, in hexadecimal.
    pub hash: String,
    /// Revision of the store.
    pub revision: u64,
    /// Number of keys.
    pub keys: u64,
    /// Number of leases.
    pub leases: u64,
    /// Number of locks and elections that at least one client holds or waits for.
    pub locks: u64,
    /// Length of the file, in bytes.
    pub bytes: u64,
}

/// Failure to read or restore a backup.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The backup file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// Path of the backup file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The backup file is incomplete or corrupt.
    #[error("{path} is damaged or incomplete: the hash does not match its contents")]
    Damaged {
        /// Path of the backup file.
        path: PathBuf,
    },
    /// The backup file is intact, but contains no store that this version can read.
    #[error(
        "{path} contains no store that this version can read: use etcdutl to restore a snapshot of \
         etcd into etcd"
    )]
    WrongFormat {
        /// Path of the backup file.
        path: PathBuf,
    },
    /// The revision of the backup plus `bump` would exceed the highest revision at which a restored
    /// store may begin, so that too few fencing tokens would be left.
    #[error(
        "cannot raise revision {revision} by {bump}: the highest revision to begin with is 2^62, \
         raise it by less"
    )]
    RevisionTooHigh {
        /// Revision of the backup.
        revision: u64,
        /// Number that the user asked to add to the revision.
        bump: u64,
    },
    /// The data directory is not empty.
    #[error("{path} is not empty: a restored member needs a new directory")]
    NotEmpty {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The incomplete directory of an earlier, interrupted restore exists.
    #[error(
        "{path} is left over from an interrupted restore: remove it, it contains no other data"
    )]
    Unfinished {
        /// Path of the incomplete directory.
        path: PathBuf,
    },
    /// The configuration of the restored member is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The data directory cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
}

impl BackupError {
    /// Returns true if the backup and the configuration are valid, but the data directory could not
    /// be opened or written.
    pub fn is_data_directory_error(&self) -> bool {
        matches!(self, BackupError::Open(_) | BackupError::Save(_))
    }
}

pub(crate) fn encode(snapshot: &tenure_store::Snapshot) -> Vec<u8> {
    let mut bytes = snapshot.encode();
    let length = bytes.len() as u64;
    bytes.resize((bytes.len() + 8).next_multiple_of(PAGE_BYTES) - 8, 0);
    bytes.extend(length.to_be_bytes());
    let hash = Sha256::digest(&bytes);
    bytes.extend(hash);
    bytes
}

impl Backup {
    /// Reads a file and verifies its hash.
    ///
    /// # Errors
    ///
    /// [`BackupError::Unreadable`] if the file cannot be read. [`BackupError::Damaged`] if the hash
    /// does not match the file. [`BackupError::WrongFormat`] if the file contains no store that
    /// this version can read.
    pub fn read(path: &Path) -> Result<Backup, BackupError> {
        let path = path.to_owned();
        let file = match fs::read(&path) {
            Ok(file) => file,
            Err(source) => return Err(BackupError::Unreadable { path, source }),
        };
        let Some((pages, hash)) = file.split_last_chunk::<HASH_BYTES>() else {
            return Err(BackupError::Damaged { path });
        };
        if Sha256::digest(pages)[..] != hash[..] {
            return Err(BackupError::Damaged { path });
        }
        let store = pages.split_last_chunk::<8>().and_then(|(body, length)| {
            let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
            Store::decode_snapshot(body.get(..length)?).ok()
        });
        match store {
            Some(store) => Ok(Backup { store, bytes: file.len() as u64, hash: *hash }),
            None => Err(BackupError::WrongFormat { path }),
        }
    }

    /// Returns a summary of the contents of this backup.
    pub fn summary(&self) -> BackupSummary {
        let Backup { store, bytes, hash } = self;
        BackupSummary {
            hash: hash[..4].iter().map(|byte| format!("{byte:02x}")).collect(),
            revision: store.revision(),
            keys: store.len() as u64,
            leases: store.leases().len() as u64,
            locks: store.queues().count() as u64,
            bytes: *bytes,
        }
    }

    /// Creates the data directory of a member that begins with this backup. The revision of the
    /// store is raised by `revision_bump`. Returns the raised revision. All members of the new
    /// cluster must be restored from the same file with the same `revision_bump`.
    ///
    /// `revision_bump` must exceed the number of revisions that the old cluster may have made since
    /// the backup. Otherwise a fencing token could be granted twice.
    ///
    /// # Errors
    ///
    /// [`BackupError`]. Existing contents of the directory stay as they are.
    pub fn restore(self, config: &Config, revision_bump: u64) -> Result<u64, BackupError> {
        let validated = config.validate()?;
        let path = validated.directory.clone();
        if fs::read_dir(&path).is_ok_and(|mut files| files.next().is_some()) {
            return Err(BackupError::NotEmpty { path });
        }
        let revision = self.store.revision();
        if revision.checked_add(revision_bump).is_none_or(|raised| raised > MAX_REVISION) {
            return Err(BackupError::RevisionTooHigh { revision, bump: revision_bump });
        }
        let owner = state_owner(config, &validated);
        let store = self.store.into_new_cluster(revision_bump);
        let revision = store.revision();
        let state = snapshot::encode(&ClientUrlsByProcess::new(), &store.snapshot());
        create_restored_directory(&path, &owner, state)?;
        Ok(revision)
    }
}

/// Creates the data directory of a member whose log begins with a snapshot. `encoded_snapshot` is
/// the encoded snapshot. The function writes the data under another name and then renames the
/// directory. So it never leaves an incomplete directory at `path`, with which a member would start
/// with an empty store. A path without a name, such as `.`, cannot be renamed: if the write fails,
/// the function removes the files that it has written. If another process uses or has used the
/// directory meanwhile, the function removes nothing.
pub(crate) fn create_restored_directory(
    path: &Path,
    owner: &StateOwner,
    encoded_snapshot: Vec<u8>,
) -> Result<(), BackupError> {
    let Some(name) = path.file_name() else {
        let written = write_data(path, owner, encoded_snapshot);
        if written.as_ref().is_err_and(is_write_failure) {
            OWN_FILES.iter().for_each(|file| drop(fs::remove_file(path.join(file))));
        }
        return written;
    };
    let part = path.with_file_name([name, OsStr::new(".part")].join(OsStr::new("")));
    if part.exists() {
        return Err(BackupError::Unfinished { path: part });
    }
    let restored = write_data(&part, owner, encoded_snapshot)
        .and_then(|()| Ok(rename_durably(&part, path, sync_directory)?));
    if restored.as_ref().is_err_and(is_write_failure) {
        // The incomplete directory contains only data of the backup.
        let _ = fs::remove_dir_all(&part);
    }
    restored
}

/// Returns true for a failure to write files. All other errors mean that the files belong to
/// another process.
fn is_write_failure(error: &BackupError) -> bool {
    matches!(
        error,
        BackupError::Save(_)
            | BackupError::Open(OpenError::Io { .. } | OpenError::SessionNotSaved(_))
    )
}

/// Renames the complete directory `part` to `path`, and flushes the parent directory by `sync`. If
/// the flush fails, removes the directory: after a power failure it could have its former name
/// again, and a member that has used it would lose its state.
fn rename_durably(
    part: &Path,
    path: &Path,
    sync: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), OpenError> {
    let unusable = |source| OpenError::Io { path: path.to_owned(), source };
    let above = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::rename(part, path).map_err(unusable)?;
    sync(above).map_err(|source| {
        let _ = fs::remove_dir_all(path);
        unusable(source)
    })
}

fn write_data(path: &Path, owner: &StateOwner, state: Vec<u8>) -> Result<(), BackupError> {
    let members = Members::from_voters(ProcessSet::first_n(owner.group_size));
    let last = EntryId { index: 1, term: 1 };
    let stable = Stable::from_snapshot(Snapshot { last, members, state: Payload::new(state) });
    let stable = postcard::to_stdvec(&stable).expect("a state has an encoding");
    tenure_runtime::StableStorage::open(path, owner, LOG_STATE_SCHEMA)?.save(&stable)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;
    use tenure_core::ProcessId;

    use super::*;

    fn owner() -> StateOwner {
        StateOwner { cluster: "test".into(), process: ProcessId(0), group_size: 1 }
    }

    #[test]
    fn failed_flush_of_the_parent_leaves_no_directory() {
        let folder = tempdir().expect("a folder");
        let (part, path) = (folder.path().join("data.part"), folder.path().join("data"));
        for is_empty_before in [false, true] {
            if is_empty_before {
                fs::create_dir(&path).expect("a folder");
            }
            write_data(&part, &owner(), Vec::new()).expect("room");
            let renamed = rename_durably(&part, &path, |above| {
                assert_eq!(above, folder.path());
                assert!(path.join("state").exists(), "the directory is complete");
                Err(io::ErrorKind::StorageFull.into())
            });
            assert!(matches!(renamed, Err(OpenError::Io { .. })), "{renamed:?}");
            assert!(!part.exists() && !path.exists());
        }
        create_restored_directory(&path, &owner(), Vec::new()).expect("room");
        assert!(path.join("state").exists());
    }

    #[test]
    fn restore_removes_no_files_of_another_process() {
        let folder = tempdir().expect("a folder");
        fs::create_dir(folder.path().join("inner")).expect("a folder");
        let nameless = folder.path().join("inner/..");
        let open =
            || tenure_runtime::StableStorage::open(folder.path(), &owner(), LOG_STATE_SCHEMA);
        let mut other = open().expect("a store");
        other.save(&[1]).expect("room");
        let failed = create_restored_directory(&nameless, &owner(), Vec::new());
        assert!(matches!(failed, Err(BackupError::Open(OpenError::Locked { .. }))), "{failed:?}");
        drop(other);
        assert!(folder.path().join("state").exists());
        open().expect("the state of the other process");
    }

    #[test]
    fn failed_write_leaves_no_files_in_a_directory_without_name() {
        let folder = tempdir().expect("a folder");
        fs::create_dir(folder.path().join("inner")).expect("a folder");
        let nameless = folder.path().join("inner/..");
        // A directory has the name of the file that the first save creates, so the save fails.
        let next_state = folder.path().join("state.next");
        fs::create_dir(&next_state).expect("a folder");
        let failed = create_restored_directory(&nameless, &owner(), Vec::new());
        assert!(failed.is_err());
        assert!(!folder.path().join("lock").exists());
        fs::remove_dir(next_state).expect("an empty folder");
        create_restored_directory(&nameless, &owner(), Vec::new()).expect("room");
        assert!(folder.path().join("state").exists());
    }
}
