//! A replicated log under random faults, including kills of all nodes: no acknowledged entry is
//! lost, none is applied twice, and all nodes apply the same order.

use fastrand::Rng;
use serde_json::Value;

use crate::running::start;
use crate::{attack, seeds};

/// Time of the clients in milliseconds.
const LENGTH: u64 = 5_000;

/// Random faults for a group until shortly before the end.
fn faults(rng: &mut Rng, nodes: u32) -> String {
    let (mut at, mut line) = (rng.u64(300..900), String::new());
    loop {
        let until = at + rng.u64(200..1_500);
        if until + 400 > LENGTH {
            return line;
        }
        let target = rng.u32(1..=nodes);
        line += &match rng.u8(0..7) {
            0 | 1 => format!(" --kill all@{at}ms --restart all@{until}ms"),
            2 => format!(" --kill leader@{at}ms --restart leader@{until}ms"),
            3 => format!(" --kill {target}@{at}ms --restart {target}@{until}ms"),
            4 => format!(" --pause leader@{at}ms..{until}ms"),
            5 => format!(" --pause {target}@{at}ms..{until}ms"),
            _ => format!(" --partition leader@{at}ms..{until}ms"),
        };
        at = until + rng.u64(200..1_000);
    }
}

fn inject(seed: u64) -> Result<(), String> {
    let mut rng = Rng::with_seed(seed);
    let nodes = [3, 5][rng.usize(..2)];
    let clients = rng.u32(1..=12);
    let loss = if rng.bool() { " --lose 0.02 --duplicate 0.05" } else { "" };
    let faults = faults(&mut rng, nodes);
    let line = format!(
        "run --log raft-log --nodes {nodes} --clients {clients} --duration {LENGTH}ms --think \
         5ms{loss}{faults} --seed {seed}"
    );
    let ended = start(&format!("{line} --format json")).wait();
    let served = |result: &Value| result["operations"]["answered"].as_u64() > Some(0);
    match serde_json::from_str::<Value>(&ended.out) {
        Ok(result) if ended.code == Some(0) && served(&result) => {
            let [answered, crashes] =
                ["/operations/answered", "/crashes"].map(|at| result.pointer(at).cloned());
            eprintln!("seed {seed}: {answered:?} answered, {crashes:?} crashes: tenure {line}");
            Ok(())
        }
        _ => Err(format!("tenure {line}\n{}", ended.last_output())),
    }
}

#[test]
fn log_loses_and_reorders_nothing_under_random_faults() {
    attack("logs", seeds(0..1), inject);
}
