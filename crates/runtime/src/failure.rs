//! Why a node does not start, and why it stops.

use tenure_trace::WriteError;
use thiserror::Error;

use crate::plausible::Implausible;
use crate::store::SaveError;
use crate::transport::{Expelled, MeshError};

/// Why a node did not start. Nothing runs; the store may have begun a session.
#[derive(Debug, Error)]
pub enum StartError {
    /// The transport did not start.
    #[error(transparent)]
    Transport(#[from] MeshError),
    /// What the store holds is not this protocol's state.
    #[error(
        "the saved state in {directory} cannot be understood; it was written by another \
         algorithm or release"
    )]
    State {
        /// Where the state is.
        directory: String,
    },
    /// What the store holds is a state that no process can have come to.
    #[error(
        "the saved state in {directory} cannot be true: {why}. It is left as it is; the way out is \
         in docs/wire.md, under \"A state that cannot be true\""
    )]
    Implausible {
        /// Where the state is.
        directory: String,
        /// What is wrong with it.
        why: Implausible,
    },
}

/// Why a running node stopped. Its effects since the last saved state never left.
#[derive(Debug, Error)]
pub enum Failure {
    /// The state could not be saved, so nothing that depends on it may leave.
    #[error("the state cannot be saved, so this node stops: {0}")]
    Save(#[from] SaveError),
    /// The process came to a state in which it could not go on after a restart.
    #[error("the state is not saved, for it cannot be true, so this node stops: {0}")]
    Implausible(#[from] Implausible),
    /// The trace could not be written.
    #[error("the trace cannot be written, so this node stops: {0}")]
    Trace(#[from] WriteError),
    /// Peers refuse this node for good. It has claimed nothing since: whoever held its lock has
    /// lost it, and it knows no leader.
    #[error("this node is out of its group, so it stops: {0}")]
    Expelled(#[from] Expelled),
    /// The users' side cannot take what the protocol told it. It has taken nothing since.
    #[error("{0}, so this node stops")]
    Refused(String),
}
