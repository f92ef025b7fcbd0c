//! What is asked of a lock, and what its environment may do to it.

use crate::cmd::experiment::{Experiment, Observable};
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::Knobs;

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "any-order-of-messages",
        source: "the assumptions of textbooks: messages arrive once and in the end, in any order",
        says: "Centralised lock, ring, and Ricart and Agrawala's need no links in order; \
               Lamport's does.",
        takes: &[],
        experiments: any_order,
    },
    Scenario {
        name: "central-order",
        source: "the question whether a coordinator serves requests in their causal order",
        says: "It does as far as the lock's own messages go, and not where applications talk.",
        takes: &[],
        experiments: order,
    },
    Scenario {
        name: "deadlock-and-starvation",
        source: "the two ways to wait for ever that textbooks tell apart",
        says: "In a deadlock nobody goes on; a process that starves sees others enter again and \
               again.",
        takes: &[],
        experiments: waiting,
    },
    Scenario {
        name: "two-servers-deadlock",
        source: "what textbooks hold against one server for each resource",
        says: "Two locks at two servers, taken in opposite order: each waits for the other.",
        takes: &[],
        experiments: two_servers,
    },
    Scenario {
        name: "fault-summary",
        source: "the comparison of locks by fault that textbooks end with",
        says: "None survives a lost message; of crashes, the centralised lock alone survives \
               that of an idle process.",
        takes: &[],
        experiments: summary,
    },
    Scenario {
        name: "strategies",
        source: "the taxonomy of locks by strategy: centralised, by token, by permission",
        says: "The card of each lock says its strategy.",
        takes: &[],
        experiments: strategies,
    },
];

/// A property of a check, and one thing that changes it.
fn judged(name: &str, line: &str, property: &str, verdict: &str, other: &str) -> Experiment {
    Experiment::line(line).is(name, format!("/properties/{property}"), verdict).broken(other)
}

fn any_order(_: &Knobs) -> Vec<Experiment> {
    let right = |name: &str, line: &str, fault: &str| {
        let check = format!("check {line} --channel reordered");
        Experiment::line(&check)
            .is(format!("{name}: one inside"), "/properties/mutual-exclusion", "holds")
            .is(format!("{name}: all are served"), "/properties/progress", "holds")
            .broken(format!("{check} {fault}"))
    };
    vec![
        right("centralised", "central -n 3 --entries 0,1,1", "--lose 1 --beyond-assumptions"),
        right("ring", "token-ring -n 3", "--duplicate 1 --beyond-assumptions"),
        right("Ricart–Agrawala", "ricart-agrawala -n 3", "--variant clock-only-strict"),
        judged(
            "Lamport: one inside",
            "check lamport -n 2 --channel reordered --beyond-assumptions",
            "mutual-exclusion",
            "violated",
            "check lamport -n 2 --channel fifo",
        ),
    ]
}

fn order(_: &Knobs) -> Vec<Experiment> {
    let check = |told: u32| {
        format!(
            "check central -n 3 --entries 0,1,1 --app-messages {told} --property \
             order,order-with-messages"
        )
    };
    vec![
        Experiment::line(check(1))
            .says("P2 asks, and tells P3, who then asks; P3's request overtakes that of P2.")
            .drawn()
            .is("order by the lock's own messages", "/properties/order", "holds")
            .is(
                "order with messages of applications",
                "/properties/order-with-messages",
                "violated",
            )
            .is("steps of the shortest counterexample", "/counterexample/length", 6)
            .broken(
                "check lamport -n 3 --entries 0,1,1 --app-messages 1 --property \
                     order,order-with-messages",
            ),
    ]
}

