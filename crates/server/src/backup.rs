//! A store in a file: what `etcdctl snapshot save` and `tenure snapshot save` write, and what a new
//! cluster begins with.
//!
//! The file is in whole pages, as clients of etcd expect it, with a SHA-256 behind them; the last 8
//! bytes of the last page say how many bytes of the pages count. Those are a store as
//! `tenure-store` writes it, and not the database of etcd.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use tenure_algorithms::agreement::raft_log::{Place, Snapshot, Stable};
use tenure_core::ProcessSet;
use tenure_core::service::log::{Members, Payload};
use tenure_runtime::store::{OpenError, Owner, SaveError, sync_directory};
use tenure_store::Store;
use thiserror::Error;

use crate::config::{Config, ConfigError};
use crate::image;
use crate::member::{SCHEMA, owner};
use crate::state::Urls;

/// Clients expect a snapshot in whole pages.
const PAGE: usize = 512;

/// The bytes of the hash behind them.
const HASH: usize = 32;

/// The highest revision that a cluster begins with: clients count to 2^63.
const HIGHEST: u64 = 1 << 62;

/// What a store was at some revision.
#[derive(Clone, Debug)]
pub struct Backup {
    store: Store,
    bytes: u64,
    hash: [u8; HASH],
}

/// What is in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The first four bytes of its hash, in hexadecimal digits.
    pub hash: String,
    /// The revision of the store.
    pub revision: u64,
    /// How many keys it has.
    pub keys: u64,
    /// How many leases.
    pub leases: u64,
    /// How many locks and offices are claimed.
    pub locks: u64,
    /// How many bytes the file has.
    pub bytes: u64,
}

/// Why a backup is of no use, or nothing was made of it.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is not whole.
    #[error("{path} is damaged or cut off: its hash does not fit what is in it")]
    Damaged {
        /// Which.
        path: PathBuf,
    },
    /// It is whole, and not of this server.
    #[error(
        "{path} holds no store that this version can read; a snapshot of etcd is restored by \
         etcdutl, into etcd"
    )]
    Foreign {
        /// Which.
        path: PathBuf,
    },
    /// Its revision would be so high that there is no fence left to hand out.
    #[error(
        "{revision} and {bump} more are beyond 2^62, the highest revision to begin with; raise it \
         by less"
    )]
    Beyond {
        /// The revision of the backup.
        revision: u64,
        /// By how much it was to be raised.
        bump: u64,
    },
    /// There is something already where the data are to be.
    #[error("{path} is there already and not empty; a restored member needs a folder of its own")]
    Inhabited {
        /// The folder.
        path: PathBuf,
    },
    /// Somebody began to make the data and did not come to an end.
    #[error("{path} is left of a restore that was ended; nothing is lost with it: remove it")]
    Unfinished {
        /// The folder that was being made.
        path: PathBuf,
    },
    /// The member that is to begin with it cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The folder cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nothing can be written there.
    #[error(transparent)]
    Save(#[from] SaveError),
}

impl BackupError {
    /// Whether it is the machine that does not let us.
    pub fn is_of_environment(&self) -> bool {
        matches!(self, BackupError::Open(_) | BackupError::Save(_))
    }
}

/// A store as it lies in a file.
pub(crate) fn written(store: &tenure_store::Snapshot) -> Vec<u8> {
    let mut bytes = store.encode();
    let length = bytes.len() as u64;
    bytes.resize((bytes.len() + 8).next_multiple_of(PAGE) - 8, 0);
    bytes.extend(length.to_be_bytes());
    let hash = Sha256::digest(&bytes);
    bytes.extend(hash);
    bytes
}

impl Backup {
    /// Reads a file, and believes it when its hash fits.
    ///
    /// # Errors
    ///
    /// [`BackupError::Unreadable`], [`BackupError::Damaged`] and [`BackupError::Foreign`].
    pub fn read(path: &Path) -> Result<Backup, BackupError> {
        let path = path.to_owned();
        let file = match fs::read(&path) {
            Ok(file) => file,
            Err(source) => return Err(BackupError::Unreadable { path, source }),
        };
        let Some((pages, hash)) = file.split_last_chunk::<HASH>() else {
            return Err(BackupError::Damaged { path });
        };
        if Sha256::digest(pages)[..] != hash[..] {
            return Err(BackupError::Damaged { path });
        }
        let store = pages.split_last_chunk::<8>().and_then(|(body, length)| {
            let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
            Store::decode(body.get(..length)?).ok()
        });
        match store {
            Some(store) => Ok(Backup { store, bytes: file.len() as u64, hash: *hash }),
            None => Err(BackupError::Foreign { path }),
        }
    }

    /// What is in it.
    pub fn summary(&self) -> Summary {
        let Backup { store, bytes, hash } = self;
        Summary {
            hash: hash[..4].iter().map(|byte| format!("{byte:02x}")).collect(),
            revision: store.revision(),
            keys: store.len() as u64,
            leases: store.leases().len() as u64,
            locks: store.queues().count() as u64,
            bytes: *bytes,
        }
    }

    /// Makes the data of a member that begins with it: each member of a new cluster is made so, of
    /// the same file. The revision is higher by `bump`, which has to be more than the revisions
    /// that the old cluster may have made since, so that no fence is handed out twice. Tells the
    /// revision.
    ///
    /// # Errors
    ///
    /// [`BackupError`]. What is in the folder already stays as it is.
    pub fn restore(self, config: &Config, bump: u64) -> Result<u64, BackupError> {
        let plan = config.plan()?;
        let path = plan.directory.clone();
        if fs::read_dir(&path).is_ok_and(|mut files| files.next().is_some()) {
            return Err(BackupError::Inhabited { path });
        }
        let revision = self.store.revision();
        if revision.checked_add(bump).is_none_or(|raised| raised > HIGHEST) {
            return Err(BackupError::Beyond { revision, bump });
        }
        let owner = owner(config, &plan);
        let store = self.store.restored(bump);
        let revision = store.revision();
        let state = image::write(&Urls::new(), &store.snapshot());
        begin_with(&path, &owner, state)?;
        Ok(revision)
    }
}

/// Makes the data of a member whose log begins with a snapshot: all of them, or none. In a folder
/// that had nothing of them yet a member would begin with nothing.
pub(crate) fn begin_with(path: &Path, owner: &Owner, state: Vec<u8>) -> Result<(), BackupError> {
    let Some(name) = path.file_name() else { return fill(path, owner, state) };
    let part = path.with_file_name([name, OsStr::new(".part")].join(OsStr::new("")));
    if part.exists() {
        return Err(BackupError::Unfinished { path: part });
    }
    let unusable = |source| OpenError::Unusable { path: path.to_owned(), source };
    let above = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let begun = fill(&part, owner, state).and_then(|()| {
        fs::rename(&part, path).and_then(|()| sync_directory(above)).map_err(unusable)?;
        Ok(())
    });
    if begun.is_err() {
        // It has nothing that the backup has not.
        let _ = fs::remove_dir_all(&part);
    }
    begun
}

fn fill(path: &Path, owner: &Owner, state: Vec<u8>) -> Result<(), BackupError> {
    let members = Members::of(ProcessSet::first(owner.group_size));
    let last = Place { index: 1, term: 1 };
    let stable = Stable::of_snapshot(Snapshot { last, members, state: Payload::new(state) });
    let stable = postcard::to_stdvec(&stable).expect("a state can be encoded");
    tenure_runtime::Store::open(path, owner, SCHEMA)?.save(&stable)?;
    Ok(())
}
