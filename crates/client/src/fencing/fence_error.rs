//! Errors of a comparison of fencing tokens. In each case the caller must not write.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Error of a comparison of fencing tokens. The caller must not write to the resource.
#[derive(Debug, Error)]
pub enum FenceError {
    /// The resource has seen a higher token: the lock has passed to another holder.
    #[error("fencing token {fence} is stale: the resource has seen {highest}")]
    Stale {
        /// Token of the caller.
        fence: u64,
        /// Highest token that the resource has seen.
        highest: u64,
    },
    /// The fence file, which contains the highest token, cannot be locked, read or written. The
    /// token may have been recorded.
    #[error("cannot use the fence file {}: {source}", path.display())]
    File {
        /// Path of the fence file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The fence file contains a text that is not a token.
    #[error("the fence file {} contains {text:?}, expected a number", path.display())]
    Damaged {
        /// Path of the fence file.
        path: PathBuf,
        /// Beginning of the file's contents.
        text: String,
    },
}
