//! What an election is for, and how it relates to a lock.

use serde_json::{Value, json};
use tenure::applications::replication::{Writing, write};
use tenure_algorithms::Variants;
use tenure_algorithms::application::primary_backup::Switch;
use tenure_core::TICKS_PER_UNIT;

use super::tables::{holds, side_by_side, verdict, verdicts, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::{Experiment, Observable};
use crate::cmd::failure::Failure;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "Elections",
    recalls: "An election: processes agree on one of them who leads, and all learn who it \
              is.",
    questions: &[LARGEST, FROM_LOCK, LOCK, USES, TRIGGERS],
};

const LARGEST: Question = Question {
    id: "Q-23",
    asks: "Why is it the largest identifier that decides who leads?",
    answer: "Because everybody can tell which of two is larger, without asking anybody. Any order \
             would do, as long as all have the same and no two are equal: the smallest, the least \
             loaded, the oldest. What matters is that the rule needs no further agreement, or \
             electing would need an election. The largest is also a check: only the largest can \
             see its own number come back around a ring. And a rank that does not change keeps a \
             healthy leader in office, where one that follows the load makes leaders flap. It is \
             a convention and no need: Raft and a lock elect whoever came first, and that is one \
             leader just as well.",
    beyond: None,
    experiments: || vec![load(), smallest(), anybody()],
};

const FROM_LOCK: Question = Question {
    id: "Q-24",
    asks: "How can an election be made of a lock?",
    answer: "Everybody who wants to lead asks to enter. Whoever enters first finds that nobody \
             leads yet, writes itself down, tells all others, and stays inside; the others hear \
             of it and give up. A lock lets in one at a time, so there is one leader; a lock \
             serves those who wait, so there is one in the end. It costs what the entry costs \
             and N − 1 messages to tell. What is not obtained is the largest: it is whoever \
             entered first. And what the lock does not survive, the election does not either; \
             real lock services therefore let the leader's entry expire unless it is renewed.",
    beyond: None,
    experiments: || vec![one_leader(), not_largest(), costs(), inherits()],
};

const LOCK: Question = Question {
    id: "Q-26",
    asks: "How can a lock be made of elections?",
    answer: "Those who want to enter elect one of themselves, who enters. When it leaves it says \
             so, and those who still wait elect the next. One is elected at a time, so one is \
             inside. Whether everybody gets in depends on what ranks are made of. With the number \
             of the process as rank, the larger ones go first each time, and the lowest waits \
             until all others are done: the more they want, the longer. With the stamp of the \
             request as rank, the oldest first, nobody is passed more than once. It is a dear \
             lock, an election for each entry. Electing one coordinator once, who then grants, \
             costs three messages an entry: that is the better reduction.",
    beyond: None,
    experiments: || vec![starved(), stamped(), safe(), once_elected()],
};

const USES: Question = Question {
    id: "Q-25",
    asks: "In which further situations is a leader elected?",
    answer: "Wherever one decides for all and must be replaced when it fails. One copy of each \
             partition of a log takes the writes. One scheduler starts jobs; one balancer moves \
             shards; one sequencer numbers. A lock's coordinator, a clock's reference, the first \
             phase of a commit and the root of a tree are leaders as well. So is whoever makes a \
             lost token anew: it must be one, or there are two tokens. Common to all is that a \
             leader is a matter of speed and order, not of truth: two of them for a moment must \
             not do harm, and terms and fences see to that.",
    beyond: None,
    experiments: || vec![coordinator(), token(), backups(), terms()],
};

const TRIGGERS: Question = Question {
    id: "Q-34",
    asks: "When is a leader elected, and why?",
    answer: "When nobody leads or nobody knows who does. The leader crashes, and whoever misses \
             it first calls an election; that need not be the next leader. A process comes back \
             that ranks above the leader, and takes over. Somebody only believes that the leader \
             is down: a false alarm, which must end with one leader and mostly with the old one. \
             Several call at once: it must come to the same. A token is lost, and somebody must \
             make the new one. And somebody crashes in the middle of an election, which then must \
             end with somebody else.",
    beyond: None,
    experiments: || vec![leader_crashes(), higher_returns(), false_alarm(), several(), during()],
};

