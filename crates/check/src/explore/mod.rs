//! The search: breadth-first, level by level, on all cores, with one result for any number of
//! threads.

mod steered;
mod steps;
pub(crate) mod successors;
pub(crate) mod visited;

mod faults;
mod frontier;
mod harvest;
mod levels;
mod notes;
mod origins;
mod packed;
mod parallel;
mod sessions;

pub(crate) use harvest::Panicked;
pub(crate) use levels::{Ended, Explored, Search};
