//! A log under random faults, all nodes at once among them: nothing acknowledged is lost, nothing
//! is done twice, and no two are told of different orders.

use fastrand::Rng;
use serde_json::Value;

use crate::running::start;
use crate::{attack, seeds};

/// How long clients ask, in milliseconds.
const LENGTH: u64 = 5_000;

/// What is done to a group until shortly before the end, one thing after the other.
fn faults(rng: &mut Rng, nodes: u32) -> String {
    let (mut at, mut line) = (rng.u64(300..900), String::new());
    loop {
        let until = at + rng.u64(200..1_500);
        if until + 400 > LENGTH {
            return line;
        }
        let who = rng.u32(1..=nodes);
        line += &match rng.u8(0..7) {
            0 | 1 => format!(" --kill all@{at}ms --restart all@{until}ms"),
            2 => format!(" --kill leader@{at}ms --restart leader@{until}ms"),
            3 => format!(" --kill {who}@{at}ms --restart {who}@{until}ms"),
            4 => format!(" --pause leader@{at}ms..{until}ms"),
            5 => format!(" --pause {who}@{at}ms..{until}ms"),
            _ => format!(" --partition leader@{at}ms..{until}ms"),
        };
        at = until + rng.u64(200..1_000);
    }
}

fn hurt(seed: u64) -> Result<(), String> {
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
        _ => Err(format!("tenure {line}\n{}", ended.last_words())),
    }
}

#[test]
fn nothing_acknowledged_is_lost_done_twice_or_told_in_two_orders() {
    attack("logs", seeds(0..1), hurt);
}
