//! What no line of the command can do, by name: a call takes arguments and gives figures, as data.

mod aged;
mod applications;
mod chatter;
mod couriers;
mod detector;
mod generals;
mod late;
mod race;
mod record;
mod several;
mod story;

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_lessons::Made;

/// Does what is called so.
pub(super) fn call(name: &str, arguments: &Value) -> Result<Made, String> {
    match name {
        "berkeley" => with(arguments, applications::berkeley),
        "chatter" => with(arguments, chatter::lamport),
        "couriers" => with(arguments, couriers::chain),
        "detector" => with(arguments, detector::doubts),
        "generals" => with(arguments, generals::attacks),
        "late-write" => with(arguments, late::write),
        "primary-backup" => with(arguments, applications::primary_backup),
        "race" => with(arguments, race::race),
        "record" => with(arguments, record::finals),
        "several-locks" => with(arguments, several::locks),
        "spanning-tree" => with(arguments, applications::spanning_tree),
        "story" => with(arguments, story::perform),
        "three-phase-commit" => with(arguments, applications::three_phase_commit),
        "two-phase-commit" => with(arguments, applications::two_phase_commit),
        _ => Err(format!("nothing is called {name}")),
    }
}

/// Reads the arguments, and does it.
fn with<A: DeserializeOwned, M: Into<Made>, E: Display>(
    arguments: &Value,
    call: impl FnOnce(A) -> Result<M, E>,
) -> Result<Made, String> {
    let arguments = A::deserialize(arguments).map_err(|error| error.to_string())?;
    call(arguments).map(Into::into).map_err(|error| error.to_string())
}
