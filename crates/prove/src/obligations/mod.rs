//! Proof obligations, and their decision by a solver.

pub(crate) mod counterexample;
pub(crate) mod finite_models;
pub(crate) mod parallel;
pub(crate) mod proof;
pub(crate) mod redundancy;
pub(crate) mod report;
