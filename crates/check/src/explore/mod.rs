//! Breadth-first search on several threads. The result does not depend on the number of threads,
//! unless the caller or a limit on time or memory ends the search.

pub(crate) mod forced_steps;
mod step_lookup;
mod step_setup;
pub(crate) mod successor;
pub(crate) mod successors;
mod time;
pub(crate) mod visited;

mod annotations;
mod expansion;
mod faults;
mod frontier;
mod origins;
mod packed;
pub(crate) mod parallel;
mod restart_detection;
mod rounds;
mod search;

pub(crate) use annotations::state_annotations;
pub(crate) use expansion::panic_message;
pub(crate) use search::{BreadthFirstSearch, SearchEnd, SearchResult};
