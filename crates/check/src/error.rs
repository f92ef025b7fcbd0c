//! Errors of a check.

use tenure_core::{ProcessId, UnmetAssumption};

use crate::explain::description::RunDescription;

/// Reason why a check returns no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The number of processes is out of range.
    #[error("invalid number of processes {size}: expected 1 to {max}")]
    Size {
        /// Requested number of processes.
        size: u32,
        /// Greatest number of processes.
        max: u32,
    },
    /// There are too many monitors.
    #[error("too many monitors ({monitors}): expected at most {max} for this number of processes")]
    Monitors {
        /// Requested number of monitors.
        monitors: usize,
        /// Greatest number of monitors for this number of processes.
        max: usize,
    },
    /// A named process does not exist.
    #[error("unknown process {process}: the group has {size} processes")]
    UnknownProcess {
        /// The process named.
        process: ProcessId,
        /// Number of processes.
        size: u32,
    },
    /// A number of faults or application messages is out of range.
    #[error("invalid number of faults or application messages {given}: expected at most {max}")]
    Faults {
        /// Requested number.
        given: u32,
        /// Greatest number.
        max: u32,
    },
    /// A step before the search is not possible.
    #[error("invalid steps before the search: {reason}")]
    InvalidPrefix {
        /// The step and the reason.
        reason: String,
    },
    /// The list of entries does not have one element per process.
    #[error("invalid number of entries {given}: expected one per process, of {size}")]
    Entries {
        /// Number of elements in the list.
        given: usize,
        /// Number of processes.
        size: u32,
    },
    /// An unbounded number of requests needs shifting of timestamps, which the protocol does not
    /// define or the check did not enable.
    #[error(
        "unbounded entries need shifting of timestamps, which {algorithm} does not define or the \
         check did not enable; set a number of entries"
    )]
    UnboundedEntries {
        /// Name of the algorithm.
        algorithm: String,
    },
    /// An unbounded number of requests needs shifting of timestamps, which recoveries and stamped
    /// application messages exclude.
    #[error(
        "unbounded entries need shifting of timestamps, which recoveries and stamped application \
         messages exclude; set a number of entries"
    )]
    UnshiftedTimestamps,
    /// A property depends on process names, which symmetry reduction merges.
    #[error("invalid property for symmetric processes: expected mutual exclusion only")]
    AsymmetricProperty,
    /// A handler panicked. A protocol must never do that.
    #[error("a handler panicked: {message}\n{run}")]
    Panicked {
        /// Message of the panic.
        message: String,
        /// Shortest run to the panic. Its last step is the one that panicked.
        run: RunDescription,
    },
    /// The check allows more than the card of the algorithm assumes.
    #[error("{algorithm}: {weakness}; change the check or assume no card")]
    UnmetAssumption {
        /// Name of the algorithm.
        algorithm: String,
        /// The assumption and how the check exceeds it.
        weakness: UnmetAssumption,
    },
    /// Causality counts requests, which must be bounded.
    #[error("the order of requests needs a number of entries: unbounded entries are not supported")]
    UnboundedOrder,
}
