//! The centralised lock.

use tenure_algorithms::mutex::{Central, central};
use tenure_core::ProcessId;

use crate::cmd::experiment::{Experiment, same_for_all, story, swapped};
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::{Knob, Knobs};

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "central-empty",
        source: "the textbook figure of a coordinator who is asked while nobody is inside",
        says: "P2 asks the last process, which coordinates, and is the only one who does.",
        takes: &[Knob::N(3, 1000)],
        experiments: empty,
    },
    Scenario {
        name: "central-queue",
        source: "the textbook figure of a coordinator with a queue",
        says: "P2 is inside when P6 asks and then P1: arrival decides, not numbers.",
        takes: &[],
        experiments: queue,
    },
];

fn empty(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let run = |coordinator: u32| {
        format!("simulate central -n {n} --coordinator {coordinator} --entries 0,1")
    };
    vec![
        Experiment::line(run(n))
            .says("An entry waits for two messages, and an exit for none.")
            .drawn()
            .is("messages", "/messages/total", 3)
            .is("requests", "/messages/by_kind/request", 1)
            .is("grants", "/messages/by_kind/grant", 1)
            .is("releases", "/messages/by_kind/release", 1)
            .is("entries in order", "/entries/order", [2])
            .is("delay at entry in hops", "/delays/entry/mean", 2)
            .is("delay at exit in hops", "/delays/exit/mean", 0)
            .broken(run(2)),
    ]
}

fn queue(_: &Knobs) -> Vec<Experiment> {
    let script = include_str!("../../../../../algorithms/tests/golden/central/queue.txt");
    let perform = |script: &str| {
        let config = central::Config { coordinator: ProcessId(4), ..central::Config::default() };
        story::<Central>("central", script, same_for_all(config))
    };
    vec![
        Experiment::call(
            "P2 enters; P6 asks, then P1; they leave one after the other",
            move || perform(script),
        )
        .drawn()
        .is("entries in order", "/entries/order", [2, 6, 1])
        .is("messages", "/messages/total", 9)
        .mentions("queue when P6 was granted", "/told", "queue: [Claim { process: P1,")
        .broken_call("the same, but P1 asks before P6 does", move || {
            perform(&swapped(script, "p6", "p1"))
        }),
    ]
}