fn load() -> Experiment {
    let line = "simulate chang-roberts --loads 50,25,25";
    Experiment::line(line)
        .says("The least loaded leads: loads of 50, 25 and 25, and of equals the last.")
        .is("leaders", "/leaders", [3])
        .broken(line.replace("50,25,25", "50,20,25"))
}

fn smallest() -> Experiment {
    let line = "simulate chang-roberts --ids 88,55,67,72";
    let id = |data: &Value| 100 - data["leaders"][0].as_u64().unwrap_or(0);
    Experiment::line(line)
        .says(
            "The smallest instead: turn the order around. On a ring of 12, 45, 33 and 28 let ranks \
             be 100 − id: 88, 55, 67 and 72.",
        )
        .is("id of the leader", Observable::found(id), 12)
        .broken(line.replace("88,55,67,72", "12,45,33,28"))
}

fn anybody() -> Experiment {
    let line = "simulate raft -n 5 --runs 20";
    Experiment::line(line)
        .says("Raft elects who asks first and has a majority: one leader, not the largest.")
        .is("agreement", "/verdicts/agreement", "holds")
        .is("the largest leads", "/verdicts/validity", "violated")
        .broken("simulate bully -n 5 --runs 20")
}

fn one_leader() -> Experiment {
    let line = "check election-from-mutex:ricart-agrawala -n 3";
    holds(line, "agreement")
        .is("progress", "/properties/progress", "holds")
        .says("Three candidates, every schedule: all agree.")
        .broken(format!("{line} --lose 1 --beyond-assumptions"))
}

fn not_largest() -> Experiment {
    violated("check election-from-mutex:central -n 3 --property validity", "validity", 1)
        .says("Whoever enters first leads.")
        .broken("check bully -n 2 --property validity")
}

fn costs() -> Experiment {
    let run = |lock: &str| format!("simulate election-from-mutex:{lock} -n 5 --initiators 3");
    side_by_side(
        [
            ("central: 2 + 4", run("central"), "/messages/total", 6.into()),
            ("ricart-agrawala: 8 + 4", run("ricart-agrawala"), "/messages/total", 12.into()),
        ],
        "central: 2 + 4",
        &run("lamport"),
    )
    .says("P3 alone wants to lead five: an entry, and N − 1 to tell. It never leaves.")
}

fn inherits() -> Experiment {
    let line = "check election-from-mutex:central -n 2";
    violated(&format!("{line} --crash 1 --beyond-assumptions"), "progress", 2)
        .says("The lock's coordinator crashes, and there is no leader.")
        .broken(line)
}

fn starved() -> Experiment {
    let run = |entries: u32| {
        format!(
            "simulate mutex-from-election:bully -n 3 --variant static-ranks --entries {entries}"
        )
    };
    let at = "/bypass_max";
    side_by_side(
        [
            ("5 entries each", run(5), at, 5.into()),
            ("20 entries each", run(20), at, 20.into()),
            ("40 entries each", run(40), at, 40.into()),
        ],
        "40 entries each",
        "simulate mutex-from-election:bully -n 3 --entries 40",
    )
    .says("Ranks that never change: how often the lowest is passed while it waits once.")
}

fn stamped() -> Experiment {
    let line = "simulate mutex-from-election:bully -n 3 --entries 40";
    Experiment::line(line)
        .says("The oldest request ranks highest: nobody is passed more than once.")
        .is("passed while waiting once", "/bypass_max", 1)
        .broken(format!("{line} --variant static-ranks"))
}

fn safe() -> Experiment {
    let line = "check mutex-from-election:bully -n 2 --entries 1";
    holds(line, "mutual-exclusion")
        .is("progress", "/properties/progress", "holds")
        .says("Two processes, every schedule.")
        .broken(format!("{line} --crash 1 --beyond-assumptions"))
}

fn once_elected() -> Experiment {
    let run = |name: &str| format!("simulate {name} -n 3 --entries 40");
    side_by_side(
        [
            (
                "elected for each entry",
                run("mutex-from-election:bully"),
                "/messages/total",
                1190.into(),
            ),
            ("elected once", run("coordinated:bully"), "/messages/total", 250.into()),
        ],
        "elected once",
        &run("mutex-from-election:bully"),
    )
    .says("Messages for 120 entries; those of the elected coordinator itself are free.")
}

