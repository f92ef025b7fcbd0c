//! What a leader is elected for.

use serde_json::{Value, json};
use tenure::applications::berkeley::{Clocks, synchronise};
use tenure::applications::commit::{Transacting, transact};
use tenure::applications::replication::{Writing, write};
use tenure::applications::tree::{Graph, grow};
use tenure_algorithms::Variants;
use tenure_algorithms::application::primary_backup;
use tenure_core::{ProcessId, TICKS_PER_UNIT};

use super::Scenario;
use super::knobs::{Knob, Knobs};
use crate::cmd::experiment::{Experiment, Observable};
use crate::cmd::failure::Failure;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "berkeley",
        source: "Gusella and Zatti, The Accuracy of the Clock Synchronization Achieved by TEMPO \
                 in Berkeley UNIX 4.3BSD, IEEE TSE 1989, as textbooks tell it",
        says: "Clocks at 3:00, 3:25 and 2:50: the leader has them adjusted to 3:05.",
        takes: &[],
        experiments: berkeley,
    },
    Scenario {
        name: "primary-backup",
        source: "the primary with backups that textbooks name as a use of a leader",
        says: "What was acknowledged survives the primary.",
        takes: &[Knob::N(3, 9)],
        experiments: primary_backup,
    },
    Scenario {
        name: "two-phase-commit",
        source: "Gray, Notes on Data Base Operating Systems, 1978",
        says: "Three messages a participant and an acknowledgement; one vote against is enough, \
               and a coordinator that dies after all votes leaves everybody blocked.",
        takes: &[Knob::N(3, 20)],
        experiments: two_phase_commit,
    },
    Scenario {
        name: "spanning-tree",
        source: "the spanning tree from a leader, by flooding and by echo",
        says: "2E − (N − 1) messages to explore, 2E with the echo, and a tree of N − 1 edges.",
        takes: &[Knob::N(2, 40)],
        experiments: spanning_tree,
    },
    Scenario {
        name: "token-regeneration",
        source: "the token that is lost with its holder, as a use of an election",
        says: "A new token is made in a new generation, once, and none in a plain ring.",
        takes: &[],
        experiments: token_regeneration,
    },
    Scenario {
        name: "master-of-five",
        source: "the master of five servers in lock services such as Chubby and ZooKeeper",
        says: "A majority chooses: two of five may be down, three may not.",
        takes: &[],
        experiments: master_of_five,
    },
];

fn berkeley(_: &Knobs) -> Vec<Experiment> {
    let synchronised = |minutes: [i64; 3]| -> Result<Value, Failure> {
        let made = synchronise(&Clocks::starting_at(minutes)).map_err(Failure::usage)?;
        let sum: i64 = made.adjustments.iter().flatten().sum();
        Ok(json!({
            "adjustments": made.adjustments, "clocks": made.clocks, "sum": sum,
            "spread": made.spread, "messages": made.messages,
        }))
    };
    vec![
        Experiment::call("clocks at 180, 205 and 170 minutes; the first leads", move || {
            synchronised([180, 205, 170])
        })
        .is("adjustments in minutes", "/adjustments", json!([[5], [-20], [15]]))
        .is("clocks in the end", "/clocks", [185, 185, 185])
        .is("sum of the adjustments", "/sum", 0)
        .is("how far apart they are then", "/spread", 0)
        .broken_call("the third clock is at 171", move || synchronised([180, 205, 171])),
    ]
}

fn primary_backup(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n_or(3);
    let quiet = move |writes: u32| -> Result<Value, Failure> {
        let written = write(&Writing { writes, ..Writing::among(n) }).map_err(Failure::usage)?;
        let acknowledged = written.acknowledged.len();
        Ok(json!({ "acknowledged": acknowledged, "messages": written.messages }))
    };
    // The primary dies while it writes, or is cut off from those who suspect it, in ten runs.
    let failover = move |early: bool, dies: bool| -> Result<Value, Failure> {
        let switch = primary_backup::Switch::AcknowledgeEarly;
        let variants = if early { Variants::none().with(switch) } else { Variants::none() };
        let (mut lost, mut primaries, mut acknowledged) = (0, 0, 0);
        for seed in 1..=10 {
            let from = 64 * TICKS_PER_UNIT + seed * TICKS_PER_UNIT / 7;
            let written = write(&Writing {
                crashes: if dies { vec![(ProcessId(0), from)] } else { Vec::new() },
                isolation: (!dies).then_some((from, from + 25 * TICKS_PER_UNIT)),
                every: TICKS_PER_UNIT,
                writes: 60,
                variants,
                seed,
                ..Writing::among(n)
            });
            let written = written.map_err(Failure::usage)?;
            lost += written.lost.len();
            primaries = primaries.max(written.served.len());
            acknowledged += written.acknowledged.len();
        }
        Ok(json!({ "lost": lost, "primaries": primaries, "acknowledged": acknowledged }))
    };
    vec![
        Experiment::call(format!("ten writes at one of {n}"), move || quiet(10))
            .is("acknowledged", "/acknowledged", 10)
            .is("updates", "/messages/update", 10 * (n - 1))
            .broken_call("nine writes", move || quiet(9)),
        Experiment::call("the primary crashes while it writes, in ten runs", move || {
            failover(false, true)
        })
        .says("A write is acknowledged when a majority has it, and the next primary asks one.")
        .is("lost of what was acknowledged", "/lost", 0)
        .at_least("primaries", "/primaries", 2)
        .at_least("acknowledged in ten runs", "/acknowledged", 20)
        .broken_call("it is cut off, and acknowledges before anybody else has it", move || {
            failover(true, false)
        }),
        Experiment::call("the primary is cut off while it writes, in ten runs", move || {
            failover(false, false)
        })
        .says("Whoever is cut off has no majority, and so acknowledges nothing that is lost.")
        .is("lost when it was cut off", "/lost", 0)
        .at_least("primaries then", "/primaries", 2)
        .broken_call("it acknowledges before anybody else has it", move || failover(true, false)),
    ]
}

