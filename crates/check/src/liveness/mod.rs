//! What lasts for ever: the graph of a finished search, and who waits in it.

pub(crate) mod circle;
pub(crate) mod components;
pub(crate) mod fairness;
pub(crate) mod graph;
