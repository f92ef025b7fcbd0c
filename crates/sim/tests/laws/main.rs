//! Laws for every arrangement, every seed and every random schedule.

mod schedules;
mod seeds;
#[path = "../../../algorithms/tests/support/mod.rs"]
mod support;
