//! Every lock under every sort of fault: no update is lost, and service comes back where the card
//! promises it.

use fastrand::Rng;
use serde_json::Value;

use crate::running::start;
use crate::{attack, seeds};

/// How long a run lasts, in milliseconds.
const LENGTH: u64 = 4_000;

/// What is done to a group of five, drawn.
fn faults(rng: &mut Rng, sort: u64) -> String {
    let at = |rng: &mut Rng| rng.u64(300..LENGTH / 2);
    let (early, back) = (at(rng), rng.u64(LENGTH / 2..LENGTH - 200));
    let who = rng.u32(1..=5);
    match sort {
        0 => format!("--kill leader@{early}ms --restart leader@{back}ms"),
        1 => format!("--kill {who}@{early}ms --restart {who}@{back}ms"),
        2 => format!("--kill {who}@{early}ms"),
        3 => format!("--pause {who}@{early}ms..{back}ms --hold 2ms"),
        4 => format!("--fifo --lose 0.{:02} --duplicate 0.1", rng.u32(1..20)),
        _ => {
            let other = who % 5 + 1;
            format!(
                "--kill {who}@{early}ms --restart {who}@{back}ms \
                 --pause {other}@{early}ms..{back}ms --think 2ms"
            )
        }
    }
}

/// One run. A card that excludes the fault is right to refuse it.
fn hurt(seed: u64) -> Result<(), String> {
    let first = ["coordinated:bully", "coordinated:raft"];
    let locks: Vec<&str> = first.into_iter().chain(tenure_instances::locks()).collect();
    let mut rng = Rng::with_seed(seed);
    let lock = locks[usize::try_from(seed / 6).unwrap_or(0) % locks.len()];
    let faults = faults(&mut rng, seed % 6);
    let line = format!("run --nodes 5 --mutex {lock} --duration {LENGTH}ms {faults} --seed {seed}");
    let ended = start(&format!("{line} --format json")).wait();
    if ended.code == Some(2) && ended.err.contains("survives") {
        return Ok(());
    }
    let none_entered = |result: &Value| result["entries"].as_u64() == Some(0);
    match serde_json::from_str::<Value>(&ended.out) {
        Ok(result) if ended.code == Some(0) && !none_entered(&result) => Ok(()),
        _ => Err(format!("tenure {line}\n{}", ended.last_words())),
    }
}

#[test]
fn no_update_is_lost_and_service_comes_back() {
    // Four of the six sorts for the first lock; ten rounds of all are 6 × locks × 10.
    attack("faults", seeds(0..4), hurt);
}
