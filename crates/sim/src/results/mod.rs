//! Measurements of a run and their output.

pub(crate) mod accumulators;
pub(crate) mod elections;
pub(crate) mod fault_counts;
pub(crate) mod json;
pub(crate) mod load;
pub(crate) mod metrics;
pub(crate) mod moments;
pub(crate) mod network_load;
pub(crate) mod report;
pub(crate) mod run_statistics;
pub(crate) mod sample;
