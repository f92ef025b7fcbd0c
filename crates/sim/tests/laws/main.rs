//! Laws that hold for every order of the processes on a ring, for every seed, and for every random
//! schedule.

mod schedules;
mod seeds;
#[path = "../../../algorithms/tests/support/mod.rs"]
mod support;
