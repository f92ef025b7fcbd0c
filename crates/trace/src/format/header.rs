//! Header: the first line of a trace.

use serde::{Deserialize, Serialize};
use tenure_core::{Rank, Service, Topology};

/// Version of the format that this crate writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// Maximum group size, unless [`ReadLimits`](crate::ReadLimits) allow more. Displaying or verifying
/// a trace needs some hundred bytes per process, even for an idle one.
pub const MAX_PROCESSES: u32 = 1 << 20;

/// Header of a trace: describes the run and how to interpret the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always `"tenure"`; distinguishes a trace from other files of JSON lines.
    pub trace: String,
    /// Version of the format. A reader rejects a version newer than its own.
    pub version: u32,
    /// Name of the algorithm on the command line.
    pub algorithm: String,
    /// Service of the algorithm, which selects the properties to verify.
    pub service: Service,
    /// Number of processes in the group.
    pub n: u32,
    /// Writer of the file.
    pub source: Source,
    /// Unit of the times in the records.
    pub clock: ClockUnit,
    /// True if entries carry fences that a resource checks.
    pub fenced: bool,
    /// Maximum number of processes inside at the same time: 1, or the *k* of a k-mutex.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub most_inside: u32,
    /// Rank of each process, `null` where it equals the process number; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Vec<Rank>>,
    /// Names of the properties that the algorithm's card promises. Other properties are reported,
    /// but do not count as violated. If empty, all properties count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<String>,
    /// Command-line options that configure the algorithm and its group, needed to reproduce the
    /// run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Property that the run violates, if the trace was kept as its counterexample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violates: Option<String>,
    /// Number of final steps that form an endless cycle, in a trace of a process that waits
    /// forever.
    #[serde(default, skip_serializing_if = "is_none")]
    pub repeats: u32,
    /// Maximum number of messages per entry or election, if the trace was kept because one exceeded
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_messages: Option<u64>,
    /// Maximum number of entries by one process while another waits, if the trace was kept because
    /// one exceeded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bypass: Option<u32>,
    /// The required topology, if the trace was kept because a message violated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Seed of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Command that reproduces the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

impl Header {
    /// Creates a header of this version without optional fields: virtual time, fenced.
    pub fn new(algorithm: impl Into<String>, service: Service, n: u32, source: Source) -> Self {
        Header {
            trace: "tenure".into(),
            version: VERSION,
            algorithm: algorithm.into(),
            service,
            n,
            source,
            clock: ClockUnit::Tick,
            fenced: true,
            most_inside: 1,
            ranks: None,
            promises: Vec::new(),
            options: Vec::new(),
            violates: None,
            repeats: 0,
            most_messages: None,
            most_bypass: None,
            topology: None,
            seed: None,
            replay: None,
        }
    }
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_one(most: &u32) -> bool {
    *most == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_none(repeats: &u32) -> bool {
    *repeats == 0
}

/// Writer of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The simulator; one file for the whole group.
    Simulator,
    /// The checker; the trace is a counterexample.
    Checker,
    /// One real node.
    Node,
    /// The process that starts, disturbs and stops the nodes.
    Parent,
    /// The resource that the lock protects.
    Resource,
    /// Any other writer.
    #[serde(other)]
    Other,
}

/// Unit of the times in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockUnit {
    /// Virtual time: 1,000,000 ticks per unit.
    Tick,
    /// Real time: nanoseconds since the start of 1970, UTC.
    Nanosecond,
}
