//! A spanning tree that grows from the leader.

use crate::process::ProcessId;
use crate::service::Term;

/// The name of a wave that spreads from a root: each makes a tree of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wave {
    /// The term of the root.
    pub term: Term,
    /// Which of that term, from 1.
    pub number: u64,
}

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Grow another tree. Only the leader does; others do nothing.
    Grow,
}

/// What the local user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process is in the tree.
    Joined {
        /// Which tree.
        wave: Wave,
        /// Through whom; nobody at the root.
        parent: Option<ProcessId>,
    },
    /// At the root: everybody who can be reached is in the tree.
    Completed {
        /// Which tree.
        wave: Wave,
        /// How many processes it has.
        size: u32,
    },
}
