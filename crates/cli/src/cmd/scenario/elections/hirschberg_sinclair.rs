//! Hirschberg and Sinclair: probes in both directions, twice as far in each phase.

use std::collections::BTreeSet;

use serde_json::Value;
use tenure_algorithms::election::{HirschbergSinclair, hirschberg_sinclair};
use tenure_core::Rank;

use crate::cmd::experiment::{Experiment, Made, Observable, same_for_all, story};
use crate::cmd::failure::Failure;
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::Knobs;

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "hirschberg-sinclair-phases",
        source: "Hirschberg and Sinclair, Decentralized Extrema-Finding in Circular \
                 Configurations of Processors, CACM 1980",
        says: "In phase k a candidate costs 4·2^k messages, and n/(2^(k−1) + 1) candidates are \
               left at most.",
        takes: &[],
        experiments: phases,
    },
    Scenario {
        name: "hirschberg-sinclair-bound",
        source: "the sum over the phases in lecture slides on Hirschberg and Sinclair",
        says: "82.93, 222.76, 565.98 and 1380.2 for 4, 8, 16 and 32 processes, all of them below \
               8n(log n + 2) + 5n.",
        takes: &[],
        experiments: bound,
    },
    Scenario {
        name: "hirschberg-sinclair-eight",
        source: "the figure of eight processes on a ring in both directions",
        says: "8 gets its own probe back in phase 3, when probes go 2³ hops, on any ring.",
        takes: &[],
        experiments: eight,
    },
];

const SCRIPT: &str =
    include_str!("../../../../../algorithms/tests/golden/hirschberg_sinclair_eight/phases.txt");

/// The most candidates of eight that there can be, phase by phase.
const MOST: [u32; 8] = [8, 1, 5, 2, 7, 3, 6, 4];
/// Ids that only grow: seven of eight leave in the first phase.
const GROWING: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn eight_of(ranks: [u32; 8]) -> Result<Made, Failure> {
    let config = hirschberg_sinclair::Config { ranks: ranks.map(Rank::of_id).into() };
    story::<HirschbergSinclair>("hirschberg-sinclair", SCRIPT, same_for_all(config))
}

/// The lines of the story that send something in a phase.
fn sent(data: &Value, phase: usize) -> impl Iterator<Item = &str> {
    let in_phase = format!("phase: {phase},");
    let lines = data["told"].as_array().into_iter().flatten().flat_map(|it| it.as_array());
    let lines = lines.flatten().filter_map(Value::as_str);
    lines.filter(move |line| line.starts_with("  sends ") && line.contains(&in_phase))
}

fn messages(data: &Value) -> Vec<usize> {
    (0..4).map(|phase| sent(data, phase).count()).collect()
}

fn candidates(data: &Value) -> Vec<usize> {
    let rank = |line: &str| {
        let rest = line.split_once("rank: ").map(|(_, rest)| rest);
        rest.and_then(|rest| rest.split(',').next()).map(str::to_owned)
    };
    let of = |phase| sent(data, phase).filter_map(rank).collect::<BTreeSet<_>>().len();
    (0..4).map(of).collect()
}

fn phases(_: &Knobs) -> Vec<Experiment> {
    vec![
        Experiment::call("eight processes with ids 8, 1, 5, 2, 7, 3, 6, 4; all start", || {
            eight_of(MOST)
        })
        .says("As many candidates as there can be; in the last phase the probes meet halfway.")
        .is("candidates by phase", Observable::found(candidates), [8, 4, 2, 1])
        .is("messages by phase", Observable::found(messages), [24, 24, 24, 16])
        .is("announcements", "/messages/by_kind/elected", 8)
        .broken_call("the same with ids that grow", || eight_of(GROWING)),
    ]
}

/// 4n + n + Σ 4·2^k·n/(2^(k−1) + 1) for k from 1 to ⌈log₂(n − 1)⌉ + 1.
fn sum(n: u32) -> f64 {
    let size = f64::from(n);
    let last = (size - 1.0).log2().ceil() as i32 + 1;
    let phase = |k: i32| 4.0 * 2_f64.powi(k) * size / (2_f64.powi(k - 1) + 1.0);
    4.0 * size + size + (1..=last).map(phase).sum::<f64>()
}

fn bound(_: &Knobs) -> Vec<Experiment> {
    let run = |n: u32| format!("simulate hirschberg-sinclair -n {n} --ids random --runs 50");
    let bounded = |n: u32| {
        Experiment::line(run(n))
            .at_most(format!("most messages of {n}"), "/summary/messages/total/max", sum(n))
            .broken(run(4 * n))
    };
    [4, 8, 16, 32].into_iter().map(bounded).collect()
}

fn eight(_: &Knobs) -> Vec<Experiment> {
    let run = |n: u32| format!("simulate hirschberg-sinclair -n {n} --ids random --runs 200");
    vec![
        Experiment::call("eight processes with ids 1 to 8; all start", || eight_of(GROWING))
            .is("leader", "/leaders", [8])
            .mentions("probes of 8 in phase 3", "/told", "rank: 8, phase: 3, hops: 8")
            .broken_call("ids 2 to 9", || eight_of(GROWING.map(|id| id + 1))),
        Experiment::line(run(8))
            .says("Two hundred rings.")
            .is("who leads in the first", "/leaders", [8])
            .is("properties violated in any run", "/summary/violated", serde_json::json!({}))
            .broken(run(9)),
    ]
}
