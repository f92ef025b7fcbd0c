//! Errors that prevent the start of a node, and failures that stop it.

use tenure_trace::WriteError;
use thiserror::Error;

use crate::store::SaveError;
use crate::transport::{Eviction, MeshStartError};
use crate::validator::ValidationError;

/// Reason why a node did not start. No task is left running, but the store may have begun a
/// session.
#[derive(Debug, Error)]
pub enum NodeStartError {
    /// The transport did not start.
    #[error(transparent)]
    Transport(#[from] MeshStartError),
    /// The saved state or a saved change is not the encoding of a state of this protocol.
    #[error("cannot decode the saved state in {directory}; another algorithm or release wrote it")]
    UnreadableState {
        /// Directory of the store.
        directory: String,
    },
    /// The saved state or a saved change contains a value that no process can reach. For instance,
    /// a number is too large.
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
    /// The state could not be saved, so the effects that depend on the state were not released.
    #[error("the node stops because its state cannot be saved: {0}")]
    Save(#[from] SaveError),
    /// The process reached a state that a restart would reject.
    #[error("the node stops because its state is invalid and was not saved: {0}")]
    InvalidState(#[from] ValidationError),
    /// The trace could not be written.
    #[error("the node stops because its trace cannot be written: {0}")]
    Trace(#[from] WriteError),
    /// Peers reject this node permanently. With a [`LockApplication`](crate::LockApplication), all
    /// guards have lost their locks, and the node knows no leader.
    #[error("the node stops because it was evicted from its group: {0}")]
    Evicted(#[from] Eviction),
    /// The application was unable to handle an event. The text is the result of
    /// [`Application::fatal_error`](crate::Application::fatal_error).
    #[error("the node stops because of an error in its application: {0}")]
    Application(String),
}
