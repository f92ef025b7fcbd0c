//! Configuration that algorithms on a graph share.

use alloc::sync::Arc;

use tenure_core::Graph;

use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{VariantId, Variants};

/// Configuration of one process, for algorithms that need nothing but a graph.
#[derive(Clone, Debug)]
pub struct GraphConfig<S: VariantId> {
    /// The connected graph of the group. Depending on the algorithm, an edge is a link between two
    /// processes or a conflict between them.
    pub graph: Arc<Graph>,
    /// Variants that are switched on.
    pub variants: Variants<S>,
}

impl<S: VariantId> GraphConfig<S> {
    /// Returns a configuration for this connected graph, without variants.
    pub fn with_graph(graph: Graph) -> Self {
        GraphConfig { graph: Arc::new(graph), variants: Variants::none() }
    }
}

impl<S: VariantId> FromParameters for GraphConfig<S> {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Ok(GraphConfig { graph: parameters.graph()?, variants: parameters.variants()? })
    }
}
