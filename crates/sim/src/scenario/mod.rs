//! Worked examples that need no algorithm of the catalogue: why agreement and locks are wanted.

pub mod counter;
pub mod generals;
