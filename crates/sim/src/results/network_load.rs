//! Load of the edges of a network.

use serde::{Serialize, Serializer};
use tenure_core::ProcessId;

use crate::results::accumulators::ratio;
use crate::results::json::MeanAndMax;

/// Load of a network in a run. The numbers do not include messages that are lost or stopped by a
/// partition when they leave their sender, and messages of a process to itself. Each copy of a
/// duplicated message counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkLoad {
    /// True if the network is an underlay, which can carry a message over several edges. False if
    /// the algorithm itself sends each message along one edge.
    pub is_underlay: bool,
    /// Number of messages that the network carried.
    pub messages: u64,
    /// Total number of edges that the messages crossed. A message counts once for each edge on its
    /// route.
    pub hops: u64,
    /// Number of edges on the longest route that a message took.
    pub longest_path: u32,
    /// All edges of the network, ordered by their vertices.
    pub edges: Vec<EdgeLoad>,
}

/// Load of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeLoad {
    /// The vertex of this edge that has the smaller process number.
    pub one: ProcessId,
    /// The vertex of this edge that has the larger process number.
    pub other: ProcessId,
    /// Weight of the edge. The latency of a message on the edge is a random latency multiplied by
    /// the weight.
    pub weight: u64,
    /// Number of messages over the edge in both directions: the *stress* of the edge.
    pub messages: u64,
}

impl NetworkLoad {
    /// Returns the edge that carried the largest number of messages. If several edges carried this
    /// number, returns the first of them. Returns `None` if the network has no edges.
    pub fn busiest_edge(&self) -> Option<&EdgeLoad> {
        self.edges.iter().rev().max_by_key(|edge| edge.messages)
    }

    /// Returns the maximum stress, which is the number of messages over the busiest edge. Returns 0
    /// if there are no edges.
    pub fn max_messages_per_edge(&self) -> u64 {
        self.busiest_edge().map_or(0, |edge| edge.messages)
    }

    /// Returns the mean stress, which is the mean number of messages that crossed an edge of the
    /// network. Returns 0 if there are no edges.
    pub fn mean_messages_per_edge(&self) -> f64 {
        ratio(self.hops, self.edges.len() as u64)
    }

    /// Returns the mean stretch, which is the mean number of edges of the network that a message
    /// crossed. Returns 0 if there were no messages.
    pub fn mean_hops(&self) -> f64 {
        ratio(self.hops, self.messages)
    }
}

/// Numbers about the load of a network that can be averaged over runs. `stretch` is `None` if the
/// network is not an underlay.
#[derive(Serialize)]
pub(crate) struct NetworkFigures {
    hops: u64,
    stress: MeanAndMax<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stretch: Option<MeanAndMax<u64>>,
}

impl NetworkFigures {
    pub(crate) fn from_load(load: &NetworkLoad) -> Self {
        let stretch = MeanAndMax { mean: load.mean_hops(), max: load.longest_path.into() };
        NetworkFigures {
            hops: load.hops,
            stress: MeanAndMax {
                mean: load.mean_messages_per_edge(),
                max: load.max_messages_per_edge(),
            },
            stretch: load.is_underlay.then_some(stretch),
        }
    }
}

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
            edge: [edge.one.display_number(), edge.other.display_number()],
            weight: edge.weight,
            messages: edge.messages,
        };
        let edges = self.edges.iter().map(fields).collect();
        NetworkFields { figures: NetworkFigures::from_load(self), edges }.serialize(to)
    }
}
