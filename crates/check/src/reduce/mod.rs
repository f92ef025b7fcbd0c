//! Reductions of the state space.

pub(crate) mod ample;
pub(crate) mod attempts;
pub(crate) mod canonical;
pub(crate) mod certificate;
pub(crate) mod coexistence;
pub(crate) mod deliveries;
pub(crate) mod id_hash;
pub(crate) mod shifts;
pub(crate) mod symmetry;
