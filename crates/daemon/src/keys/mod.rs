//! The files of keys: made by `tenure keys new`, read by a node when it starts and at SIGHUP.

use std::io;
use std::path::PathBuf;

use tenure_core::ProcessId;
#[cfg(feature = "keys")]
use tenure_runtime::transport::KeysError;
use tenure_runtime::transport::Trust;
use thiserror::Error;

use crate::config::Cluster;

#[cfg(feature = "keys")]
mod files;

#[cfg(feature = "keys")]
pub(crate) use files::keys;
#[cfg(feature = "keys")]
pub use files::{make_keys, private_key_file, public_keys_file};

/// Why files of keys cannot be used or made. Nothing was started.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("{}: the keys cannot be read: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than its owner may use the file of a private key.
    #[error(
        "{}: others may use this private key (its mode is {mode:04o}); it is taken after \
         `chmod 600 {}`", path.display(), path.display()
    )]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Who may do what with it, as in `chmod`.
        mode: u32,
    },
    /// There is nothing in this program that could use them.
    #[error("this program was built without keys; the feature `keys` of tenure has them")]
    Absent,
    /// What is in the file is not what it should be.
    #[cfg(feature = "keys")]
    #[error("{}: {source}", path.display())]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: KeysError,
    },
    /// The file cannot be made.
    #[error("{}: cannot be made: {source}", path.display())]
    Unwritable {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is there already.
    #[error("{} is there already, and keys may be in use; name another directory", path.display())]
    Exists {
        /// Which file.
        path: PathBuf,
    },
}

/// Whom a node with this configuration takes for its peers.
#[cfg(feature = "keys")]
pub(crate) fn trust(cluster: &Cluster, me: ProcessId) -> Result<Trust, KeyFileError> {
    Ok(files::keys(cluster, me)?.map_or_else(|| without(cluster), |keys| Trust::Keys(keys.into())))
}

/// The same in a program without keys, in which nobody can be told by them.
#[cfg(not(feature = "keys"))]
pub(crate) fn trust(cluster: &Cluster, _: ProcessId) -> Result<Trust, KeyFileError> {
    if cluster.private_key.is_some() { Err(KeyFileError::Absent) } else { Ok(without(cluster)) }
}

/// Whom a node without keys believes.
fn without(cluster: &Cluster) -> Trust {
    if cluster.insecure { Trust::Anybody } else { Trust::Machine }
}
