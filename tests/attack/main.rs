//! The rig: real processes are hurt and lied to, by seeds. What is here is its short part;
//! `cargo xtask attack` takes as many seeds as you like, and replays one.

mod faults;
mod files;
mod lasting;
mod logs;
mod running;
mod services;
#[path = "../cluster/strace.rs"]
#[allow(dead_code, reason = "disks are slow here, and fail nowhere")]
mod strace;
#[path = "../cluster/waiting.rs"]
#[allow(dead_code, reason = "commands are waited for here, and nothing is asked of them")]
mod waiting;

use std::ops::Range;

/// Which seeds to take: those of `cargo xtask attack … --seeds A..B`, or these.
fn seeds(short: Range<u64>) -> Range<u64> {
    let wanted = std::env::var("TENURE_SEEDS").unwrap_or_default();
    let range = wanted.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(short)
}

/// Does this for each seed, and says in the end which of them went wrong and how to see it again.
fn attack(kind: &str, seeds: Range<u64>, attack: impl Fn(u64) -> Result<(), String>) {
    // A long run takes one kind after the other: there, the machine is part of the experiment.
    let _place = waiting::place();
    let total = seeds.clone().count();
    let mut wrong = Vec::new();
    for seed in seeds {
        if let Err(says) = attack(seed) {
            let replay = format!("cargo xtask attack {kind} --seeds {seed}..{}", seed + 1);
            eprintln!("{replay}: {says}");
            wrong.push(format!("{replay}\n{says}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {total}:\n{}", wrong.len(), wrong.join("\n\n"));
}
