//! Two threads that change a counter at once, one up and one down.

use std::convert::Infallible;

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_sim::scenario::counter::{Race, Statements};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counter {
    start: i64,
    /// Whether each statement is under a lock.
    #[serde(default)]
    locked: bool,
    /// Schedules that are told, as the threads whose turn it is.
    #[serde(default)]
    schedules: Vec<[usize; 6]>,
}

/// How many schedules there are, after how many of them the counter has which value, and what
/// happens in those that are told.
pub(super) fn race(with: Counter) -> Result<Value, Infallible> {
    let race = Race::new(with.start, [1, -1]);
    let statements = if with.locked { Statements::Atomic } else { Statements::Interruptible };
    let words = |schedule: &[usize; 6]| {
        race.run(schedule).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    Ok(json!({
        "schedules": race.schedules(statements).len(),
        "finals": race.finals(statements),
        "told": with.schedules.iter().map(words).collect::<Vec<_>>(),
    }))
}
