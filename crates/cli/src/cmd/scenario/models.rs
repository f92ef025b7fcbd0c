//! What can be agreed on at all, by what is known about time and messages.

use serde_json::{Value, json};
use tenure_core::TICKS_PER_UNIT;
use tenure_sim::Span;
use tenure_sim::scenario::generals::{Config, attack};

use super::Scenario;
use super::knobs::{Knob, Knobs};
use crate::cmd::experiment::{Experiment, Observable};
use crate::cmd::failure::Failure;

pub(super) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "two-generals",
    source: "the two generals of courses on distributed systems, with reliable messengers",
    says: "Two armies must attack together. The stronger leads; when to attack depends on what is \
           known about the messenger.",
    takes: &[Knob::Min, Knob::Max, Knob::Wait, Knob::Seeds],
    experiments: two_generals,
}];

fn two_generals(knobs: &Knobs) -> Vec<Experiment> {
    vec![who(), sampled(knobs), worst(knobs), middle(knobs), adversary(knobs)]
}

/// How many units later than the leader, who waits so long, the other attacks.
fn skew(wait: u64, latency: Span, seed: u64) -> Result<f64, Failure> {
    let config = Config { strengths: [1, 1], wait };
    let attack = attack(config, latency, seed).map_err(Failure::usage)?;
    let skew = attack.skew.ok_or_else(|| Failure::violated("the message never arrived"))?;
    Ok(skew as f64 / TICKS_PER_UNIT as f64)
}

fn who() -> Experiment {
    let lead = |armies: [[u32; 2]; 3]| {
        let leader = |strengths| {
            let latency = Span::units(1);
            let led = attack(Config { strengths, wait: 0 }, latency, 1).map_err(Failure::usage)?;
            Ok(led.leader.number())
        };
        let leaders: Result<Vec<u32>, Failure> = armies.into_iter().map(leader).collect();
        Ok(json!({ "leaders": leaders? }))
    };
    Experiment::call("armies of 3 and 2, of 2 and 2, of 2 and 3", move || {
        lead([[3, 2], [2, 2], [2, 3]])
    })
    .says("Who leads? The larger army, and of equals the first: both can tell, in any model.")
    .is("who leads", "/leaders", [1, 1, 2])
    .broken_call("the second army is the larger one throughout", move || {
        lead([[3, 4], [2, 4], [2, 4]])
    })
}

fn sampled(knobs: &Knobs) -> Experiment {
    let ((min, max), wait, seeds) = (knobs.delay(), knobs.wait(), knobs.seeds(500));
    let sample = move |wait: u64| -> Result<Value, Failure> {
        let latency = Span::between_units(min, max);
        let skews: Result<Vec<f64>, Failure> =
            (1..=seeds).map(|seed| skew(wait * TICKS_PER_UNIT, latency, seed)).collect();
        let skews = skews?;
        Ok(json!({
            "least": skews.iter().copied().fold(f64::INFINITY, f64::min),
            "most": skews.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }))
    };
    let (first, last) = ends(knobs);
    Experiment::call(
        format!("{seeds} messengers who take {min} to {max}; the leader waits {wait}"),
        move || sample(wait),
    )
    .says(
        "When? If a messenger takes min to max and the leader waits min before it attacks, the \
         other army is never the earlier one, and at most max − min later.",
    )
    .between("least skew of all", "/least", first, last)
    .between("most skew of all", "/most", first, last)
    .broken_call("the leader waits longer than any messenger takes", move || sample(max + wait + 1))
}

/// By how much the other army is later at least and at most.
fn ends(knobs: &Knobs) -> (f64, f64) {
    let ((min, max), wait) = (knobs.delay(), knobs.wait() as f64);
    (min as f64 - wait, max as f64 - wait)
}

fn worst(knobs: &Knobs) -> Experiment {
    let ((min, max), wait) = (knobs.delay(), knobs.wait());
    let at_the_ends = move |wait: u64| -> Result<Value, Failure> {
        let at = |delay| skew(wait * TICKS_PER_UNIT, Span::units(delay), 1);
        Ok(json!({ "fast": at(min)?, "slow": at(max)? }))
    };
    let (first, last) = ends(knobs);
    Experiment::call(
        format!("a messenger who takes {min}, and one who takes {max}; the leader waits {wait}"),
        move || at_the_ends(wait),
    )
    .says("Both ends happen.")
    .is("skew of the fastest", "/fast", first)
    .is("skew of the slowest", "/slow", last)
    .broken_call("the leader waits one unit longer", move || at_the_ends(wait + 1))
}

fn middle(knobs: &Knobs) -> Experiment {
    let (min, max) = knobs.delay();
    let at_the_ends = move |wait: u64| -> Result<Value, Failure> {
        let at = |delay| skew(wait, Span::units(delay), 1);
        Ok(json!({ "fast": at(min)?, "slow": at(max)? }))
    };
    let middle = (min + max) * TICKS_PER_UNIT / 2;
    let half = (max - min) as f64 / 2.0;
    Experiment::call(
        format!("the same messengers; the leader waits {}", (min + max) as f64 / 2.0),
        move || at_the_ends(middle),
    )
    .says("Waiting for the middle halves the worst skew; but then either army may be the first.")
    .is("skew of the fastest, from the middle", "/fast", -half)
    .is("skew of the slowest, from the middle", "/slow", half)
    .broken_call("the leader waits one unit longer", move || at_the_ends(middle + TICKS_PER_UNIT))
}

fn adversary(knobs: &Knobs) -> Experiment {
    let bound = knobs.delay().1;
    let waits = [0, knobs.wait(), 10 * bound, 1000 * bound];
    let stretch = move |beyond: u64| -> Result<Value, Failure> {
        let late = |wait: u64| {
            let latency = Span::units(wait + beyond);
            skew(wait * TICKS_PER_UNIT, latency, 1)
        };
        let late: Result<Vec<f64>, Failure> = waits.into_iter().map(late).collect();
        Ok(json!({ "late": late? }))
    };
    let least = |data: &Value| {
        let late = data["late"].as_array().into_iter().flatten().filter_map(Value::as_f64);
        late.fold(f64::INFINITY, f64::min)
    };
    let waited = waits.map(|wait| wait.to_string()).join(", ");
    Experiment::call(
        format!("the leader waits {waited}; each messenger takes {} longer", bound + 1),
        move || stretch(bound + 1),
    )
    .says(
        "Without a bound there is no when: whatever the leader waits, an adversary lets the \
         message take longer than that by more than any skew that was to be kept.",
    )
    .at_least("least skew, whatever was waited", Observable::found(least), bound as f64 + 1.0)
    .broken_call(format!("each takes at most {bound} longer: a bound"), move || stretch(bound))
}
