//! A list of writes, replicated by a primary.

use alloc::vec::Vec;

use crate::process::ProcessId;
use crate::service::Term;

/// Command of the local user to the replicated list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Append a value.
    Write {
        /// Value of the new write.
        value: u64,
    },
}

/// Event of the replicated list for the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process is the primary and accepts writes from now on.
    Serving {
        /// Term of the primary.
        term: Term,
        /// All writes that the primary has at this time, oldest first.
        writes: Vec<u64>,
    },
    /// A write is durable.
    Acknowledged {
        /// Term of the primary that acknowledged the write.
        term: Term,
        /// Position in the list of writes, from 1.
        place: u64,
        /// Value of the write.
        value: u64,
    },
    /// A write was refused, because this process is not the primary.
    Refused {
        /// Primary, as far as this process knows; `None` if it knows none.
        leader: Option<ProcessId>,
    },
}
