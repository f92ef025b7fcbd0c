//! Experiments of the lessons that no command line of `tenure` can perform. Each experiment is a
//! function with a name. The function takes arguments and returns measured numbers, both as JSON.

mod applications;
mod chatter;
mod couriers;
mod detector;
mod generals;
#[cfg(not(target_family = "wasm"))]
mod late_write;
mod perfect_detector;
mod preset_clocks;
mod race;
mod record;
mod several_locks;
mod story;

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::lessons::ActionResult;

pub(super) fn call(name: &str, arguments: &Value) -> Result<ActionResult, String> {
    match name {
        "berkeley" => parse_and_call(arguments, applications::run_berkeley),
        "chatter" => parse_and_call(arguments, chatter::count_order_violations),
        "couriers" => parse_and_call(arguments, couriers::explore_captures),
        "detector" => parse_and_call(arguments, detector::count_false_suspicions),
        "generals" => parse_and_call(arguments, generals::run_attacks),
        #[cfg(not(target_family = "wasm"))]
        "late-write" => parse_and_call(arguments, late_write::perform_late_write),
        #[cfg(target_family = "wasm")]
        "late-write" => Err("this experiment needs sockets: run it in a terminal".to_owned()),
        "perfect-detector" => parse_and_call(arguments, perfect_detector::check_detector),
        "primary-backup" => parse_and_call(arguments, applications::run_primary_backup),
        "race" => parse_and_call(arguments, race::explore_schedules),
        "record" => parse_and_call(arguments, record::count_final_values),
        "several-locks" => parse_and_call(arguments, several_locks::run_lock_sequences),
        "spanning-tree" => parse_and_call(arguments, applications::run_spanning_tree),
        "story" => parse_and_call(arguments, story::perform_script),
        "three-phase-commit" => parse_and_call(arguments, applications::run_three_phase_commit),
        "two-phase-commit" => parse_and_call(arguments, applications::run_two_phase_commit),
        _ => Err(format!("unknown call '{name}'")),
    }
}

fn parse_and_call<A: DeserializeOwned, M: Into<ActionResult>, E: Display>(
    arguments: &Value,
    call: impl FnOnce(A) -> Result<M, E>,
) -> Result<ActionResult, String> {
    let arguments = A::deserialize(arguments).map_err(|error| error.to_string())?;
    call(arguments).map(Into::into).map_err(|error| error.to_string())
}
