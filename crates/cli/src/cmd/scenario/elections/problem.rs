//! What is asked of an election, and what can be asked of nobody.

use serde_json::{Value, json};
use tenure_algorithms::Variants;
use tenure_algorithms::election::{ChangRoberts, chang_roberts};
use tenure_core::Rank;

use crate::cmd::experiment::{Experiment, Observable, same_for_all, story};
use crate::cmd::scenario::Scenario;
use crate::cmd::scenario::knobs::{Knob, Knobs};

pub(in super::super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "least-loaded",
        source: "the textbook rank <1/load, i>, by which the least loaded process leads",
        says: "Loads 50, 25 and 25: the third leads, for of equals the later one does.",
        takes: &[],
        experiments: least_loaded,
    },
    Scenario {
        name: "anonymous-ring",
        source: "Angluin, Local and Global Properties in Networks of Processors, STOC 1980",
        says: "Equal processes do equal things: all lead, or nobody does. Lots help who know how \
               many they are.",
        takes: &[Knob::N(2, 30)],
        experiments: anonymous,
    },
    Scenario {
        name: "election-triggers",
        source: "the reasons for an election that textbooks list",
        says: "One asks, several ask, the leader crashes, a false alarm, a crash on the way: each \
               time all agree in the end.",
        takes: &[],
        experiments: triggers,
    },
    Scenario {
        name: "one-leader-for-good",
        source: "the definition of an election by lecture slides: one leader, and no going back",
        says: "In each run of an election exactly one leads, all know it, and nobody changes its \
               mind.",
        takes: &[],
        experiments: for_good,
    },
    Scenario {
        name: "before-one-takes-part",
        source: "the rule that who does not take part yet may still believe in the last leader",
        says: "P5 leads and crashes; P4 goes on believing in it until the election reaches it.",
        takes: &[],
        experiments: previous,
    },
];

fn least_loaded(_: &Knobs) -> Vec<Experiment> {
    let each = |loads: &'static str| {
        ["chang-roberts", "lelann", "hirschberg-sinclair", "bully"]
            .map(|name| (name, format!("simulate {name} --loads {loads}")))
    };
    let leaders = |data: &Value| {
        data.as_object()
            .into_iter()
            .flatten()
            .map(|(_, run)| run["leaders"].clone())
            .collect::<Vec<_>>()
    };
    vec![
        Experiment::lines(each("50,25,25"))
            .is("leaders, by algorithm", Observable::found(leaders), vec![json!([3]); 4])
            .broken_lines(each("50,20,25")),
        Experiment::line("simulate chang-roberts --loads 0,25,25")
            .says("A load of 0 has no rank.")
            .mentions("a load of 0 is refused", "/refused", "0")
            .broken("simulate chang-roberts --loads 1,25,25"),
    ]
}

fn anonymous(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n_or(4);
    let hop: String = (1..=n).map(|at| format!("deliver p{at}→p{}\n", at % n + 1)).collect();
    let ask: String = (1..=n).map(|at| format!("elect p{at}\n")).collect();
    let script = format!("group {n}\n{ask}----\n\n{hop}----\n");
    let perform = move |ranks: Vec<u32>| {
        let ranks = ranks.into_iter().map(Rank::of_id).collect();
        let config = chang_roberts::Config { ranks, variants: Variants::none() };
        story::<ChangRoberts>("chang-roberts", &script, same_for_all(config))
    };
    let different = perform.clone();
    let leaders = |data: &Value| {
        let told = data["told"][1].as_array().into_iter().flatten().filter_map(Value::as_str);
        told.filter(|line| line.contains("is told Elected")).count()
    };
    let lots = |more: &str| format!("simulate itai-rodeh -n {n} --runs 100 {more}");
    vec![
        Experiment::call(
            format!("Chang and Roberts's ring of {n} with one id for all"),
            move || perform(vec![7; n as usize]),
        )
        .says("All start, and each gets after one hop what might be its own rank.")
        .is("who leads after one hop", Observable::found(leaders), n)
        .broken_call("ids 1, 2, 3 …", move || different((1..=n).collect())),
        Experiment::line(lots(""))
            .says("Itai and Rodeh draw lots, and know how many they are: one leads with certainty.")
            .is(
                "who leads with lots",
                Observable::found(|data| data["leaders"].as_array().map_or(0, Vec::len)),
                1,
            )
            .is("not agreed in any run", Observable::found(disagreed), 0)
            .broken(lots("--crash 1@0.5 --beyond-assumptions")),
    ]
}

/// In how many runs not all agreed, or there was no end.
fn disagreed(data: &Value) -> u64 {
    let violated = &data["summary"]["violated"];
    let runs = |property: &str| violated[property]["runs"].as_u64().unwrap_or(0);
    runs("agreement") + runs("progress")
}

fn triggers(_: &Knobs) -> Vec<Experiment> {
    let run = |more: &str| format!("simulate bully -n 4 --until 100 {more}");
    let lines = [
        ("one asks", run("--initiators 2")),
        ("several ask", run("--initiators 1,3")),
        ("the leader crashes", run("--crash 4@20")),
        ("a crash on the way", run("--initiators 1 --crash 4@1.5")),
    ];
    let alarm =
        |more: &str| format!("check bully -n 2 --false-suspicion 1 --beyond-assumptions {more}");
    let names = ["one asks", "several ask", "the leader crashes", "a crash on the way"];
    let leaders = move |data: &Value| names.map(|name| data[name]["leaders"].clone()).to_vec();
    let agreed =
        move |data: &Value| names.map(|name| data[name]["verdicts"]["agreement"].clone()).to_vec();
    vec![
        Experiment::lines(lines.clone())
            .is(
                "leaders, by trigger",
                Observable::found(leaders),
                vec![json!([4]), json!([4]), json!([3]), json!([3])],
            )
            .is("all agree, by trigger", Observable::found(agreed), ["holds"; 4])
            .broken_lines(lines.map(|(name, line)| (name, line.replace("--crash 4", "--crash 3")))),
        Experiment::line(alarm(""))
            .says("A false alarm, in every schedule: another election, and the same leader.")
            .is("all agree after a false alarm", "/properties/agreement", "holds")
            .broken(alarm("--variant accept-lower,no-terms --timing asynchronous")),
    ]
}

fn for_good(_: &Knobs) -> Vec<Experiment> {
    let violated = |property: &'static str| {
        Observable::found(move |data| data["verdicts"][property] == "violated")
    };
    let properties = "--property uniqueness,irrevocability,agreement";
    let run = |name: &str, more: &str| format!("simulate {name} -n 5 {properties} {more}");
    ["lelann", "chang-roberts", "hirschberg-sinclair", "bully"]
        .into_iter()
        .map(|name| {
            Experiment::line(run(name, ""))
                .is(format!("{name}: leaders"), "/leaders", [5])
                .is(format!("{name}: two leaders"), violated("uniqueness"), false)
                .is(format!("{name}: somebody went back"), violated("irrevocability"), false)
                .broken(run(name, "--ids 1,2,3,5,4").replace("-n 5", "").replace(",5,4", ",6,4"))
        })
        .collect()
}

fn previous(_: &Knobs) -> Vec<Experiment> {
    let run = |until: &str| format!("simulate bully -n 5 --crash 5@20 --until {until}");
    vec![
        Experiment::lines([("soon", run("20.5")), ("later", run("100"))])
            .is("what P4 believes in when P5 has just crashed", "/soon/elected/4", 5)
            .is("what P4 believes in later", "/later/elected/4", 4)
            .broken_lines([("soon", run("100")), ("later", run("100"))]),
    ]
}
