//! Errors that prevent the start of a node, and failures that stop it.

use tenure_trace::WriteError;
use thiserror::Error;

use crate::store::SaveError;
use crate::transport::{Eviction, MeshError};
use crate::validator::ValidationError;

/// Reason why a node did not start. No task is left running, but the store may have begun a
/// session.
#[derive(Debug, Error)]
pub enum NodeStartError {
    /// The transport did not start.
    #[error(transparent)]
    Transport(#[from] MeshError),
    /// The store holds no valid state of this protocol.
    #[error("cannot decode the saved state in {directory}; another algorithm or release wrote it")]
    UnreadableState {
        /// Directory of the store.
        directory: String,
    },
    /// The store holds a state that no process can reach. For instance, a number in it is too
    /// large.
    #[error(
        "the saved state in {directory} is impossible: {why}; it is unchanged, see \"Impossible \
         states\" in docs/wire.md"
    )]
    InvalidState {
        /// Directory of the store.
        directory: String,
        /// Rule that the saved state violates.
        why: ValidationError,
    },
}

/// Reason why a running node stopped. The node has sent no message and emitted no event that
/// depends on an unsaved state.
#[derive(Debug, Error)]
pub enum NodeFailure {
    /// The state could not be saved, so effects that depend on it were not released.
    #[error("the node stops because its state cannot be saved: {0}")]
    Save(#[from] SaveError),
    /// The process reached a state that a restart would reject.
    #[error("the node stops because its state is invalid and was not saved: {0}")]
    InvalidState(#[from] ValidationError),
    /// The trace could not be written.
    #[error("the node stops because its trace cannot be written: {0}")]
    Trace(#[from] WriteError),
    /// Peers reject this node permanently. Its users have lost their locks, and it knows no leader.
    #[error("the node stops because it was evicted from its group: {0}")]
    Evicted(#[from] Eviction),
    /// The application was unable to handle an event. It received no later event.
    #[error("the node stops because of an error in its application: {0}")]
    Application(String),
}
