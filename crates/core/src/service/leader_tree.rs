//! A spanning tree that grows from the leader.

use crate::process::ProcessId;
use crate::service::Term;

/// Identifier of a wave that spreads from a root. Each wave builds its own tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WaveId {
    /// Term of the root.
    pub term: Term,
    /// Number of the wave, counted from 1 in each term.
    pub number: u64,
}

/// Command of the local user to the spanning tree service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Build another tree from this process. A process that does not lead ignores this command.
    Grow,
}

/// Event of the spanning tree service for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process joined the tree.
    Joined {
        /// Wave that builds the tree.
        wave: WaveId,
        /// Parent in the tree; `None` at the root.
        parent: Option<ProcessId>,
    },
    /// All reachable processes are in the tree. Only the root receives this event.
    Completed {
        /// Wave that built the tree.
        wave: WaveId,
        /// Number of processes in the tree.
        size: u32,
    },
}
