//! Key files: `tenure keys new` creates them. A node reads them at its start, and again at SIGHUP.

use std::io;
use std::path::PathBuf;

use tenure_core::ProcessId;
#[cfg(feature = "keys")]
use tenure_runtime::transport::KeysError;
use tenure_runtime::transport::PeerAuthentication;
use thiserror::Error;

use crate::config::ClusterConfig;

#[cfg(feature = "keys")]
mod files;

#[cfg(feature = "keys")]
pub(crate) use files::read_keys;
#[cfg(feature = "keys")]
pub use files::{create_key_files, private_key_file, public_keys_file};

/// Error of a key file. A node that is starting does not start. A running node keeps its keys.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// The key file cannot be read.
    #[error("cannot read the keys in {}: {source}", path.display())]
    Unreadable {
        /// Path of the key file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Users other than its owner can access the private key.
    #[error(
        "{}: other users can access this private key (mode {mode:04o}): run \
         `chmod 600 {}`", path.display(), path.display()
    )]
    Exposed {
        /// Path of the key file.
        path: PathBuf,
        /// Permissions of the file, as in `chmod`.
        mode: u32,
    },
    /// This build has no support for keys.
    #[error("this build has no support for keys: enable the feature `keys` of tenure")]
    Absent,
    /// The contents of the key file are invalid.
    #[cfg(feature = "keys")]
    #[error("{}: {source}", path.display())]
    Invalid {
        /// Path of the key file.
        path: PathBuf,
        /// Reason why the keys of the file are invalid.
        source: KeysError,
    },
    /// The key or its file cannot be created.
    #[error("cannot create {}: {source}", path.display())]
    Unwritable {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A key file exists already, and is not overwritten. No file was created.
    #[error("{} exists, and its keys may be in use: choose another directory", path.display())]
    Exists {
        /// Path of the key file.
        path: PathBuf,
    },
}

/// Returns how this node authenticates its peers: with the configured keys, if there are any.
#[cfg(feature = "keys")]
pub(crate) fn peer_authentication(
    cluster: &ClusterConfig,
    me: ProcessId,
) -> Result<PeerAuthentication, KeyFileError> {
    Ok(files::read_keys(cluster, me)?.map_or_else(
        || authentication_without_keys(cluster),
        |keys| PeerAuthentication::Keys(keys.into()),
    ))
}

/// Returns how this node authenticates its peers. Fails if the configuration names keys, which this
/// build does not support.
#[cfg(not(feature = "keys"))]
pub(crate) fn peer_authentication(
    cluster: &ClusterConfig,
    _: ProcessId,
) -> Result<PeerAuthentication, KeyFileError> {
    if cluster.private_key.is_some() {
        Err(KeyFileError::Absent)
    } else {
        Ok(authentication_without_keys(cluster))
    }
}

/// Returns how a node without keys authenticates its peers. If the configuration sets `insecure`,
/// the node trusts any peer. Otherwise, the node trusts only peers on loopback.
fn authentication_without_keys(cluster: &ClusterConfig) -> PeerAuthentication {
    if cluster.insecure {
        PeerAuthentication::Unauthenticated
    } else {
        PeerAuthentication::LoopbackOnly
    }
}
