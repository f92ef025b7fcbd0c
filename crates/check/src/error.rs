//! Errors of a check.

use tenure_core::{ProcessId, UnmetAssumption, Violation};

use crate::explain::description::StepwiseDescription;

/// Reason why a check returns no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The number of processes is out of range.
    #[error("invalid number of processes {size}: expected 1 to {max}")]
    Size {
        /// Requested number of processes.
        size: u32,
        /// Greatest number of processes that the checker supports. It is smaller if the protocol
        /// combines a lock with an election.
        max: u32,
    },
    /// There are too many monitors.
    #[error("too many monitors ({monitors}): expected at most {max}; check fewer properties")]
    Monitors {
        /// Requested number of monitors, including the properties written as expressions.
        monitors: usize,
        /// Greatest number of monitors.
        max: usize,
    },
    /// Too many monitors judge the ends of runs.
    #[error(
        "too many properties of ends of runs ({monitors}): expected at most {max} for {size} \
         processes; check fewer properties at a time, or fewer processes"
    )]
    MonitorsOfEnds {
        /// Requested number of monitors that judge the ends of runs.
        monitors: usize,
        /// Number of processes.
        size: u32,
        /// Greatest number of such monitors for `size` processes.
        max: usize,
    },
    /// A property written as an expression has free variables with too many combinations of values.
    #[error(
        "too many values of the free variables of `{property}` ({bindings}): expected at most \
         {max}; name the processes, or check fewer properties at a time"
    )]
    Bindings {
        /// Name of the property with the free variables.
        property: String,
        /// Number of combinations of values of the free variables.
        bindings: usize,
        /// Maximum number of combinations. The maximum depends on the numbers of processes and
        /// monitors.
        max: usize,
    },
    /// The system does not provide the memory for the table of a swarm search.
    #[error("cannot allocate {bytes} bytes for the table of visited states: use a smaller table")]
    TableMemory {
        /// Requested size of the table, in bytes.
        bytes: u64,
    },
    /// A named process does not exist.
    #[error("unknown process {process}: the group has {size} processes")]
    UnknownProcess {
        /// Process that the configuration names.
        process: ProcessId,
        /// Number of processes in the group.
        size: u32,
    },
    /// A number of faults or application messages is out of range.
    #[error("invalid number of faults or application messages {given}: expected at most {max}")]
    Faults {
        /// Requested number of faults or messages.
        given: u32,
        /// Greatest number that the checker supports.
        max: u32,
    },
    /// The configuration prescribes actions at the beginning of each run. From every initial state,
    /// one of these actions is impossible.
    #[error("invalid steps before the search: {reason}")]
    InvalidPrefix {
        /// The impossible action from the first initial state, and the reason why it is impossible.
        reason: String,
    },
    /// The configuration gives a list with the number of requests of each process. The list does
    /// not have one element per process.
    #[error("invalid number of entries {given}: expected one per process, of {size}")]
    Entries {
        /// Number of elements that the configuration gives in the list.
        given: usize,
        /// Number of processes in the group.
        size: u32,
    },
    /// The number of requests is unbounded, so timestamps must be shifted to keep the search
    /// finite. The protocol defines no shifts, or the check did not enable them.
    #[error(
        "unbounded entries need shifting of timestamps, which {algorithm} does not define or the \
         check did not enable; set a number of entries"
    )]
    UnboundedEntries {
        /// Name of the algorithm.
        algorithm: String,
    },
    /// The number of requests is unbounded, so the search is finite only if it shifts timestamps.
    /// The search cannot shift timestamps if processes recover, if application messages carry a
    /// clock, or if an expression depends on timestamps.
    #[error(
        "unbounded entries need shifting of timestamps, which recoveries, stamped application \
         messages and expressions about timestamps exclude; set a number of entries"
    )]
    UnshiftedTimestamps,
    /// Symmetry reduction merges states that differ in the names of processes, but a property, a
    /// fault or the detection of restarts depends on these names.
    #[error("invalid property for symmetric processes: expected mutual exclusion only")]
    AsymmetricProperty,
    /// The boot of a process violates a property, at least with some choices of the process.
    /// Nothing was searched.
    #[error("violated by the boot of {}: {violation}", violation.at)]
    ViolatedByBoot {
        /// The violation.
        violation: Violation,
    },
    /// A process sends more messages at boot than one of its links can hold. Nothing was searched.
    #[error("the boot of {process} sends too many messages for a link: allow more in flight")]
    BootMessages {
        /// Process that boots.
        process: ProcessId,
    },
    /// A handler of the protocol panicked, which is an error of the protocol. A panic of another
    /// part of the search is reported in the same way.
    #[error("a handler panicked: {message}\n{run}")]
    Panicked {
        /// Message of the panic.
        message: String,
        /// Run whose last step panics. It is a shortest such run, unless the search was a swarm
        /// search.
        run: StepwiseDescription,
    },
    /// The check allows more than the algorithm assumes on its [`Card`](tenure_core::Card).
    #[error("{algorithm}: {weakness}; change the check or assume no card")]
    UnmetAssumption {
        /// Name of the algorithm.
        algorithm: String,
        /// Assumption that the check does not meet, and the option of the check that
        /// contradicts the assumption.
        weakness: UnmetAssumption,
    },
    /// The check judges a property about the order of requests, but the number of requests is
    /// unbounded. The checker counts requests to track causality, so their number must be bounded.
    #[error("the order of requests needs a number of entries: unbounded entries are not supported")]
    UnboundedOrder,
}
