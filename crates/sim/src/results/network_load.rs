//! Load of the edges of a network.

use serde::{Serialize, Serializer};
use tenure_core::ProcessId;

use crate::results::json::MeanAndMax;
use crate::results::tally::ratio;

/// Load of a network in a run. Lost messages, and those that a partition stops, do not count. A
/// duplicate counts as a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkLoad {
    /// True if messages take several edges; otherwise the algorithm itself uses the edges.
    pub is_overlay: bool,
    /// Number of carried messages.
    pub messages: u64,
    /// Total number of edges that these messages took.
    pub hops: u64,
    /// Maximum number of edges that a message took.
    pub longest_path: u32,
    /// All edges, in ascending order.
    pub edges: Vec<EdgeLoad>,
}

/// Load of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeLoad {
    /// The smaller end.
    pub one: ProcessId,
    /// The larger end.
    pub other: ProcessId,
    /// Weight, which multiplies the latency.
    pub weight: u64,
    /// Messages over the edge in both directions: the *stress* of the edge.
    pub messages: u64,
}

impl NetworkLoad {
    /// Returns the edge with the most messages, the first of several; `None` without edges.
    pub fn busiest(&self) -> Option<&EdgeLoad> {
        self.edges.iter().rev().max_by_key(|edge| edge.messages)
    }

    /// Returns the maximum stress: messages over the busiest edge.
    pub fn max_stress(&self) -> u64 {
        self.busiest().map_or(0, |edge| edge.messages)
    }

    /// Returns the mean stress: messages over an edge, over all edges; 0 without edges.
    pub fn mean_stress(&self) -> f64 {
        ratio(self.hops, self.edges.len() as u64)
    }

    /// Returns the mean stretch: edges per message, where a direct link is one edge; 0 without
    /// messages.
    pub fn mean_stretch(&self) -> f64 {
        ratio(self.hops, self.messages)
    }
}

/// Figures that can be averaged over runs.
#[derive(Serialize)]
pub(crate) struct NetworkFigures {
    hops: u64,
    stress: MeanAndMax<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stretch: Option<MeanAndMax<u64>>,
}

impl NetworkFigures {
    pub(crate) fn of(load: &NetworkLoad) -> Self {
        let stretch = MeanAndMax { mean: load.mean_stretch(), max: load.longest_path.into() };
        NetworkFigures {
            hops: load.hops,
            stress: MeanAndMax { mean: load.mean_stress(), max: load.max_stress() },
            stretch: load.is_overlay.then_some(stretch),
        }
    }
}

/// An edge in JSON.
#[derive(Serialize)]
struct EdgeFields {
    edge: [u32; 2],
    weight: u64,
    messages: u64,
}

#[derive(Serialize)]
struct NetworkFields {
    #[serde(flatten)]
    figures: NetworkFigures,
    edges: Vec<EdgeFields>,
}

impl Serialize for NetworkLoad {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let fields = |edge: &EdgeLoad| EdgeFields {
            edge: [edge.one.number(), edge.other.number()],
            weight: edge.weight,
            messages: edge.messages,
        };
        let edges = self.edges.iter().map(fields).collect();
        NetworkFields { figures: NetworkFigures::of(self), edges }.serialize(to)
    }
}
