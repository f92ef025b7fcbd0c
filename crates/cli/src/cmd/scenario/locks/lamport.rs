//! Lamport's queue at every process.

use tenure_algorithms::mutex::{Lamport, lamport};

use crate::cmd::experiment::{Experiment, looked, same_for_all, story};
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::{Knob, Knobs};

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "lamport-example",
        source: "the textbook example of Lamport's lock: a request (1, P1) and two later replies",
        says: "P1 has asked at 1. One later message is not enough to enter, one from everybody is.",
        takes: &[],
        experiments: example,
    },
    Scenario {
        name: "lamport-messages",
        source: "Lamport, Time, Clocks, and the Ordering of Events in a Distributed System, CACM \
                 1978",
        says: "N − 1 requests, replies and releases an entry, and one message from an exit to \
               the next entry.",
        takes: &[Knob::N(2, 100)],
        experiments: messages,
    },
    Scenario {
        name: "lamport-order",
        source: "the conditions of Lamport's lock, left out one by one",
        says: "Links in order, stamps that are never equal, both conditions to enter: without any \
               of them two are inside or nobody is ever.",
        takes: &[],
        experiments: conditions,
    },
];

fn example(_: &Knobs) -> Vec<Experiment> {
    let script = include_str!("../../../../../algorithms/tests/golden/lamport/first_entry.txt");
    let perform = |variant: Option<lamport::Switch>| {
        let mut config = lamport::Config::default();
        if let Some(switch) = variant {
            config.variants = config.variants.with(switch);
        }
        story::<Lamport>("lamport", script, same_for_all(config))
    };
    let own = lamport::Switch::OwnRequestOnTop;
    vec![
        Experiment::call(
            "P1 asks; P2 and P3 hear of it; P2's reply arrives, then P3's",
            move || perform(None),
        )
        .drawn()
        .mentions("the request", "/told/0", "Request { stamp: (1, P1) }")
        .is("awaited after P2's reply", looked(1, "P1", "awaited"), "{P3}")
        .mentions("after P3's reply", "/told/2", "is told Entered")
        .is("entries", "/entries/order", [1])
        .is("messages", "/messages/total", 6)
        .broken_call("the own request on top is taken to be enough", move || perform(Some(own))),
    ]
}

fn messages(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let others = n - 1;
    let run = |more: &str| format!("simulate lamport -n {n} {more}");
    vec![
        Experiment::line(run("--entries 1,0"))
            .is("requests", "/messages/by_kind/request", others)
            .is("replies", "/messages/by_kind/reply", others)
            .is("releases", "/messages/by_kind/release", others)
            .is("messages of an entry", "/messages/total", 3 * others)
            .broken(run("--entries 2,0")),
        Experiment::line(run("--entries 1 --latency 1"))
            .says("All at once: the smaller stamp goes first, and of equal clocks the smaller id.")
            .is("messages of all entries", "/messages/total", 3 * others * n)
            .is("entries in order", "/entries/order", (1..=n).collect::<Vec<_>>())
            .is("delay between two entries", "/delays/synchronisation/max", 1)
            .broken(run("--entries 2 --latency 2")),
    ]
}

fn conditions(_: &Knobs) -> Vec<Experiment> {
    let check = |more: &str| format!("check lamport -n 2 {more} --beyond-assumptions");
    let broken = |name: &str, more: &str, property: &str| {
        Experiment::line(check(more))
            .is(name, format!("/properties/{property}"), "violated")
            .broken(check(""))
    };
    vec![
        broken("links that reorder: one inside", "--channel reordered", "mutual-exclusion"),
        broken("ids for stamps: one inside", "--variant ids-as-stamps", "mutual-exclusion"),
        broken(
            "clocks alone, own first: one inside",
            "--variant clock-only-own-first",
            "mutual-exclusion",
        ),
        broken(
            "clocks alone, other first: all are served",
            "--variant clock-only-other-first",
            "progress",
        ),
        broken(
            "own request on top: one inside",
            "--variant own-request-on-top",
            "mutual-exclusion",
        ),
        broken("reply from all: one inside", "--variant reply-from-all", "mutual-exclusion"),
    ]
}
