//! The search: breadth-first, level by level, on all cores, with one result for any number of
//! threads.

mod levels;
mod parallel;

pub(crate) use levels::{Ended, Explored, Search};
