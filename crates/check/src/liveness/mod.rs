//! Analysis of liveness on the graph of a finished search.

pub(crate) mod components;
pub(crate) mod cycle;
pub(crate) mod fairness;
pub(crate) mod graph;
