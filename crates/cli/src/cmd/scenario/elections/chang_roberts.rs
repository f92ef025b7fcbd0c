//! Chang and Roberts: a ring on which only the highest rank comes round.

use serde_json::{Value, json};
use tenure_algorithms::Variants;
use tenure_algorithms::election::{ChangRoberts, chang_roberts};

use crate::cmd::experiment::{Experiment, Observable, looked, same_for_all, story};
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::{Knob, Knobs};

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "chang-roberts-single",
        source: "Chang and Roberts, An Improved Algorithm for Decentralized Extrema-Finding in \
                 Circular Configurations of Processes, CACM 1979",
        says: "One starts, d hops before the highest: d + 2N messages, 3N − 1 at worst.",
        takes: &[Knob::N(2, 100)],
        experiments: single,
    },
    Scenario {
        name: "chang-roberts-five",
        source: "the figure of five processes on a ring whose ids decrease in the direction of \
                 messages",
        says: "All five start: 5, 9, 12, 14, 15 messages after each round, and 5 to announce.",
        takes: &[],
        experiments: five,
    },
    Scenario {
        name: "chang-roberts-worst",
        source: "the worst case of Chang and Roberts's ring",
        says: "Ids that decrease in the direction of messages: N(N + 1)/2 + N messages.",
        takes: &[Knob::N(2, 60)],
        experiments: worst,
    },
    Scenario {
        name: "chang-roberts-28",
        source: "the figure of a ring on which 28 is the highest id",
        says: "Nobody is higher than 28: it gets its own rank back, and announces itself.",
        takes: &[],
        experiments: twenty_eight,
    },
    Scenario {
        name: "chang-roberts-cases",
        source: "the table of what a process does with a rank, by comparison and mark",
        says: "A lower, a higher and the own rank, at a participant and at another.",
        takes: &[],
        experiments: cases,
    },
    Scenario {
        name: "chang-roberts-concurrent",
        source: "the figures of several processes that start at once",
        says: "Whoever starts, one or several: all agree on the highest.",
        takes: &[],
        experiments: concurrent,
    },
    Scenario {
        name: "chang-roberts-links",
        source: "the assumption of links in order in lecture slides on Chang and Roberts",
        says: "Where messages overtake each other all agree still, but somebody may wait for ever.",
        takes: &[],
        experiments: links,
    },
    Scenario {
        name: "chang-roberts-time",
        source: "the time that Chang and Roberts's election takes, a unit a message",
        says: "2N units when all start, 3N − 1 at most when one does.",
        takes: &[Knob::N(2, 100)],
        experiments: time,
    },
];

fn single(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let run = |initiator: u32| format!("simulate chang-roberts -n {n} --initiators {initiator}");
    let hops = |initiator: u32| n - initiator;
    let each = (1..=n).map(|initiator| (initiator.to_string(), run(initiator)));
    let all_same = (1..=n).map(|initiator| (initiator.to_string(), run(n)));
    let total = move |data: &Value| {
        let total = |initiator: u32| data[initiator.to_string()]["messages"]["total"].clone();
        (1..=n).map(total).collect::<Vec<_>>()
    };
    let expected: Vec<u32> = (1..=n).map(|initiator| hops(initiator) + 2 * n).collect();
    vec![
        Experiment::line(run(1))
            .says("The worst: N − 1 to the highest, N back to it, N to announce.")
            .is("election messages", "/messages/by_kind/election", 2 * n - 1)
            .is("announcements", "/messages/by_kind/elected", n)
            .is("messages at worst", "/messages/total", 3 * n - 1)
            .is("leader", "/leaders", [n])
            .broken(run(2)),
        Experiment::lines(each)
            .says("P1, P2, … start, each in a run of its own, the last being the highest.")
            .is("messages by initiator", Observable::found(total), expected)
            .broken_lines(all_same),
    ]
}

fn five(_: &Knobs) -> Vec<Experiment> {
    let run = |ids: &str, more: &str| format!("simulate chang-roberts --ids {ids} {more}");
    let rounds = |ids: &'static str| {
        (0..5).map(move |round| (round.to_string(), run(ids, &format!("--until {round}.5"))))
    };
    let series = |data: &Value| {
        let sent = |round: u32| data[round.to_string()]["messages"]["total"].clone();
        (0..5).map(sent).collect::<Vec<_>>()
    };
    vec![
        Experiment::lines(rounds("5,4,3,2,1"))
            .says("What was sent after each round.")
            .is("messages after each round", Observable::found(series), [5, 9, 12, 14, 15])
            .broken_lines(rounds("5,4,3,1,2")),
        Experiment::line(run("5,4,3,2,1", ""))
            .drawn()
            .is("election messages", "/messages/by_kind/election", 15)
            .is("announcements", "/messages/by_kind/elected", 5)
            .is("messages", "/messages/total", 20)
            .is("leader", "/leaders", [5])
            .broken(run("1,2,3,4,5", "")),
    ]
}

