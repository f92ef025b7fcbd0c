//! The first line of a trace.

use serde::{Deserialize, Serialize};
use tenure_core::{Rank, Service, Topology};

/// The version of the format that this crate writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// Traces of larger groups are not read where nobody asks for that. What shows or judges a trace
/// keeps some hundred bytes for each process of it, whether or not the process does anything.
pub const MOST_PROCESSES: u32 = 1 << 20;

/// The first line of a trace: what was run, and how to read the lines that follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always `"tenure"`: what tells a trace from any other file of JSON lines.
    pub trace: String,
    /// The version of the format. A reader refuses one that is newer than it knows.
    pub version: u32,
    /// The algorithm's name on the command line.
    pub algorithm: String,
    /// What the algorithm offers, which decides what the trace is judged by.
    pub service: Service,
    /// How many processes the group has.
    pub n: u32,
    /// Who wrote the file.
    pub source: Source,
    /// What the times of the records count.
    pub clock: ClockUnit,
    /// Whether entries carry fences that a resource is to check.
    pub fenced: bool,
    /// How many processes may be inside at once: 1, or the *k* of a k-mutex.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub most_inside: u32,
    /// The rank of each process, none where it is the number; absent where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Vec<Rank>>,
    /// What the algorithm's card promises, by name; other properties are reported but do not
    /// count as violated. Empty: everything counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<String>,
    /// The options of the command line that configure the algorithm and its group, without
    /// which the run cannot be made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The property that the run violates, where it was kept because it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violates: Option<String>,
    /// How many of the last steps go round for ever, where somebody waits as long as they do.
    #[serde(default, skip_serializing_if = "is_none")]
    pub repeats: u32,
    /// The most messages that an entry, or an election, may take, where the trace was kept because
    /// one took more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_messages: Option<u64>,
    /// The most entries of one during one wait of another, where the trace was kept because there
    /// were more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bypass: Option<u32>,
    /// The ring, where the trace was kept because a message left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// The seed of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The command that makes this run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

impl Header {
    /// A header of this version with nothing optional in it: virtual time, fenced.
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

/// Who wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The simulator: the whole group in one file.
    Simulator,
    /// The checker: a counterexample.
    Checker,
    /// One real node.
    Node,
    /// The process that starts, hurts and ends the nodes.
    Parent,
    /// The resource that the lock protects.
    Resource,
    /// Somebody else.
    #[serde(other)]
    Other,
}

/// What the times of a trace count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockUnit {
    /// Virtual time: 1,000,000 ticks to the unit.
    Tick,
    /// Real time: nanoseconds since the start of 1970, UTC.
    Nanosecond,
}
