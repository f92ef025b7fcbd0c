//! The token that goes round.

use crate::cmd::experiment::Experiment;
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::{Knob, Knobs};

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "ring-idle-cost",
        source: "what textbooks hold against the token ring",
        says: "The token goes round for ever, whether anybody wants it or not; it rests only \
               while somebody is inside.",
        takes: &[Knob::N(2, 1000)],
        experiments: idle,
    },
    Scenario {
        name: "ring-lap",
        source: "the rule that whoever leaves passes the token on before it enters again",
        says: "Whoever wants to enter twice waits for a full lap between, and nobody is passed by.",
        takes: &[Knob::N(2, 100)],
        experiments: lap,
    },
    Scenario {
        name: "ring-delays",
        source: "the delays that textbooks give for the token ring",
        says: "From an exit to the next entry 1 to N messages; 0 to N at entry, none at exit.",
        takes: &[Knob::N(2, 100)],
        experiments: delays,
    },
    Scenario {
        name: "ring-faults",
        source: "the problems that textbooks list for the token ring",
        says: "A crash and a lost token stop the ring; a duplicated token lets two in.",
        takes: &[],
        experiments: faults,
    },
];

fn idle(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let idle = |until: u32| format!("simulate token-ring -n {n} --entries 0 --until {until}");
    let inside = |hold: u32| format!("simulate token-ring -n {n} --hold {hold} --until 1000");
    vec![
        Experiment::lines([("short", idle(1000)), ("long", idle(2000))])
            .says("Nobody wants to enter. Twice the time is twice the messages.")
            .between("messages in 1000 units", "/short/messages/total", 500, 1000)
            .between("messages in 2000 units", "/long/messages/total", 1000, 2000)
            .is("entries", "/long/entries/total", 0)
            .broken_lines([("short", idle(100)), ("long", idle(200))]),
        Experiment::line(inside(2000))
            .says("P1 is inside all the time.")
            .is("messages while somebody is inside", "/messages/total", 0)
            .is("entries by then", "/entries/order", [1])
            .broken(inside(10)),
    ]
}

fn lap(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let run = |entries: &str| format!("simulate token-ring -n {n} --entries {entries}");
    let twice: Vec<u32> = (1..=n).chain(1..=n).collect();
    vec![
        Experiment::line(run("2,0"))
            .says("P1 alone, twice: the token goes round once, and on when P1 has left.")
            .is("messages", "/messages/total", n + 1)
            .is("entries of P1", "/entries/order", [1, 1])
            .broken(run("1,0")),
        Experiment::line(run("2"))
            .says("Everybody, twice: nobody enters a second time before all have entered once.")
            .is("entries in order", "/entries/order", twice)
            .at_most("most entries past somebody who waits", "/bypass_max", 1)
            .broken(run("1")),
    ]
}

fn delays(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let run = |entries: &str| format!("simulate token-ring -n {n} {entries}");
    let last = "0,".repeat(n as usize - 1) + "1";
    vec![
        Experiment::line(run("--entries 1"))
            .says("Everybody wants to enter: one message from an exit to the next entry.")
            .is("messages per entry", "/messages/total", n)
            .is("delay between two entries, most", "/delays/synchronisation/max", 1)
            .is("delay at exit", "/delays/exit/max", 0)
            .broken(run("--entries 2")),
        Experiment::line(run("--entries 1,0"))
            .says("The token is just here.")
            .is("delay at entry, least", "/delays/entry/max", 0)
            .broken(run("--entries 0,1")),
        Experiment::line(run(&format!("--entries {last}")))
            .says("The token has just left: it passes all others first.")
            .is("messages to and past the last", "/messages/total", n)
            .is("entry of the last", "/entries/order", [n])
            .broken(run("--entries 1,0")),
    ]
}

fn faults(_: &Knobs) -> Vec<Experiment> {
    let check = |fault: &str| format!("check token-ring -n 2 {fault} --beyond-assumptions");
    let stuck = |name: &str, fault: &str| {
        Experiment::line(check(fault))
            .is(format!("{name}: two inside"), "/properties/mutual-exclusion", "holds")
            .is(format!("{name}: all are served"), "/properties/progress", "violated")
            .broken(check(""))
    };
    vec![
        stuck("a crash", "--crash 1"),
        stuck("a lost token", "--lose 1"),
        Experiment::line(check("--duplicate 1"))
            .drawn()
            .is("a duplicated token: two inside", "/properties/mutual-exclusion", "violated")
            .broken(check("")),
    ]
}
