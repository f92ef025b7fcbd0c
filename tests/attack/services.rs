//! Runs a lock service under random faults, including kills of all members. Clients write large
//! values, disks are slow, and some members restart often. The service satisfies its properties,
//! and serves all clients in the end.

use fastrand::Rng;
use serde_json::Value;

use crate::running::start;
use crate::strace::can_slow_disks;
use crate::{attack, seeds};

const DURATION_MS: u64 = 5_000;

/// Returns options with random faults of members. The last fault ends shortly before the run does.
fn faults(rng: &mut Rng, members: u32) -> String {
    let (mut at, mut line) = (rng.u64(300..900), String::new());
    loop {
        let until = at + rng.u64(200..1_500);
        if until + 400 > DURATION_MS {
            return line;
        }
        let target = rng.u32(1..=members);
        line += &match rng.u8(0..12) {
            0 | 1 => format!(" --kill all@{at}ms --restart all@{until}ms"),
            2 | 3 => format!(" --kill leader@{at}ms --restart leader@{until}ms"),
            4 => format!(" --kill {target}@{at}ms --restart {target}@{until}ms"),
            5 => format!(" --leave {target}@{at}ms --restart {target}@{until}ms"),
            6 => format!(" --pause leader@{at}ms..{until}ms"),
            7 => format!(" --partition leader@{at}ms..{until}ms"),
            8 => format!(" --partition {target}@{at}ms..{until}ms"),
            9 => format!(" --full-disk leader@{at}ms..{until}ms"),
            10 => format!(" --full-disk {target}@{at}ms..{until}ms"),
            _ => format!(" --pause {target}@{at}ms..{until}ms"),
        };
        at = until + rng.u64(200..1_000);
    }
}

/// Returns options that kill and restart one member or all members at short intervals.
fn short_lives(rng: &mut Rng, members: u32) -> String {
    let target = match rng.u32(0..=members) {
        0 => "all".to_owned(),
        target => target.to_string(),
    };
    let (mut at, mut line) = (rng.u64(300..1_500), String::new());
    for _ in 0..rng.u32(0..4) {
        let back = at + rng.u64(5..150);
        line += &format!(" --kill {target}@{at}ms --restart {target}@{back}ms");
        at = back + rng.u64(100..900);
    }
    line
}

/// Returns options that slow down the disks of members in successive periods.
fn slow_disks(rng: &mut Rng, members: u32) -> String {
    let (mut at, mut line) = (rng.u64(200..1_000), String::new());
    let flush = [5, 15, 50][rng.usize(..3)];
    line += &format!(" --slow-flush {flush}ms");
    for _ in 0..rng.u32(1..4) {
        let until = at + rng.u64(300..1_500);
        if until < DURATION_MS {
            let target = match rng.u32(0..4) {
                0 => "all".to_owned(),
                1 => "leader".to_owned(),
                _ => rng.u32(1..=members).to_string(),
            };
            line += &format!(" --slow-disk {target}@{at}ms..{until}ms");
        }
        at = until + rng.u64(50..500);
    }
    line
}

fn inject(seed: u64, is_slow: bool) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed);
    let members = [3, 5][rng.usize(..2)];
    let clients = rng.u32(1..=12);
    let mut faults = faults(&mut rng, members);
    faults += &short_lives(&mut rng, members);
    let values = ["64K", "256K", "1M", "1400K"][rng.usize(..4)];
    let snapshot = [10, 30, 100, 1_000][rng.usize(..4)];
    let slow = slow_disks(&mut rng, members);
    if is_slow {
        faults += &slow;
    }
    let line = format!(
        "run --service {members} --clients {clients} --duration {DURATION_MS}ms --think 5ms \
         --values {values} --snapshot-after {snapshot}{faults} --seed {seed}"
    );
    let ended = start(&format!("{line} --format json")).wait();
    let keeps = |result: &Value| {
        let verdicts = result["verdicts"].as_object();
        let all = verdicts.is_some_and(|all| all.values().all(|verdict| verdict == "holds"));
        all && result["entries"].as_u64() > Some(0)
    };
    match serde_json::from_str::<Value>(&ended.out) {
        Ok(result) if ended.code == Some(0) && keeps(&result) => {
            let [entries, faults, kept] = ["/entries", "/faults", "/values/acknowledged"]
                .map(|at| result.pointer(at).and_then(Value::as_u64).unwrap_or_default());
            eprintln!(
                "seed {seed}: {entries} entries, {kept} values, {faults} faults: tenure {line}"
            );
            Ok(())
        }
        _ => Err(format!("tenure {line}\n{}", ended.last_output())),
    }
}

#[test]
fn service_keeps_its_promises_under_random_faults() {
    let is_slow = can_slow_disks();
    attack("services", seeds(0..1), |seed| inject(seed, is_slow));
}
