//! Injects random faults into real processes. A seed determines the faults of a run. These tests
//! use few seeds. `cargo xtask attack` uses any number of seeds, and replays a single one.

mod faults;
mod files;
#[path = "../support/killed.rs"]
mod killed;
mod lasting;
#[cfg(all(target_os = "linux", feature = "service"))]
mod pauses;
mod running;
mod services;
#[path = "../support/skipped.rs"]
mod skipped;
#[path = "../cluster/strace.rs"]
#[allow(dead_code, reason = "only slow disks are tested here")]
mod strace;
#[path = "../cluster/waiting.rs"]
#[allow(dead_code, reason = "only the slots are used here")]
mod waiting;

use std::ops::Range;

/// Returns the seeds of `cargo xtask attack … --seeds A..B`, or else the few seeds in `short`.
fn seeds(short: Range<u64>) -> Range<u64> {
    let wanted = std::env::var("TENURE_SEEDS").unwrap_or_default();
    let range = wanted.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(short)
}

/// Returns true if `cargo xtask attack` has set the seeds. The runs are then longer.
#[cfg(all(target_os = "linux", feature = "service"))]
fn has_given_seeds() -> bool {
    std::env::var_os("TENURE_SEEDS").is_some()
}

/// Runs `attack` for each seed. Panics with the failed seeds, and with the commands that replay the
/// failed runs.
fn attack(kind: &str, seeds: Range<u64>, attack: impl Fn(u64) -> Result<(), String>) {
    // Only a few attacks run at the same time, because load influences the result.
    let _slot = waiting::cluster_slot();
    let total = seeds.clone().count();
    let mut wrong = Vec::new();
    for seed in seeds {
        if let Err(message) = attack(seed) {
            let replay = format!("cargo xtask attack {kind} --seeds {seed}..{}", seed + 1);
            eprintln!("{replay}: {message}");
            wrong.push(format!("{replay}\n{message}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {total}:\n{}", wrong.len(), wrong.join("\n\n"));
}