fn coordinator() -> Experiment {
    let line = "check coordinated:bully -n 2 --crash 1";
    holds(line, "progress")
        .is("mutual-exclusion", "/properties/mutual-exclusion", "holds")
        .says("A lock whose coordinator is elected, and a crash at any moment.")
        .broken("check central -n 2 --crash 1 --beyond-assumptions")
}

fn token() -> Experiment {
    let line = "simulate repaired-ring -n 5 --entries 3 --crash 3@inside:1";
    Experiment::line(line)
        .says("P3 crashes with the token; one of the others makes it anew, and all are served.")
        .is("waiting for ever", "/blocked", Vec::<u32>::new())
        .is("entries", "/entries/total", 13)
        .broken("simulate token-ring -n 5 --entries 3 --crash 3@inside:1 --beyond-assumptions")
}

/// P1 leads and takes writes, and is cut off in the middle of them for a while; fifty times.
fn written(variants: Variants<Switch>) -> Result<Value, Failure> {
    let (mut lost, mut acknowledged) = (0, 0);
    for seed in 1..=50 {
        let from = 64 * TICKS_PER_UNIT + seed * TICKS_PER_UNIT / 7;
        let writing = Writing {
            writes: 60,
            every: TICKS_PER_UNIT,
            isolation: Some((from, from + 25 * TICKS_PER_UNIT)),
            variants,
            seed,
            ..Writing::among(3)
        };
        let written = write(&writing).map_err(Failure::violated)?;
        lost += written.lost.len();
        acknowledged += written.acknowledged.len();
    }
    Ok(json!({ "lost": lost, "acknowledged": acknowledged }))
}

fn backups() -> Experiment {
    Experiment::call(
        "a primary and two backups; the primary is cut off for 25 units; 50 runs",
        || written(Variants::none()),
    )
    .says(
        "A primary that takes writes, and a backup that is elected when the primary is not heard \
         of, though it is still there.",
    )
    .is("acknowledged writes that are lost", "/lost", 0)
    .at_least("acknowledged writes", "/acknowledged", 100)
    .broken_call("the primary acknowledges before its backups have the write", || {
        written(Variants::none().with(Switch::AcknowledgeEarly))
    })
}

fn terms() -> Experiment {
    let line = "check raft -n 3 --crash 1 --property one-leader-at-a-time";
    violated(line, "one-leader-at-a-time", 6)
        .says(
            "Two leaders for a moment, in different terms: the old one does not know yet. Whoever \
             has heard of the later term ignores it.",
        )
        .broken(line.replace("-n 3", "-n 2").replace("at-a-time", "per-term"))
}

fn leader_crashes() -> Experiment {
    let line = "simulate bully -n 5 --crash 5@10";
    Experiment::line(line)
        .says("P5 leads and crashes.")
        .is("leaders in the end", "/leaders", [4])
        .broken(line.replace("5@10", "4@10"))
}

fn higher_returns() -> Experiment {
    let line = "simulate bully -n 5 --crash 5@10";
    Experiment::line(format!("{line} --recover 5@50"))
        .says("P5 comes back and takes over.")
        .is("leaders in the end", "/leaders", [5])
        .broken(line)
}

fn false_alarm() -> Experiment {
    let line = "check repaired-chang-roberts -n 2 --false-suspicion 1";
    verdict(line, "agreement", "holds")
        .is("validity", "/properties/validity", "holds")
        .says("Somebody is suspected who is up: in the end all agree on the largest again.")
        .broken(
            "check bully -n 2 --timing asynchronous --false-suspicion 1 --beyond-assumptions \
             --variant accept-lower,no-terms --property agreement,validity",
        )
}

fn several() -> Experiment {
    let run = |who: &str| format!("simulate chang-roberts -n 5 --initiators {who}");
    let row = |who: &'static str| (who, run(who), "/leaders", vec![5].into());
    side_by_side(["1", "1,3", "2,3,4", "all"].map(row), "all", "simulate chang-roberts -n 4")
        .says("One starts, or several, or all: the same leader.")
}

fn during() -> Experiment {
    verdicts(
        &[
            ("P1 starts, one crashes", "bully -n 3 --initiators 1 --crash 1", "holds"),
            ("on a plain ring", "chang-roberts -n 3 --crash 1 --beyond-assumptions", "violated"),
        ],
        "on a plain ring",
        "repaired-chang-roberts -n 3 --crash 1",
    )
    .says("A crash at any moment of the election.")
}
