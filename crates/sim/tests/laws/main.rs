//! Laws that hold for every order on a ring, every seed and every random schedule.

mod schedules;
mod seeds;
#[path = "../../../algorithms/tests/support/mod.rs"]
mod support;