fn worst(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let run = |ids: Vec<u32>, runs: u32| {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        format!("simulate chang-roberts --ids {} --runs {runs}", ids.join(","))
    };
    // Two neighbours change places, so that one rank goes less far.
    let mut better: Vec<u32> = (1..=n).rev().collect();
    better.swap(n as usize - 2, n as usize - 1);
    let better = if n == 2 { vec![1, 2, 3] } else { better };
    let most = n * (n + 1) / 2 + n;
    vec![
        Experiment::line(run((1..=n).rev().collect(), 1))
            .is("messages", "/messages/total", most)
            .broken(run(better, 1)),
        Experiment::line(format!("simulate chang-roberts -n {n} --ids random --runs 100"))
            .says("No ring takes more.")
            .at_most("most messages of 100 rings", "/summary/messages/total/max", most)
            .broken(run((1..=n + 1).rev().collect(), 2)),
    ]
}

fn twenty_eight(_: &Knobs) -> Vec<Experiment> {
    let run = |ids: &str| format!("simulate chang-roberts --ids {ids} --initiators 1");
    vec![
        Experiment::line(run("17,9,28,3,24,15"))
            .says("P1 starts: two hops to 28, a lap for its rank, and one for the announcement.")
            .drawn()
            .is("leader", "/leaders", [28])
            .is(
                "what all believe in",
                "/elected",
                json!({"1": 28, "2": 28, "3": 28, "4": 28, "5": 28, "6": 28}),
            )
            .is("messages", "/messages/total", 14)
            .broken(run("17,9,28,3,29,15")),
    ]
}

fn cases(_: &Knobs) -> Vec<Experiment> {
    let script = include_str!("../../../../../algorithms/tests/golden/chang_roberts/cases.txt");
    let perform = |ranks: [u32; 4]| {
        let config = chang_roberts::Config {
            ranks: ranks.map(tenure_core::Rank::of_id).into(),
            variants: Variants::none(),
        };
        story::<ChangRoberts>("chang-roberts", script, same_for_all(config))
    };
    let marked = |block: usize, at: &str| looked(block, at, "phase");
    vec![
        Experiment::call("four processes with ids 1 to 4, and a rank at a time", move || {
            perform([1, 2, 3, 4])
        })
        .mentions("lower, no participant: the own goes on", "/told/0", "Election { rank: 4 }")
        .is("it participates now", marked(0, "P4"), "Participant")
        .mentions("higher, no participant: it goes on", "/told/1", "sends P2 Election { rank: 4 }")
        .is("it participates, too", marked(1, "P1"), "Participant")
        .is("lower, participant: sent by P3 then", "/sent/2", 1)
        .mentions("higher, participant: it goes on", "/told/3", "sends P4 Election { rank: 4 }")
        .mentions("its own: it announces itself", "/told/4", "Elected { rank: 4, leader: P4 }")
        .is("and participates no longer", marked(4, "P4"), "NonParticipant")
        .is("leader", "/leaders", [4])
        .broken_call("P3 has the highest id", move || perform([1, 2, 4, 3])),
    ]
}

fn concurrent(_: &Knobs) -> Vec<Experiment> {
    let run = |initiators: &str| {
        format!("simulate chang-roberts --ids 3,5,1,4,2 --latency 1..9 --runs 50 {initiators}")
    };
    let each = ["1", "1,3", "2,4,5", "1,2,3,4", "all"];
    let all = |ids: bool| {
        each.map(|who| (who, run(&format!("--initiators {who}"))))
            .map(|(who, line)| (who, if ids { line } else { line.replace("5,1,4", "1,4,5") }))
    };
    let check = |more: &str| format!("check chang-roberts --ids 3,1,2 {more}");
    let leader = move |data: &Value| each.map(|who| data[who]["elected"]["2"].clone()).to_vec();
    let violated = move |data: &Value| {
        each.map(|who| data[who]["summary"]["violated"].as_object().map_or(0, |it| it.len()))
            .to_vec()
    };
    vec![
        Experiment::lines(all(true))
            .says("One, two, three, four and all start; each in fifty runs.")
            .is("what P2 believes in", Observable::found(leader), [5; 5])
            .is("leader is P2", Observable::found(|data| data["all"]["ids"][1].clone()), 5)
            .is("properties violated in any run", Observable::found(violated), [0; 5])
            .broken_lines(all(false)),
        Experiment::line(check(""))
            .says("Three processes, in every schedule.")
            .is("all agree", "/properties/agreement", "holds")
            .is("on the highest", "/properties/validity", "holds")
            .is("in the end", "/properties/progress", "holds")
            .broken(check("--lose 1 --beyond-assumptions")),
    ]
}

fn links(_: &Knobs) -> Vec<Experiment> {
    let check = |channel: &str| {
        format!("check chang-roberts --ids 3,1,2 --channel {channel} --beyond-assumptions")
    };
    vec![
        Experiment::line(check("reordered"))
            .is("links that reorder: all agree", "/properties/agreement", "holds")
            .is("on the highest", "/properties/validity", "holds")
            .is("all are told in the end", "/properties/progress", "violated")
            .at_most("steps of the shortest counterexample", "/counterexample/length", 9)
            .broken(check("fifo")),
    ]
}

fn time(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let run = |more: &str| format!("simulate chang-roberts -n {n} {more}");
    vec![
        Experiment::line(run(""))
            .is("units when all start", "/finished_at", 2 * n)
            .broken(run("--latency 2")),
        Experiment::line(run("--initiators 1"))
            .is("units when the one after the highest starts", "/finished_at", 3 * n - 1)
            .broken(run("--initiators 2")),
    ]
}
