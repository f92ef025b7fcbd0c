//! An experiment with two generals whose messengers are reliable.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_core::TICKS_PER_TIME_UNIT;
use tenure_sim::scenario::generals::{Config, simulate_coordinated_attack};
use tenure_sim::{Distribution, RunError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GeneralsArguments {
    #[serde(default = "equal_strengths")]
    strengths: [u32; 2],
    /// Time for which the leading general waits before it attacks, in units of time.
    wait: f64,
    /// Least and greatest travel time of a messenger, in units of time.
    takes: [u64; 2],
    #[serde(default = "one")]
    seeds: u64,
}

fn equal_strengths() -> [u32; 2] {
    [1, 1]
}

fn one() -> u64 {
    1
}

/// Simulates one attack per seed. Returns the process number of the leading general, and the least
/// and the greatest delay of the other general in these attacks. The delay is the time from the
/// attack of the leading general to the attack of the other general, in units of time. It is
/// negative if the other general attacks first.
pub(super) fn run_attacks(with: GeneralsArguments) -> Result<Value, RunError> {
    let wait = (with.wait * TICKS_PER_TIME_UNIT as f64) as u64;
    let config = Config { strengths: with.strengths, wait };
    let latency = Distribution::between_time_units(with.takes[0], with.takes[1]);
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for seed in 1..=with.seeds {
        if let Some(skew) = simulate_coordinated_attack(config, latency, seed)?.skew {
            let skew = skew as f64 / TICKS_PER_TIME_UNIT as f64;
            (least, most) = (least.min(skew), most.max(skew));
        }
    }
    Ok(json!({ "leader": config.leading_army().display_number(), "least": least, "most": most }))
}
