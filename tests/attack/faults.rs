//! Runs every lock under every kind of fault. Asserts that no update is lost. If the description of
//! the lock promises that entries resume after a fault, asserts that they resume.

use fastrand::Rng;
use serde_json::Value;

use crate::running::start;
use crate::{attack, seeds};

const DURATION_MS: u64 = 4_000;

/// Returns options with random faults for a group of five. The kind of the faults depends on
/// `sort`.
fn faults(rng: &mut Rng, sort: u64) -> String {
    let at = |rng: &mut Rng| rng.u64(300..DURATION_MS / 2);
    let (early, back) = (at(rng), rng.u64(DURATION_MS / 2..DURATION_MS - 200));
    let target = rng.u32(1..=5);
    match sort {
        0 => format!("--kill leader@{early}ms --restart leader@{back}ms"),
        1 => format!("--kill {target}@{early}ms --restart {target}@{back}ms"),
        2 => format!("--kill {target}@{early}ms"),
        3 => format!("--pause {target}@{early}ms..{back}ms --hold 2ms"),
        4 => format!("--fifo --lose 0.{:02} --duplicate 0.1", rng.u32(1..20)),
        _ => {
            let other = target % 5 + 1;
            format!(
                "--kill {target}@{early}ms --restart {target}@{back}ms \
                 --pause {other}@{early}ms..{back}ms --think 2ms"
            )
        }
    }
}

/// Executes one run with random faults. If the algorithm does not support these faults, the run is
/// rejected, and this function succeeds.
fn inject(seed: u64) -> Result<(), String> {
    let first = ["coordinated:bully", "coordinated:raft"];
    let locks: Vec<&str> = first.into_iter().chain(tenure_instances::lock_names()).collect();
    let mut rng = Rng::with_seed(seed);
    let lock = locks[usize::try_from(seed / 6).unwrap_or(0) % locks.len()];
    let faults = faults(&mut rng, seed % 6);
    let line =
        format!("run --nodes 5 --mutex {lock} --duration {DURATION_MS}ms {faults} --seed {seed}");
    let ended = start(&format!("{line} --format json")).wait();
    if ended.code == Some(2) && ended.err.contains("exceeds the faults") {
        return Ok(());
    }
    let none_entered = |result: &Value| result["entries"].as_u64() == Some(0);
    match serde_json::from_str::<Value>(&ended.out) {
        Ok(result) if ended.code == Some(0) && !none_entered(&result) => Ok(()),
        _ => Err(format!("tenure {line}\n{}", ended.last_output())),
    }
}

#[test]
fn locks_lose_no_updates_under_random_faults() {
    // The short test uses four seeds: four of the six kinds of faults, with the first lock. All
    // combinations of faults and locks, ten times each, need 6 × locks × 10 seeds.
    attack("faults", seeds(0..4), inject);
}
