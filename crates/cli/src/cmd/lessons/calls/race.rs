//! An experiment with two threads and a counter. One thread increments the counter while the other
//! decrements it.

use std::convert::Infallible;

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_sim::scenario::counter::{Atomicity, CounterRace};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RaceArguments {
    start: i64,
    /// True if each statement is protected by a lock.
    #[serde(default)]
    locked: bool,
    /// Schedules to describe. Each schedule contains, for each of the six steps, the index of the
    /// thread that takes this step.
    #[serde(default)]
    schedules: Vec<[usize; 6]>,
}

/// Explores all schedules of the two threads. Returns three results: the number of schedules, the
/// number of schedules that lead to each final value, and descriptions of the schedules that the
/// arguments list.
pub(super) fn explore_schedules(with: RaceArguments) -> Result<Value, Infallible> {
    let race = CounterRace::new(with.start, [1, -1]);
    let atomicity = if with.locked { Atomicity::Atomic } else { Atomicity::Interruptible };
    let words = |schedule: &[usize; 6]| {
        race.run(schedule).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    Ok(json!({
        "schedules": race.all_schedules(atomicity).len(),
        "finals": race.final_values(atomicity),
        "transcript": with.schedules.iter().map(words).collect::<Vec<_>>(),
    }))
}
