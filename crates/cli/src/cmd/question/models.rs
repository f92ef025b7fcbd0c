//! What is known about time and messages, and what that decides.

use serde_json::{Value, json};
use tenure::applications::berkeley::{Clocks, synchronise};
use tenure::applications::commit::{Transacting, transact};
use tenure::applications::tree::{Graph, grow};
use tenure_core::TICKS_PER_UNIT;
use tenure_sim::Span;
use tenure_sim::scenario::generals::{Config, attack};

use super::doubt::{PERIOD, doubts};
use super::tables::{holds, side_by_side, verdict, verdicts, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::Experiment;
use crate::cmd::failure::Failure;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "Models and agreement",
    recalls: "Synchronous: delays, steps and the drift of clocks have known bounds. \
              Asynchronous: everything arrives and every step ends some time, and nothing \
              bounds when.",
    questions: &[UNSOLVABLE, ASSUMPTIONS, OTHERS],
};

const UNSOLVABLE: Question = Question {
    id: "Q-01",
    asks: "Which design problems have no solution in an asynchronous system, and what solves them \
           in a synchronous one?",
    answer: "All those in which somebody must conclude from silence. Where nothing bounds delays, \
             a slow process looks like a dead one, and a slow message like one that was never \
             sent. So two armies cannot be kept together in time: however long the leader waits, \
             the messenger may need longer. A failure detector cannot always be right: each \
             timeout is too short for some delay. A lock cannot survive a crash and stay safe: \
             without a detector it waits for the dead for ever, and with one that errs it lets two \
             in. Participants of a commit who have voted yes must wait for whoever counts the \
             votes. A synchronous system knows bounds, and a bound turns silence into \
             knowledge. Waiting for the least delay keeps the armies within max − min. A timeout \
             of one period plus the largest delay is never wrong. And with such a detector the \
             lock skips the dead and nobody else.",
    beyond: Some(
        "that no deterministic algorithm reaches consensus in an asynchronous system in which one \
         process may crash is a theorem (Fischer, Lynch, Paterson, JACM 32(2), 1985). Experiments \
         show instances of it; a proof is needed for the word `no`. Three-phase commit (Skeen, \
         SIGMOD 1981) does not block where crashes are known for certain.",
    ),
    experiments: || {
        vec![
            armies(),
            bounded_detector(),
            unbounded_detector(),
            tolerant_lock(),
            early_timeout(),
            blocked_commit(),
        ]
    },
};

const ASSUMPTIONS: Question = Question {
    id: "Q-02",
    asks: "Which other assumptions are useful, and how practical is each of them?",
    answer: "Links that keep their order are practical: TCP does it, and so do sequence numbers; \
             Lamport's lock is unsafe without. Links that lose and repeat nothing are practical \
             within a session: acknowledge, send again, drop what was seen; a crash begins a new \
             session, which must not take messages of the old one. Memory that survives a crash \
             costs a write to disk before each answer; a voter that forgets its vote elects two \
             leaders. Names that differ cost a configuration; without them only luck breaks the \
             symmetry. Bounds that hold from some moment on fit real networks best: safe always, \
             live once it is calm. A detector that is never wrong is not to be had; code must \
             stay safe when it errs. Clocks within a known error are practical with a margin. \
             Tolerating liars is possible and expensive.",
    beyond: Some(
        "tolerating f liars takes 3f + 1 processes where nothing is signed (Lamport, Shostak, \
         Pease, TOPLAS 4(3), 1982). Here processes crash and stall, and do not lie.",
    ),
    experiments: || vec![order(), once(), memory(), names(), calm()],
};

const OTHERS: Question = Question {
    id: "Q-03",
    asks: "Which other problems of coordination and agreement are there?",
    answer: "Those that loosen the lock: at most k inside, several locks at once, and the \
             deadlocks that this brings and somebody must find. Those that deliver: every message \
             once and in order, over links that do neither. Those that agree: consensus on a \
             value, atomic commit, one order of messages for all, who belongs to the group. Those \
             that observe: is that process up, has the computation ended, what was the state of \
             all at one moment. And those that line up: barriers, clocks, a tree that reaches \
             all. Many reduce to each other: a leader decides a value, a consensus decides who \
             leads, and a lock does both as long as nobody crashes.",
    beyond: Some(
        "consensus and atomic broadcast are the same problem in two forms (Chandra, Toueg, JACM \
         43(2), 1996).",
    ),
    experiments: || vec![at_most_k(), deadlocks(), delivery(), luck(), clocks(), tree()],
};

/// How many units later than the leader the other army attacks.
fn skews(wait: u64) -> Result<Value, Failure> {
    let skew = |longest: u64| {
        let config = Config { strengths: [1, 1], wait: wait * TICKS_PER_UNIT };
        let attack = attack(config, Span::units(longest), 1).map_err(Failure::usage)?;
        Ok(attack.skew.unwrap_or(0) as f64 / TICKS_PER_UNIT as f64)
    };
    let skews: Result<Vec<f64>, Failure> = [2, 10, 100, 1000].into_iter().map(skew).collect();
    Ok(json!({ "skews": skews? }))
}

