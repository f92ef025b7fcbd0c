//! Two threads that change a counter concurrently, one up and one down.

use std::convert::Infallible;

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_sim::scenario::counter::{Race, Statements};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counter {
    start: i64,
    /// True if each statement is protected by a lock.
    #[serde(default)]
    locked: bool,
    /// Schedules to describe, as sequences of threads.
    #[serde(default)]
    schedules: Vec<[usize; 6]>,
}

/// Returns the number of schedules, the number of schedules for each final value, and descriptions
/// of the given schedules.
pub(super) fn race(with: Counter) -> Result<Value, Infallible> {
    let race = Race::new(with.start, [1, -1]);
    let statements = if with.locked { Statements::Atomic } else { Statements::Interruptible };
    let words = |schedule: &[usize; 6]| {
        race.run(schedule).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    Ok(json!({
        "schedules": race.schedules(statements).len(),
        "finals": race.finals(statements),
        "transcript": with.schedules.iter().map(words).collect::<Vec<_>>(),
    }))
}