fn two_phase_commit(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n_or(4);
    let others = n - 1;
    let made = |transacting: Transacting| -> Result<Value, Failure> {
        let made = transact(&transacting).map_err(Failure::usage)?;
        let blocked: Vec<u32> = made.blocked.iter().map(|at| at.number()).collect();
        Ok(json!({ "decided": made.decided, "blocked": blocked, "messages": made.messages }))
    };
    let against =
        move |against: Vec<ProcessId>| made(Transacting { against, ..Transacting::among(n) });
    let crash = move |after_halves: u64| {
        let crash = Some(after_halves * TICKS_PER_UNIT / 2);
        made(Transacting { crash, ..Transacting::among(n) })
    };
    vec![
        Experiment::call(format!("a coordinator and {others} participants"), move || {
            against(Vec::new())
        })
        .is("prepare", "/messages/prepare", others)
        .is("vote", "/messages/vote", others)
        .is("decision", "/messages/decision", others)
        .is("acknowledgement", "/messages/acknowledgement", others)
        .is("all commit", "/decided", vec![true; n as usize])
        .broken_call("P3 votes against", move || against(vec![ProcessId(2)])),
        Experiment::call("P3 votes against", move || against(vec![ProcessId(2)]))
            .is("one votes against: all abort", "/decided", vec![false; n as usize])
            .broken_call("nobody votes against", move || against(Vec::new())),
        Experiment::call("the coordinator dies after all have voted, and stays down", move || {
            crash(3)
        })
        .says("Nobody who has voted yes knows, and whoever is elected then can only ask them.")
        .is("who is blocked", "/blocked", (2..=n).collect::<Vec<_>>())
        .broken_call("it dies after it has decided", move || crash(5)),
    ]
}

fn spanning_tree(knobs: &Knobs) -> Vec<Experiment> {
    let n = knobs.n();
    let edges = n * (n - 1) / 2;
    let grown = move |size: u32| -> Result<Value, Failure> {
        let grown = grow(&Graph::complete(size)).map_err(Failure::usage)?;
        let parents = grown.parents.iter().flatten().count();
        Ok(json!({
            "messages": grown.messages, "counted": grown.counted, "edges": parents,
            "joined": grown.joined.len(),
        }))
    };
    let both = |data: &Value| {
        let of = |kind: &str| data["messages"][kind].as_u64().unwrap_or(0);
        of("explore") + of("echo")
    };
    vec![
        Experiment::call(
            format!("the complete graph of {n}, which has {edges} edges"),
            move || grown(n),
        )
        .is("messages to explore", "/messages/explore", 2 * edges - (n - 1))
        .is("with the echo", Observable::found(both), 2 * edges)
        .is("edges of the tree", "/edges", n - 1)
        .is("who is in it", "/joined", n)
        .is("how many the root counts", "/counted", n)
        .broken_call("one more", move || grown(n + 1)),
    ]
}

fn token_regeneration(_: &Knobs) -> Vec<Experiment> {
    let run = |name: &str, more: &str| format!("simulate {name} -n 4 --entries 2 {more}");
    let dies = "--crash 2@inside:1";
    let mended = |name: &str| {
        Experiment::line(run(name, &format!("{dies} --variant fault-tolerant")))
            .says(format!("{name}: P2 dies inside, with the token."))
            .is(format!("{name}: who waits for ever"), "/blocked", Vec::<u32>::new())
            .is(format!("{name}: one inside"), "/verdicts/mutual-exclusion", "holds")
            .is(format!("{name}: fences grow"), "/verdicts/fencing", "holds")
            .broken(run(name, &format!("{dies} --beyond-assumptions --until 200")))
    };
    vec![
        mended("token-ring"),
        mended("suzuki-kasami"),
        Experiment::line("check token-ring --variant fault-tolerant -n 3 --crash 1")
            .says("Whoever crashes, and whenever.")
            .is("one inside, in every schedule", "/properties/mutual-exclusion", "holds")
            .is("all are served, in every schedule", "/properties/progress", "holds")
            .broken("check token-ring -n 3 --crash 1 --beyond-assumptions"),
    ]
}

fn master_of_five(_: &Knobs) -> Vec<Experiment> {
    let run = |down: &str| format!("simulate raft -n 5 --down {down} --until 300");
    let leaders = |data: &Value| data["leaders"].as_array().map_or(0, Vec::len);
    vec![
        Experiment::line(run("4,5"))
            .is("masters where two are down", Observable::found(leaders), 1)
            .is("all who are alive agree", "/verdicts/agreement", "holds")
            .broken(run("3,4,5")),
        Experiment::line(run("3,4,5"))
            .says("No majority, no master: rather none than two.")
            .is("masters where three are down", Observable::found(leaders), 0)
            .broken(run("4,5")),
    ]
}
