//! Elections.

pub(super) mod bully;
pub(super) mod chang_roberts;
pub(super) mod hirschberg_sinclair;
pub(super) mod lelann;
pub(super) mod problem;
