//! Card of the algorithm of Gallager, Humblet and Spira: assumptions, costs and promises.

use alloc::sync::Arc;

use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ChannelOrder, MessageCost, ProcessKnowledge, Property, ToleratedFaults,
};

use super::{Config, GallagerHumbletSpira, VariantId};
use crate::Variants;

/// Returns the minimum and the maximum number of messages on a graph with E edges and N processes.
/// Each number is the sum of a bound for building the tree and the N − 2 messages of the
/// announcement.
///
/// The maximum: two messages reject an edge. At most E − 1 edges are rejected, because the core
/// edge of the last fragment belongs to the tree. At level 0 a process sends at most one Connect.
/// At each level between the first and the last, a process receives at most one Initiate and one
/// Accept. It sends at most one accepted Test, one Report, and one Change-root or Connect. At the
/// last level a process receives one Initiate and sends one Report. So building the tree takes at
/// most 2(E − 1) + N + 5N(⌊log₂N⌋ − 1) + 2N messages.
///
/// The minimum: each of the N − 1 edges of the tree carries one Connect, and the edge at the core
/// carries a second Connect. Two messages reject each of the E − (N − 1) edges outside of the tree.
/// At the last level each process receives one Initiate and sends one Report. So building the tree
/// takes at least N + 2(E − (N − 1)) + 2N messages.
fn bounds(edges: u64, n: u64) -> (u64, u64) {
    let announced = n - 2;
    let least = 2 * edges + n + 2;
    let most = 2 * edges + 5 * n * u64::from(n.ilog2()) - 2 * n - 2;
    (least + announced, most + announced)
}

impl Algorithm for GallagerHumbletSpira {
    fn card(config: &Config, size: u32) -> Card {
        let (least, most) = match size {
            1 => (0, 0),
            _ => bounds(config.graph.edge_count() as u64, u64::from(size)),
        };
        Card {
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults::none(
                "a crash or a lost message leaves a fragment waiting, and a duplicate counts twice",
            ),
            knows: ProcessKnowledge::UNIFORM,
            messages: MessageCost::per_election(
                "2E + 2N … 2E + 5N⌊log₂N⌋ − N − 4",
                least,
                Some(most),
            ),
            promises: [Property::Agreement, Property::Progress].into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "gallager-humblet-spira",
                "fragments of the minimum spanning tree merge, and the core of the last one elects",
                "Gallager, Humblet & Spira, ACM TOPLAS 5(1), 1983",
            )
        }
        .on_graph(Arc::clone(&config.graph))
    }

    fn predicted_messages(config: &Config, size: u32, _: WorkloadKind) -> Option<Prediction> {
        let (edges, n) = (config.graph.edge_count() as u64, u64::from(size));
        Some(match size {
            1 => Prediction::new(PredictionKind::Exact, 0),
            _ => Prediction::new(PredictionKind::Most, bounds(edges, n).1),
        })
    }
}