fn waiting(_: &Knobs) -> Vec<Experiment> {
    let check = |variant: &str| format!("check ricart-agrawala -n 2 --entries 2 {variant}");
    let properties = "--property progress,no-starvation";
    vec![
        Experiment::line(check("--variant clock-only-defer"))
            .says("Two who defer each other for ever.")
            .is("deadlock: all are served", "/properties/progress", "violated")
            .is("deadlock: one inside", "/properties/mutual-exclusion", "holds")
            .broken(check("")),
        Experiment::line(format!("check central -n 3 --entries 0,2,2 {properties}"))
            .says(
                "P2 enters twice while P3's request is on its way: that is no deadlock, and P3 is \
                 served in the end.",
            )
            .is("passed by: all are served", "/properties/progress", "holds")
            .is("passed by: nobody twice", "/properties/no-starvation", "violated")
            .broken(format!("check central -n 3 --entries 0,1,1 {properties}")),
        Experiment::line(format!("check token-ring -n 3 --entries 2 {properties}"))
            .is("ring: nobody is passed by twice", "/properties/no-starvation", "holds")
            .is("ring: all are served", "/properties/progress", "holds")
            .broken(format!(
                "check token-ring -n 3 --entries 2 {properties} --lose 1 --beyond-assumptions"
            )),
    ]
}

fn two_servers(_: &Knobs) -> Vec<Experiment> {
    let run = |variant: &str| format!("simulate edge-chasing -n 2 --variant {variant}");
    vec![
        Experiment::line(run("no-detection"))
            .says("P1 has its lock and wants P2's; P2 has its own and wants P1's.")
            .drawn()
            .is("who waits for ever", "/blocked", [1, 2])
            .is("entries", "/entries/total", 0)
            .broken(run("ordered")),
        judged(
            "all are served, in every schedule",
            "check edge-chasing -n 2 --variant no-detection",
            "progress",
            "violated",
            "check edge-chasing -n 2",
        ),
    ]
}

fn summary(_: &Knobs) -> Vec<Experiment> {
    let locks = ["central", "token-ring", "lamport", "ricart-agrawala"];
    let check = |name: &str, more: &str| {
        format!("check {name} -n 3 --property mutual-exclusion,progress {more}")
    };
    let each = |more: &'static str| locks.map(|name| (name, check(name, more)));
    let verdicts = |property: &'static str| {
        Observable::found(move |data| {
            locks.map(|name| data[name]["properties"][property].clone()).to_vec()
        })
    };
    let idle = "--entries 0,1,1 --down 1 --beyond-assumptions";
    vec![
        Experiment::lines(each("--entries 0,1,1 --lose 1 --beyond-assumptions"))
            .says("One lost message: somebody waits for ever, and never two are inside.")
            .is("lost message: all are served", verdicts("progress"), ["violated"; 4])
            .is("lost message: one inside", verdicts("mutual-exclusion"), ["holds"; 4])
            .broken_lines(each("--entries 0,1,1")),
        Experiment::lines(locks.map(|name| {
            // Whoever coordinates is P1; of the others, P3 does nothing.
            (name, check(name, "--entries 0,1,0 --down 3 --beyond-assumptions"))
        }))
        .says("A process is down that neither is inside nor has asked.")
        .is(
            "idle process down: all are served",
            verdicts("progress"),
            ["holds", "violated", "violated", "violated"],
        )
        .broken_lines(each(idle)),
    ]
}

fn strategies(_: &Knobs) -> Vec<Experiment> {
    let locks = ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa"];
    let strategy = move |data: &serde_json::Value| {
        locks.map(|name| data[name][0]["card"]["strategy"].clone()).to_vec()
    };
    let list = |last: &'static str| {
        let names =
            locks.iter().map(move |name| (*name, if *name == "maekawa" { last } else { name }));
        names.map(|(name, card)| (name, format!("list {card}"))).collect::<Vec<_>>()
    };
    vec![
        Experiment::lines(list("maekawa"))
            .is(
                "strategies, from the centralised lock to Maekawa's",
                Observable::found(strategy),
                ["centralised", "token", "permission", "permission", "quorum"],
            )
            .broken_lines(list("raymond")),
    ]
}
