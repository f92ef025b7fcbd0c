//! Reductions of the state space.

pub(crate) mod ample;
pub(crate) mod canonical;
pub(crate) mod shifts;
pub(crate) mod symmetry;
