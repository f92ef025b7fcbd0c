//! Reason why a store was not opened.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::directory::SaveError;
use super::state_file_format::{StateOwner, UnreadableReason};

/// Reason why a store or its membership record was not opened. No error changes the saved state,
/// its changes or a membership record. The directory and its lock file may have been created.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Another node uses the directory.
    #[error("{path} is in use by another node")]
    Locked {
        /// Path of the directory of the store.
        path: PathBuf,
    },
    /// A file of the store is damaged or missing. The store does not repair it, because a process
    /// that has forgotten its votes or grants must not participate.
    #[error(
        "the saved state {path} is damaged: {reason}; restore its directory, or empty it if this \
         process may forget all its promises"
    )]
    Damaged {
        /// Path of the damaged or missing file.
        path: PathBuf,
        /// Reason why the file cannot be used.
        reason: UnreadableReason,
    },
    /// A newer build wrote a file of the store.
    #[error("the saved state {path} is too new: {reason}; use the build that wrote it")]
    NewerVersion {
        /// Path of the file that the newer build wrote.
        path: PathBuf,
        /// Always [`UnreadableReason::NewerVersion`], with the version of the file.
        reason: UnreadableReason,
    },
    /// The state file was written with another schema, for instance by another algorithm.
    #[error("the saved state {path} has the schema {found:?} instead of {expected:?}")]
    WrongSchema {
        /// Path of the state file.
        path: PathBuf,
        /// Schema recorded in the file.
        found: String,
        /// Schema that this node expects.
        expected: String,
    },
    /// A file belongs to another process, or to the same process in another group.
    #[error(
        "the saved state {path} belongs to {found}, but this node is {expected}; give each node \
         its own directory (the name and the size of a group never change)"
    )]
    WrongOwner {
        /// Path of the state file or the segment.
        path: PathBuf,
        /// Owner recorded in the file.
        found: StateOwner,
        /// Process that opens the store.
        expected: StateOwner,
    },
    /// The saved session number is too high to be genuine. No process starts so often.
    #[error(
        "the saved state {path} is impossible: no process reaches session {session}; see \
         \"Impossible states\" in docs/wire.md"
    )]
    ImpossibleSession {
        /// Path of the state file.
        path: PathBuf,
        /// Session number in the file.
        session: u64,
    },
    /// A file operation failed.
    #[error("cannot open {path}: {source}")]
    Io {
        /// Path of the directory or file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The new session number or a new membership record could not be saved.
    #[error("cannot begin a new session: {0}")]
    SessionNotSaved(#[source] SaveError),
}

impl OpenError {
    pub(super) fn from_unreadable(path: PathBuf, reason: UnreadableReason) -> Self {
        match reason {
            UnreadableReason::NewerVersion { .. } => OpenError::NewerVersion { path, reason },
            _ => OpenError::Damaged { path, reason },
        }
    }
}
