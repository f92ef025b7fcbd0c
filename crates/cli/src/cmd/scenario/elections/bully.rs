//! The bully: whoever is highest of those that are alive takes over.

use serde_json::{Value, json};
use tenure_algorithms::Variants;
use tenure_algorithms::election::{Bully, bully};
use tenure_core::{Group, TICKS_PER_UNIT};

use crate::cmd::experiment::{Experiment, Made, Observable, story};
use crate::cmd::failure::Failure;
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::{Knob, Knobs};

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "bully-eight-steps",
        source: "lecture slides that tell the bully with four processes in eight steps",
        says: "P1 and P4 crash, P3 takes over, P1 comes back, P4 comes back and takes over again: \
               22 messages, or 21 where P2 asks only P3.",
        takes: &[],
        experiments: eight_steps,
    },
    Scenario {
        name: "bully-worst",
        source: "Garcia-Molina, Elections in a Distributed Computing System, IEEE ToC 1982",
        says: "The highest is dead and the lowest starts: N(N − 1) messages, N(N − 1)/2 of them \
               elections.",
        takes: &[Knob::N(3, 60)],
        experiments: worst,
    },
    Scenario {
        name: "bully-takes-over",
        source: "the textbook remark that the highest bullies whoever leads when it comes back",
        says: "P5 crashes and P4 leads; were P5 to stay down, no harm; it comes back, and takes \
               over at once.",
        takes: &[],
        experiments: takes_over,
    },
    Scenario {
        name: "bully-would-be-leader-dies",
        source: "the textbook argument that the bully ends where whoever answered dies",
        says: "P2 answers P1 and dies before it announces itself: P1 starts once more, and leads.",
        takes: &[],
        experiments: would_be_leader_dies,
    },
    Scenario {
        name: "bully-comes-back",
        source: "the rule that a process that was down starts an election at once",
        says: "It takes over, or it learns who leads.",
        takes: &[],
        experiments: comes_back,
    },
    Scenario {
        name: "bully-assumptions",
        source: "the assumptions that an encyclopedia lists for the bully",
        says: "Perfect timeouts and crashes that are for ever: safe and live. A wrong timeout or \
               a recovery: two lead at once.",
        takes: &[],
        experiments: assumptions,
    },
];

const SCRIPT: &str =
    include_str!("../../../../../algorithms/tests/golden/bully_without_terms/recovery.txt");

fn eight_steps_with(variants: &[bully::Switch]) -> Result<Made, Failure> {
    let all = variants.iter().fold(Variants::none(), |all, switch| all.with(*switch));
    let config = |group: Group| bully::Config {
        variants: all.with(bully::Switch::NoTerms),
        ..bully::Config::plain(group.size(), TICKS_PER_UNIT)
    };
    story::<Bully>("bully", SCRIPT, config)
}

/// What was sent after the first step, in which P4 announced itself.
fn sent(data: &Value, what: &str) -> usize {
    lines(data).filter(|line| line.starts_with("  sends ") && line.contains(what)).count()
}

fn lines(data: &Value) -> impl Iterator<Item = &str> {
    let blocks = data["told"].as_array().into_iter().flatten().skip(1);
    blocks.filter_map(Value::as_array).flatten().filter_map(Value::as_str)
}

/// Who was elected, in time.
fn leaders(data: &Value) -> Vec<String> {
    let leader = |line: &str| {
        let rest = line.split_once("Elected { leader: ").map(|(_, rest)| rest);
        rest.and_then(|rest| rest.split(',').next()).map(str::to_owned)
    };
    let mut leaders: Vec<String> = lines(data).filter_map(leader).collect();
    leaders.dedup();
    leaders
}