fn armies() -> Experiment {
    Experiment::call("the leader waits 2; a message takes 2, 10, 100, 1000 units", || skews(2))
        .says(
            "When to attack? Army 1 sends word, waits for the least delay, which is 2, and \
             attacks; army 2 attacks on hearing. It is max − min late at worst, and without a max \
             there is no worst. (More of this: `tenure scenario two-generals`.)",
        )
        .is("skew at worst", "/skews", [0, 8, 98, 998])
        .broken_call("the leader waits 3", || skews(3))
}

fn bounded_detector() -> Experiment {
    let timeout = PERIOD + 20 + 1;
    Experiment::call(
        format!("heartbeats every {PERIOD}, delays of 0 to 20, a timeout of {timeout}; P2 crashes"),
        move || doubts(timeout, Span::between_units(0, 20), 2000),
    )
    .says("Who is up? Where delays are bounded by 20, period + bound is a timeout that never errs.")
    .is("wrong suspicions", "/wrong", 0)
    .is("the crash was found", "/found", true)
    .broken_call("delays of 0 to 200", move || doubts(timeout, Span::between_units(0, 200), 2000))
}

fn unbounded_detector() -> Experiment {
    let timeouts = [31, 310, 3100, 31_000];
    let slower = move |by: u64| -> Result<Value, Failure> {
        let wrong = |timeout: u64| {
            let data = doubts(timeout, Span::units(timeout * by / 10), 4 * timeout)?;
            Ok(json!(data["wrong"].as_u64() > Some(0)))
        };
        let wrong: Result<Vec<Value>, Failure> = timeouts.into_iter().map(wrong).collect();
        Ok(json!({ "wrong": wrong? }))
    };
    Experiment::call(
        "timeouts of 31, 310, 3100, 31000; each time messages take twice that long",
        move || slower(20),
    )
    .says("Where nothing bounds delays, whatever the timeout, somebody who is up is suspected.")
    .is("a wrong suspicion", "/wrong", [true; 4])
    .broken_call("messages take half as long as the timeout", move || slower(5))
}

fn tolerant_lock() -> Experiment {
    let plain = "check ricart-agrawala -n 2 --crash 1 --beyond-assumptions";
    let tolerant = "check tolerant-ricart-agrawala -n 2 --crash 1";
    let mistaken = "check tolerant-ricart-agrawala -n 2 --timing asynchronous --false-suspicion 1 \
                    --beyond-assumptions";
    side_by_side(
        [
            ("no detector", plain.into(), "/properties/progress", "violated".into()),
            ("never wrong", tolerant.into(), "/verdict", "holds".into()),
            ("may be wrong", mistaken.into(), "/properties/mutual-exclusion", "violated".into()),
        ],
        "no detector",
        tolerant,
    )
    .says(
        "A lock that everybody must agree to, and one crash. Without a detector whoever waits for \
         the dead waits for ever; with one that is never wrong all is well; with one that errs \
         once, two are inside.",
    )
}

fn early_timeout() -> Experiment {
    let line = "check bully -n 2 --timing asynchronous --false-suspicion 1 --beyond-assumptions \
                --property one-leader-at-a-time";
    violated(line, "one-leader-at-a-time", 3)
        .says(
            "An election by timeouts that meant something in a synchronous system: here the timer \
             for an answer fires before the answer, and there are two leaders.",
        )
        .broken("check bully -n 2 --crash 1 --property one-leader-at-a-time")
}

/// P1 coordinates, and crashes when all have voted yes; perhaps it comes back.
fn commit(recovery: Option<u64>) -> Result<Value, Failure> {
    let transacting = Transacting {
        crash: Some(3 * TICKS_PER_UNIT / 2),
        recovery: recovery.map(|units| units * TICKS_PER_UNIT),
        ..Transacting::among(4)
    };
    let transacted = transact(&transacting).map_err(Failure::violated)?;
    let blocked: Vec<u32> = transacted.blocked.iter().map(|it| it.number()).collect();
    Ok(json!({ "blocked": blocked, "decided": transacted.decided }))
}

fn blocked_commit() -> Experiment {
    Experiment::call(
        "two-phase commit of four; P1 counts votes and crashes after 1.5 units",
        || commit(None),
    )
    .says(
        "P2, P3 and P4 have voted yes. P1 may have told the user anything before it crashed, so \
         they may neither commit nor abort, although they have a new leader. (Broken: P1 comes \
         back with its log, and all decide.)",
    )
    .is("blocked", "/blocked", [2, 3, 4])
    .is("decisions", "/decided", [Value::Null, Value::Null, Value::Null, Value::Null])
    .broken_call("P1 comes back at 50", || commit(Some(50)))
}

