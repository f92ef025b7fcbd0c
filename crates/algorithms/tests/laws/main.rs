//! Laws: what holds for every arrangement, every seed and every random schedule.

mod applications;
mod schedules;
mod seeds;
#[path = "../support/mod.rs"]
mod support;