/// By step from the second on; the third and fourth are one, and so are both parts of the seventh.
fn by_step(data: &Value) -> Vec<u64> {
    let sent: Vec<u64> =
        data["sent"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let step = |blocks: std::ops::Range<usize>| sent.get(blocks).map_or(0, |it| it.iter().sum());
    vec![step(1..2), step(2..3), step(3..4), step(4..5), step(5..7), step(7..sent.len().max(7))]
}

fn eight_steps(_: &Knobs) -> Vec<Experiment> {
    let all = |data: &Value| sent(data, "");
    // What P2 sent to P4, which is dead, in the second step.
    let spared = move |data: &Value| {
        let second = data["told"][1].as_array().into_iter().flatten().filter_map(Value::as_str);
        all(data) - second.filter(|line| line.starts_with("  sends P4")).count()
    };
    vec![
        Experiment::call("P1 and P4 crash, P2 suspects P4, P1 recovers, P4 recovers", || {
            eight_steps_with(&[])
        })
        .drawn()
        .is("messages by step", Observable::found(by_step), [2, 2, 3, 3, 9, 3])
        .is("elections", Observable::found(|data| sent(data, "Election")), 9)
        .is("answers", Observable::found(|data| sent(data, "Answer")), 4)
        .is("announcements", Observable::found(|data| sent(data, "Coordinator")), 9)
        .is("messages", Observable::found(all), 22)
        .is("messages if P2 asks only P3", Observable::found(spared), 21)
        .is("leaders after P4, in time", Observable::found(leaders), ["P3", "P4"])
        .broken_call("elections are told to all", || eight_steps_with(&[bully::Switch::TellAll])),
        Experiment::call("the same, where only lower ones are told who leads", || {
            eight_steps_with(&[bully::Switch::AnnounceLower])
        })
        .is("messages where only lower ones are told", Observable::found(all), 20)
        .is("leaders then", Observable::found(leaders), ["P3", "P4"])
        .broken_call("all are told", || eight_steps_with(&[])),
        Experiment::call("the same with each of the other switches", || {
            with_each(&[
                bully::Switch::TellAll,
                bully::Switch::LiteralRestart,
                bully::Switch::AcceptLower,
                bully::Switch::IgnoreLower,
            ])
        })
        .says(
            "Telling an election to all asks those below in vain; starting again at each election \
             message asks P4 in vain. What is done with a lower one's announcement makes no \
             difference here, where none arrives at a higher one.",
        )
        .is("messages, switch by switch", "/messages", [28, 23, 22, 22])
        .is("the last leader, switch by switch", "/leaders", ["P4"; 4])
        .broken_call("only lower ones are told who leads", || {
            with_each(&[bully::Switch::AnnounceLower; 4])
        }),
    ]
}

/// The messages of the story with each of these switches alone, and who leads in the end.
fn with_each(switches: &[bully::Switch]) -> Result<Value, Failure> {
    let (mut messages, mut last) = (Vec::new(), Vec::new());
    for switch in switches {
        let Made { data, .. } = eight_steps_with(&[*switch])?;
        messages.push(sent(&data, ""));
        last.push(leaders(&data).pop());
    }
    Ok(json!({ "messages": messages, "leaders": last }))
}

fn worst(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let run = |initiator: u32, down: u32| {
        format!("simulate bully -n {n} --down {down} --initiators {initiator}")
    };
    vec![
        Experiment::line(run(1, n))
            .says("The lowest starts, and each that it asks starts in turn.")
            .is("elections", "/messages/by_kind/election", n * (n - 1) / 2)
            .is("answers", "/messages/by_kind/answer", (n - 1) * (n - 2) / 2)
            .is("announcements", "/messages/by_kind/coordinator", n - 1)
            .is("messages at worst", "/messages/total", n * (n - 1))
            .is("leader", "/leaders", [n - 1])
            .broken(format!("simulate bully -n {n} --initiators 1")),
        Experiment::line(run(n - 1, n))
            .says("The second highest starts: it asks the dead one, and announces itself.")
            .is("elections at best", "/messages/by_kind/election", 1)
            .is("messages at best", "/messages/total", n)
            .broken(run(n - 2, n)),
    ]
}

fn takes_over(_: &Knobs) -> Vec<Experiment> {
    let run = |back: &str| format!("simulate bully -n 5 --crash 5@10 {back} --until 100");
    let announced = |data: &Value| {
        let told = |run: &str| data[run]["messages"]["by_kind"]["coordinator"].as_i64();
        told("back").unwrap_or(0) - told("down").unwrap_or(0)
    };
    let elections = |data: &Value| {
        let told = |run: &str| data[run]["messages"]["by_kind"]["election"].as_i64();
        told("back").unwrap_or(0) - told("down").unwrap_or(0)
    };
    vec![
        Experiment::line(run(""))
            .says("It stays down: the others suspect it, and the next one leads.")
            .is("leader without P5", "/leaders", [4])
            .is("all who are alive agree", "/verdicts/agreement", "holds")
            .broken("simulate bully -n 5 --until 100"),
        Experiment::lines([("down", run("")), ("back", run("--recover 5@50"))])
            .says("It comes back: four announcements, and no election.")
            .is("leader with P5", "/back/leaders", [5])
            .is("announcements for it", Observable::found(announced), 4)
            .is("elections for it", Observable::found(elections), 0)
            .broken_lines([
                ("down", run("")),
                ("back", "simulate bully -n 5 --crash 4@10 --recover 4@50 --until 100".to_owned()),
            ]),
    ]
}

fn would_be_leader_dies(_: &Knobs) -> Vec<Experiment> {
    let run = |crash: &str| format!("simulate bully -n 3 --down 3 --initiators 1 {crash}");
    vec![
        Experiment::line(run("--crash 2@2.5"))
            .says("P3 is dead from the start.")
            .drawn()
            .is("leader", "/leaders", [1])
            .is("elections: two, one, and two again", "/messages/by_kind/election", 5)
            .is("answers", "/messages/by_kind/answer", 1)
            .is("all who are alive agree", "/verdicts/agreement", "holds")
            .broken(run("")),
    ]
}

fn comes_back(_: &Knobs) -> Vec<Experiment> {
    let run =
        |who: u32| format!("simulate bully -n 4 --crash {who}@10 --recover {who}@50 --until 100");
    let both = [("highest", run(4)), ("lowest", run(1))];
    vec![
        Experiment::lines(both)
            .is("leader when P4 comes back", "/highest/leaders", [4])
            .is("what P4 believes in", "/highest/elected/4", 4)
            .is("leader when P1 comes back", "/lowest/leaders", [4])
            .is("what P1 believes in", "/lowest/elected/1", 4)
            .broken_lines([
                ("highest", "simulate bully -n 4 --crash 4@10 --until 100".to_owned()),
                ("lowest", run(1)),
            ]),
    ]
}

fn assumptions(_: &Knobs) -> Vec<Experiment> {
    let check = |more: &str| format!("check bully -n 2 {more} --beyond-assumptions");
    let one = "--property one-leader-at-a-time,agreement";
    let wrong = "--timing asynchronous --false-suspicion 1";
    vec![
        Experiment::line("check bully -n 3 --crash 1")
            .says("Perfect timeouts, and whoever crashes stays down.")
            .is("all agree in the end", "/properties/agreement", "holds")
            .is("on the highest who is alive", "/properties/validity", "holds")
            .is("and there is an end", "/properties/progress", "holds")
            .broken("check bully -n 2 --crash 1 --recover 1 --variant no-terms"),
        Experiment::line(check(&format!("{wrong} {one}")))
            .says("A timeout that is too short: two lead at once on the way.")
            .drawn()
            .is(
                "wrong timeouts: one leads at a time",
                "/properties/one-leader-at-a-time",
                "violated",
            )
            .broken(check(one)),
        Experiment::line(check(&format!("--crash 1 --recover 1 {one}")))
            .says("Perfect timeouts, and whoever led comes back.")
            .is("recovery: one leads at a time", "/properties/one-leader-at-a-time", "violated")
            .is("recovery: all agree in the end", "/properties/agreement", "holds")
            .broken(check(&format!("--crash 1 --recover 1 {one} --variant accept-lower,no-terms"))),
    ]
}
