//! Ricart and Agrawala: a reply is kept until it is one's turn.

use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};

use super::aged::Aged;
use crate::cmd::experiment::{Experiment, looked, same_for_all, story, swapped};
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::{Knob, Knobs};

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "ricart-agrawala-replies",
        source: "the textbook figures of Ricart and Agrawala's lock without and with somebody \
                 inside",
        says: "Where nobody wants to enter everybody replies; whoever is inside replies when it \
               leaves.",
        takes: &[],
        experiments: replies,
    },
    Scenario {
        name: "ricart-agrawala-7-15",
        source: "the textbook figure of two requests at once, at 15 and at 7",
        says: "P2 asks at 15 and P3 at 7, and P1 does not want to enter: P3 goes first.",
        takes: &[],
        experiments: two_stamps,
    },
    Scenario {
        name: "ricart-agrawala-tie",
        source: "the order of (clock, id) pairs in textbooks",
        says: "Of equal clocks the smaller id goes first, which is arbitrary and decides.",
        takes: &[],
        experiments: tie,
    },
    Scenario {
        name: "ricart-agrawala-messages",
        source: "Ricart and Agrawala, An Optimal Algorithm for Mutual Exclusion in Computer \
                 Networks, CACM 1981",
        says: "2(N − 1) messages an entry, and one from an exit to the next entry.",
        takes: &[Knob::N(2, 100)],
        experiments: messages,
    },
];

fn replies(_: &Knobs) -> Vec<Experiment> {
    let script = include_str!(
        "../../../../../algorithms/tests/golden/ricart_agrawala/everybody_replies.txt"
    );
    let perform = |variant: Option<ricart_agrawala::Switch>| {
        let mut config = ricart_agrawala::Config::default();
        if let Some(switch) = variant {
            config.variants = config.variants.with(switch);
        }
        story::<RicartAgrawala>("ricart-agrawala", script, same_for_all(config))
    };
    let early = ricart_agrawala::Switch::ReplyWhileInside;
    vec![
        Experiment::call("P1 enters; P2 asks while it is inside; P1 leaves", move || perform(None))
            .drawn()
            .mentions("nobody inside: P1", "/told/0", "is told Entered")
            .is("replies while P1 is inside", "/sent/1", 3)
            .mentions("when P1 leaves: P2", "/told/2", "is told Entered")
            .is("entries in order", "/entries/order", [1, 2])
            .is("messages", "/messages/total", 8)
            .broken_call("whoever is inside replies at once", move || perform(Some(early))),
    ]
}

fn two_stamps(_: &Knobs) -> Vec<Experiment> {
    let script = include_str!("../../../../../sim/tests/sim/pictures/stories/stamps_7_and_15.txt");
    // Before, P2 has heard of one clock and P3 of another.
    let perform = |script: &str, heard: [u64; 2]| {
        story::<Aged>("ricart-agrawala", script, same_for_all(vec![0, heard[0], heard[1]]))
    };
    vec![
        Experiment::call(
            "P2 asks with clock 15, P3 with clock 7, and all hear of both",
            move || perform(script, [14, 6]),
        )
        .drawn()
        .mentions("P2's request", "/told/0", "Request { stamp: (15, P2) }")
        .mentions("P3's request", "/told/0", "Request { stamp: (7, P3) }")
        .is("deferred at P2", looked(0, "P2", "deferred"), "[]")
        .is("deferred at P3", looked(0, "P3", "deferred"), "[(15, P2)]")
        .is("entries in order", "/entries/order", [3, 2])
        .is("requests", "/messages/by_kind/request", 4)
        .is("replies", "/messages/by_kind/reply", 4)
        .is("messages", "/messages/total", 8)
        .broken_call("the same with the clocks of P2 and P3 exchanged", move || {
            perform(&swapped(script, "p2", "p3"), [6, 14])
        }),
    ]
}

fn tie(_: &Knobs) -> Vec<Experiment> {
    let run = |more: &str| format!("simulate ricart-agrawala -n 2 {more}");
    vec![
        Experiment::line(run(""))
            .says("Both ask with clock 1.")
            .drawn()
            .is("entries in order", "/entries/order", [1, 2])
            .is("one inside", "/verdicts/mutual-exclusion", "holds")
            .broken(run("--variant clock-only-strict")),
        Experiment::line("check ricart-agrawala -n 2")
            .says("Whatever the schedule; without ids both reply, or both defer for ever.")
            .is("one inside, in every schedule", "/properties/mutual-exclusion", "holds")
            .is("all are served, in every schedule", "/properties/progress", "holds")
            .broken("check ricart-agrawala -n 2 --variant clock-only-defer"),
    ]
}

fn messages(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let others = n - 1;
    let run = |more: &str| format!("simulate ricart-agrawala -n {n} {more}");
    vec![
        Experiment::line(run("--entries 1,0"))
            .is("requests", "/messages/by_kind/request", others)
            .is("replies", "/messages/by_kind/reply", others)
            .is("messages of an entry", "/messages/total", 2 * others)
            .is("delay at entry", "/delays/entry/max", 2)
            .is("delay at exit", "/delays/exit/max", 0)
            .broken(run("--entries 2,0")),
        Experiment::line(run("--entries 1"))
            .says("All at once.")
            .is("messages of all entries", "/messages/total", 2 * others * n)
            .is("delay between two entries", "/delays/synchronisation/max", 1)
            .broken(run("--entries 2 --latency 2")),
    ]
}
