//! What is counted in a run, and how it is told.

pub(crate) mod elections;
pub(crate) mod faults_seen;
pub(crate) mod json;
pub(crate) mod metrics;
pub(crate) mod moments;
pub(crate) mod report;
pub(crate) mod summary;
pub(crate) mod tally;
