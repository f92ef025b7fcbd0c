//! Worked examples without catalogue algorithms: why agreement and locks are needed.

pub mod counter;
pub mod generals;
