//! What can be agreed on at all, by what is known about time and messages.

mod couriers;

use serde_json::{Value, json};
use tenure_core::TICKS_PER_UNIT;
use tenure_sim::Span;
use tenure_sim::scenario::generals::{Config, attack};

use super::Scenario;
use super::knobs::{Knob, Knobs};
use crate::cmd::experiment::{Experiment, Observable};
use crate::cmd::failure::Failure;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "two-generals",
        source: "the two generals of courses on distributed systems, with reliable messengers",
        says: "Two armies must attack together. The stronger leads; when to attack depends on what \
               is known about the messenger.",
        takes: &[Knob::Min, Knob::Max, Knob::Wait, Knob::Seeds],
        experiments: two_generals,
    },
    Scenario {
        name: "outside-assumptions",
        source: "models as sets of assumptions: about the network, clocks, and processors",
        says: "Every algorithm says what it assumes; a weaker environment is refused, unless \
               somebody insists.",
        takes: &[],
        experiments: outside,
    },
    Scenario {
        name: "stronger-model",
        source: "the remark that what is right in an asynchronous system is right in a \
                 synchronous one",
        says: "Asynchronous algorithms in a synchronous system: all that held still holds.",
        takes: &[],
        experiments: stronger,
    },
    Scenario {
        name: "asynchronous-is-fair",
        source: "the table of models: in an asynchronous system everything takes long, and comes",
        says: "Clocks drift, steps and messages take as long as they like, and all are served; \
               what is lost is another matter.",
        takes: &[],
        experiments: fair,
    },
    Scenario {
        name: "partial-synchrony",
        source: "Dwork, Lynch and Stockmeyer, Consensus in the Presence of Partial Synchrony, \
                 JACM 1988",
        says: "Bounds hold from some time on: Raft may elect nobody before, and does after.",
        takes: &[],
        experiments: partial,
    },
];

fn two_generals(knobs: &Knobs) -> Vec<Experiment> {
    vec![who(), sampled(knobs), worst(knobs), middle(knobs), adversary(knobs), caught()]
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

fn caught() -> Experiment {
    const MOST: u32 = 8;
    let try_all = |may_be_caught: bool| -> Result<Value, Failure> {
        let chain = couriers::chain(MOST, may_be_caught);
        Ok(json!({ "alike": chain.alike, "rules": chain.rules, "alone": chain.alone }))
    };
    // Four couriers reach each army; the first may attack without having heard, too.
    let rules = (MOST / 2 + 1) * (MOST / 2);
    Experiment::call("up to eight couriers, each confirming the last; one is caught", move || {
        try_all(true)
    })
    .says(
        "Where couriers may be caught, whoever sent the last one cannot tell the run in which it \
         arrives from the one in which it does not, and must do the same in both; so must the \
         other army in the next pair, down to the run in which nobody hears anything.",
    )
    .is("pairs of runs that one army cannot tell apart", "/alike", MOST)
    .is("rules by which both attack if none is caught", "/rules", rules)
    .is("rules by which one attacks alone in some run", "/alone", rules)
    .broken_call("no courier is ever caught", move || try_all(false))
}

fn outside(_: &Knobs) -> Vec<Experiment> {
    let refused = |name: &str, line: &str, says: &str, instead: &str| {
        Experiment::line(line).mentions(name, "/refused", says).broken(format!("{line} {instead}"))
    };
    vec![
        refused(
            "links that reorder",
            "simulate lamport --channel reordered",
            "lamport needs channels in order",
            "--beyond-assumptions",
        ),
        refused(
            "no bound on time",
            "simulate bully --timing asynchronous",
            "bully needs synchronous timing",
            "--beyond-assumptions",
        ),
        refused(
            "messages are lost",
            "simulate ricart-agrawala --lose 0.1",
            "tolerates no crash and no loss",
            "--beyond-assumptions",
        ),
        Experiment::line("check lamport -n 2 --channel reordered --beyond-assumptions")
            .says("Whoever insists sees what the assumption was good for.")
            .is("Lamport's lock then: one inside", "/properties/mutual-exclusion", "violated")
            .broken("check lamport -n 2 --channel fifo"),
    ]
}

fn stronger(_: &Knobs) -> Vec<Experiment> {
    ["central", "lamport", "ricart-agrawala", "suzuki-kasami", "chang-roberts", "lelann"]
        .into_iter()
        .map(|name| {
            let run = |more: &str| format!("simulate {name} -n 4 --seed 3 {more}");
            let weak = "--latency exp:2 --step exp:1 --drift 0.3";
            let both = |more: &str| {
                [
                    ("asynchronous", run(weak)),
                    ("synchronous", run(&format!("--timing synchronous {more}"))),
                ]
            };
            let kept = move |data: &Value| {
                let held = |run| data[run]["verdicts"].as_object().into_iter().flatten();
                held("asynchronous")
                    .filter(|(_, verdict)| *verdict == "holds")
                    .all(|(name, _)| data["synchronous"]["verdicts"][name] == "holds")
            };
            Experiment::lines(both(""))
                .is(format!("{name}: all that held still holds"), Observable::found(kept), true)
                .broken_lines(both("--lose 0.5 --beyond-assumptions"))
        })
        .collect()
}

fn fair(_: &Knobs) -> Vec<Experiment> {
    let run = |more: &str| {
        format!("simulate ricart-agrawala -n 4 --latency exp:100 --step exp:5 --drift 0.5 {more}")
    };
    vec![
        Experiment::line(run(""))
            .is("entries", "/entries/total", 4)
            .is("who waits for ever", "/blocked", Vec::<u32>::new())
            .is("progress", "/verdicts/progress", "holds")
            .broken(run("--lose 0.5 --beyond-assumptions")),
    ]
}

fn partial(_: &Knobs) -> Vec<Experiment> {
    let run = |gst: u32| format!("simulate raft --timing partial --gst {gst}");
    vec![
        Experiment::line(run(50))
            .at_least("when all know who leads", "/finished_at", 50)
            .is("all agree", "/verdicts/agreement", "holds")
            .is(
                "how many lead",
                Observable::found(|data| data["leaders"].as_array().map_or(0, Vec::len)),
                1,
            )
            .broken(run(0)),
    ]
}
