//! Worlds that are taken for one another, and orders that stand for many.

pub(crate) mod ample;
pub(crate) mod canonical;
pub(crate) mod shifts;
pub(crate) mod symmetry;
