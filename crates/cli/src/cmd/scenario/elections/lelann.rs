//! LeLann: every rank goes all the way round.

use crate::cmd::experiment::Experiment;
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::{Knob, Knobs};

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "lelann-messages",
        source: "Le Lann, Distributed Systems: Towards a Formal Approach, IFIP 1977",
        says: "N² messages, whoever starts; the own rank goes before another's is passed on.",
        takes: &[Knob::N(2, 60)],
        experiments: messages,
    },
    Scenario {
        name: "lelann-recovered",
        source: "lecture slides on electing a leader, where a process comes back to a ring",
        says: "P2 was down and comes back: it asks round the ring who leads, and nobody elects.",
        takes: &[Knob::N(3, 60)],
        experiments: recovered,
    },
];

fn messages(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let run = |initiators: &str| format!("simulate lelann -n {n} --initiators {initiators}");
    let three = "--ids 1,3,2 --initiators 1 --property agreement";
    vec![
        Experiment::lines([("all", run("all")), ("two", run("1,2")), ("one", run("2"))])
            .is("messages when all start", "/all/messages/total", n * n)
            .is("messages when two start", "/two/messages/total", n * n)
            .is("messages when one starts", "/one/messages/total", n * n)
            .is("leader", "/one/leaders", [n])
            .broken_lines(
                [("all", "--ids 1"), ("two", "--ids 2"), ("one", "--ids 3")]
                    .map(|(name, ids)| (name, format!("simulate lelann {ids}"))),
            ),
        Experiment::line(format!("check lelann {three}"))
            .says("Passed on first, another's rank may come back before the own one is known.")
            .is("all agree, in every schedule", "/properties/agreement", "holds")
            .broken(format!("check lelann {three} --variant forward-first")),
    ]
}

fn recovered(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let (crash, back) = (3 * n, 4 * n);
    let run = |back: &str| {
        format!(
            "simulate lelann -n {n} --crash 2@{crash} {back} --until {} --beyond-assumptions",
            6 * n
        )
    };
    vec![
        Experiment::line(run(&format!("--recover 2@{back}")))
            .is("queries", "/messages/by_kind/query", n)
            .is("election messages, of before", "/messages/by_kind/elect", n * n)
            .is("what P2 believes in", "/elected/2", n)
            .is("leader", "/leaders", [n])
            .broken(run("")),
    ]
}