fn clocks() -> Experiment {
    let synchronised = |starts: [i64; 3]| {
        let synchronised = synchronise(&Clocks::starting_at(starts)).map_err(Failure::violated)?;
        Ok(json!({ "adjust": synchronised.adjustments, "clocks": synchronised.clocks }))
    };
    Experiment::call("clocks at 180, 205 and 170 minutes; P1 leads", move || {
        synchronised([180, 205, 170])
    })
    .says("Clocks: a leader asks all, averages, and tells each by how much to change (Berkeley).")
    .is("adjustments", "/adjust", json!([[5], [-20], [15]]))
    .is("clocks after it", "/clocks", [185, 185, 185])
    .broken_call("one clock is at 206", move || synchronised([180, 206, 170]))
}

fn tree() -> Experiment {
    let grown = |size: u32| {
        let grown = grow(&Graph::complete(size)).map_err(Failure::violated)?;
        Ok(json!({ "messages": grown.messages, "counted": grown.counted }))
    };
    Experiment::call("five processes, each linked to each; P1 is the root", move || grown(5))
        .says("A tree that reaches all: flood, and take the first to call as parent. 2E messages.")
        .is("explore: 2E − (N − 1)", "/messages/explore", 16)
        .is("echo: N − 1", "/messages/echo", 4)
        .is("processes counted by the echoes", "/counted", 5)
        .broken_call("six processes", move || grown(6))
}

fn order() -> Experiment {
    verdicts(
        &[
            ("in order", "lamport -n 2 --channel fifo", "holds"),
            ("in any order", "lamport -n 2 --channel reordered --beyond-assumptions", "violated"),
            (
                "numbered and acknowledged",
                "fifo:lamport -n 2 --entries 1,0 --channel reordered --in-flight 2",
                "holds",
            ),
        ],
        "in any order",
        "lamport -n 2 --channel fifo",
    )
    .says("Order. Lamport's lock needs it, and numbers and acknowledgements provide it.")
}

fn once() -> Experiment {
    let plain = "central -n 2 --entries 0,1 --lose 1 --beyond-assumptions";
    verdicts(
        &[
            ("one loss", plain, "violated"),
            (
                "one loss, repeated",
                "fifo:central -n 2 --entries 0,1 --lose 1 --in-flight 2",
                "holds",
            ),
            (
                "one duplicate",
                "token-ring -n 2 --entries 2 --duplicate 1 --beyond-assumptions",
                "violated",
            ),
            ("one duplicate, named", "ricart-agrawala -n 2 --entries 2 --duplicate 1", "holds"),
        ],
        "one loss",
        "central -n 2 --entries 0,1",
    )
    .says(
        "Exactly once. A lost message blocks, unless it is sent again; a token that arrives twice \
         lets two in, but a reply that names its request may come as often as it likes.",
    )
}

fn memory() -> Experiment {
    let line = "check raft -n 3 --crash 1 --recover 1 --property one-leader-per-term";
    violated(&format!("{line} --variant forgotten-vote"), "one-leader-per-term", 8)
        .says(
            "Memory over crashes. P3 votes, crashes, forgets, and votes again: two leaders in one \
             term.",
        )
        .broken(line.replace("-n 3", "-n 2"))
}

fn names() -> Experiment {
    Experiment::line("check chang-roberts --ids 5,5,5 --beyond-assumptions")
        .says("Names. A ring of equals elects all or none, so equal ranks are refused.")
        .mentions("refused", "/refused", "ranks must differ")
        .broken("check chang-roberts --ids 5,6,7")
}

fn calm() -> Experiment {
    let line = "simulate raft -n 5 --timing partial --gst 200 --runs 20";
    Experiment::line(line)
        .says(
            "Bounds that hold from time 200 on: until then no election ends, and then the first \
             one does.",
        )
        .is("everybody knows a leader", "/verdicts/progress", "holds")
        .is("it is one leader", "/verdicts/agreement", "holds")
        .between("time of the end, of 20", "/summary/finished_at/mean", 200, 210)
        .broken(line.replace("--gst 200", "--gst 50"))
}

fn at_most_k() -> Experiment {
    let line = "check k-mutex -n 3 --property at-most-k,mutual-exclusion";
    verdict(line, "at-most-k", "holds")
        .is("mutual-exclusion", "/properties/mutual-exclusion", "violated")
        .says("Two of three devices: Raymond's lock for k lets two in, and never a third.")
        .broken(format!("{line} --k 1"))
}

fn deadlocks() -> Experiment {
    violated("check edge-chasing -n 2 --variant no-detection", "progress", 2)
        .says(
            "Two locks, taken in opposite orders, and nobody who looks for a cycle: two requests \
             are enough. With probes along the edges of who waits for whom it is found and broken.",
        )
        .broken("check edge-chasing -n 2")
}

fn delivery() -> Experiment {
    let line = "check fifo:chang-roberts -n 2 --lose 1 --in-flight 1";
    holds(line, "progress")
        .says("Delivery. An election that any loss would end goes on over links made reliable.")
        .broken("check chang-roberts -n 2 --lose 1 --beyond-assumptions")
}

fn luck() -> Experiment {
    holds("check itai-rodeh -n 3", "agreement")
        .says(
            "Symmetry. Three processes without names elect one by lot, whatever is drawn, as far \
             as a second round.",
        )
        .is("progress", "/properties/progress", "holds")
        .broken("check lelann -n 3 --variant forward-first")
}
