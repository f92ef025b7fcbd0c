//! Long runs under random faults or with a failed peer. The memory of every process stays constant.

use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::Value;

use crate::running::{Running, start};
use crate::{attack, seeds};

const NODES: usize = 5;

/// Upper bound on the growth of a process's memory, in MiB, from the first half of a run to the
/// second half. The bound allows some growth, because the history that the verifier stores still
/// grows in a short run.
const MAX_GROWTH_MIB: u64 = 64;

/// Returns the length of a run in seconds. It is the value of `cargo xtask attack lasting
/// --seconds`, or else the default.
fn seconds() -> u64 {
    std::env::var("TENURE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// Returns options that inject random faults into a group of five until the run ends. Each fault is
/// a kill or a pause, and is followed by a recovery.
fn faults(rng: &mut Rng, seconds: u64) -> String {
    let (mut at, mut line) = (1_000, String::new());
    while at + 4_000 < seconds * 1_000 {
        let (target, back) = (rng.u32(1..=5), at + rng.u64(500..2_500));
        line += &match rng.u8(0..3) {
            0 => format!(" --pause {target}@{at}ms..{back}ms"),
            1 => format!(" --kill leader@{at}ms --restart leader@{back}ms"),
            _ => format!(" --kill {target}@{at}ms --restart {target}@{back}ms"),
        };
        at = back + rng.u64(1_500..6_000);
    }
    line
}

/// Returns the resident memory, in MiB, of the process of a run and of each child of this process.
/// The keys are process IDs. The map is empty if the system does not report the memory.
fn memory(run: &Running) -> BTreeMap<u32, u64> {
    let parent = run.child.id();
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    let resident = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some((process, kib / 1024))
    };
    children.chain([parent]).filter_map(resident).collect()
}

/// Watches a run. For each half of the run, returns the largest memory of any of its processes, in
/// MiB. The first half begins when all nodes have started, except the node that a fault may stop.
fn watch(run: &mut Running, seconds: u64) -> (u64, u64) {
    let (started, mut largest) = (Instant::now(), Vec::new());
    let mut report = 0;
    while run.child.try_wait().unwrap().is_none() && started.elapsed().as_secs() < seconds + 600 {
        let all = memory(run);
        if all.len() >= NODES || !largest.is_empty() {
            largest.push(all.values().copied().max().unwrap_or(0));
        }
        let passed = started.elapsed().as_secs();
        if passed >= report {
            eprintln!("{passed:>5} s  parent and nodes, MiB: {all:?}");
            report += (seconds / 20).max(1);
        }
        sleep(Duration::from_millis(100));
    }
    let (first, second) = largest.split_at(largest.len() / 2);
    let max = |half: &[u64]| half.iter().copied().max().unwrap_or(0);
    (max(first), max(second))
}

fn lasts(seed: u64) -> Result<(), String> {
    let seconds = seconds();
    let mut rng = Rng::with_seed(seed);
    let faults = match seed % 2 {
        0 => faults(&mut rng, seconds),
        _ => " --kill 2@1s".to_owned(),
    };
    let line =
        format!("run --nodes {NODES} --duration {seconds}s --trace-mib 2{faults} --seed {seed}");
    let mut run = start(&format!("{line} --format json"));
    let (first, second) = watch(&mut run, seconds);
    let ended = run.wait();
    let wrong = |message: &str| Err(format!("tenure {line}\n{message}\n{}", ended.last_output()));
    if ended.code != Some(0) {
        return wrong("it did not hold");
    }
    let result: Value = serde_json::from_str(&ended.out).map_err(|error| error.to_string())?;
    eprintln!(
        "{} entries, {} records: {first}, then {second} MiB",
        result["entries"], result["records"]
    );
    if cfg!(target_os = "linux") && second == 0 {
        return wrong("no memory was measured");
    }
    if second > first + MAX_GROWTH_MIB {
        return wrong(&format!("{first} MiB at most in the first half, {second} in the second"));
    }
    Ok(())
}

#[test]
#[ignore = "long: 6 s"]
fn memory_is_constant_in_long_runs() {
    attack("lasting", seeds(0..2), lasts);
}
