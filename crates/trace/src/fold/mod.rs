//! State reconstructed from the records of a trace, one record at a time.
//!
//! Verification, diagrams and live views share this code.

pub(crate) mod logs;
pub(crate) mod process_state;
