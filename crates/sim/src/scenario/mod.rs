//! Worked examples that use no algorithm of the catalogue. They show why agreement and locks are
//! needed.

pub mod counter;
pub mod generals;
