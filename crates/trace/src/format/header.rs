//! Header: the first line of a trace.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_core::monitors::LinksOnly;
use tenure_core::{Graph, Property, Rank, Service, Topology};

use crate::format::edge_list::EdgeList;

/// Version of the trace format that this crate writes. It is also the newest version that this
/// crate reads.
pub const TRACE_FORMAT_VERSION: u32 = 1;

/// Default maximum number of processes of a group. [`ReadLimits`](crate::ReadLimits) may permit
/// more processes. Displaying or verifying a trace needs some hundred bytes per process, even if
/// the process does nothing.
pub const DEFAULT_MAX_PROCESSES: u32 = 1 << 20;

/// Header of a trace. It describes the run, and states how to interpret the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The text `"tenure"`, which distinguishes a trace from other files of JSON lines.
    pub trace: String,
    /// Version of the format. A reader rejects a version that is newer than
    /// [`TRACE_FORMAT_VERSION`].
    pub version: u32,
    /// Name of the algorithm on the command line.
    pub algorithm: String,
    /// Service of the algorithm. The service selects the properties to verify.
    pub service: Service,
    /// Number of processes in the group.
    pub n: u32,
    /// Kind of the program that wrote the file.
    pub source: TraceProducer,
    /// Unit of the times in the records.
    pub clock: ClockUnit,
    /// True if entries to the critical section have fences that a resource checks.
    pub fenced: bool,
    /// Maximum number of processes inside the critical section at the same time: 1, or the *k* of a
    /// k-mutex.
    #[serde(rename = "most_inside", default = "one", skip_serializing_if = "is_one")]
    pub max_inside: u32,
    /// For each process, by index: the rank that decides elections. `None` if the process numbers
    /// decide, or if the ranks are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Vec<Rank>>,
    /// Names of the properties that the algorithm promises, according to its
    /// [`Card`](tenure_core::Card). A violation of a promised property is a failure. A violation of
    /// another property is only reported. If the list is empty, every violation is a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<String>,
    /// Command-line options that configure the algorithm and its group. A user needs these options
    /// to reproduce the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Name of the property that the run violates, if the trace is a counterexample to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violates: Option<String>,
    /// Number of steps at the end of the trace that repeat forever, if the trace is a
    /// counterexample in which a process waits forever. Otherwise 0.
    #[serde(default, skip_serializing_if = "is_none")]
    pub repeats: u32,
    /// Maximum number of messages per critical-section entry or per election. Present only in a
    /// counterexample whose run exceeds this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_messages: Option<u64>,
    /// Maximum number of entries by one process while another process waits. Present if the
    /// algorithm promises such a maximum, or if the trace is a counterexample to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bypass: Option<u32>,
    /// Topology of the network. Present only in a counterexample in which a message uses a link
    /// outside this topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Edges of the network. `None` if no network was configured for the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<EdgeList>,
    /// Seed of the random choices in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Command line that reproduces the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

impl Header {
    /// Creates a header of this version of the format without optional fields. Times are virtual,
    /// and entries have fences.
    pub fn new(
        algorithm: impl Into<String>,
        service: Service,
        n: u32,
        source: TraceProducer,
    ) -> Self {
        Header {
            trace: "tenure".into(),
            version: TRACE_FORMAT_VERSION,
            algorithm: algorithm.into(),
            service,
            n,
            source,
            clock: ClockUnit::Tick,
            fenced: true,
            max_inside: 1,
            ranks: None,
            promises: Vec::new(),
            options: Vec::new(),
            violates: None,
            repeats: 0,
            most_messages: None,
            most_bypass: None,
            topology: None,
            graph: None,
            seed: None,
            replay: None,
        }
    }

    /// Returns true if the header names this property as promised or as violated.
    pub(crate) fn mentions_property(&self, property: Property) -> bool {
        self.promises.iter().chain(&self.violates).any(|name| name == property.name())
    }

    /// Returns the network of the header. Returns `None` if the header has none. Readers reject a
    /// header with an invalid network.
    pub fn network(&self) -> Option<Graph> {
        self.graph.as_ref()?.to_graph(self.n).ok()
    }

    /// Returns the conflict graph of the group, which is the network of the header. Returns `None`
    /// if the header has no network, or does not name the property *local mutual exclusion*. This
    /// property demands that two neighbours in the conflict graph are never inside the critical
    /// section at the same time.
    pub(crate) fn conflict_graph(&self) -> Option<Arc<Graph>> {
        let is_named = self.mentions_property(Property::LocalMutualExclusion);
        self.network().filter(|_| is_named).map(Arc::new)
    }

    /// Returns the monitor that checks whether each message uses a link of the topology in the
    /// header. Returns `None` if the header contains no topology.
    pub(crate) fn link_monitor(&self) -> Option<LinksOnly> {
        match (self.topology?, self.network()) {
            (Topology::Graph, Some(graph)) => Some(LinksOnly::in_graph(Arc::new(graph))),
            (topology, _) => Some(LinksOnly::in_topology(topology, self.n)),
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

/// Kind of the program that wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceProducer {
    /// The simulator, which writes one file for the whole group.
    Simulator,
    /// The checker. The trace is a counterexample, or a run in which a measured quantity, such as
    /// the number of messages, reaches its maximum or minimum.
    Checker,
    /// One real node, which writes its own file.
    Node,
    /// The process that starts the nodes, injects faults and stops the nodes.
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

impl ClockUnit {
    /// Returns the name of the unit in which times are displayed: `units` of virtual time, or `ms`.
    pub const fn display_unit_name(self) -> &'static str {
        match self {
            ClockUnit::Tick => "units",
            ClockUnit::Nanosecond => "ms",
        }
    }
}
