//! A list of writes that several processes keep.

use alloc::vec::Vec;

use crate::process::ProcessId;
use crate::service::Term;

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Append a value.
    Write {
        /// The value.
        value: u64,
    },
}

/// What the local user is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process is the primary and takes writes from now on.
    Serving {
        /// Its term.
        term: Term,
        /// Everything written so far, the first write first.
        writes: Vec<u64>,
    },
    /// A write will not be lost.
    Acknowledged {
        /// The term of the primary that says so.
        term: Term,
        /// Its place among the writes, from 1.
        place: u64,
        /// What was written.
        value: u64,
    },
    /// A write was not taken, because this process does not serve.
    Refused {
        /// Who may, as far as this process knows.
        leader: Option<ProcessId>,
    },
}
