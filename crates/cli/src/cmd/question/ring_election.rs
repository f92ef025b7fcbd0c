//! Elections on rings.

use serde_json::{Map, Value};

use super::tables::{holds, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::{Experiment, perform};
use crate::cmd::failure::Failure;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "Elections on rings",
    recalls: "Chang and Roberts' election: ranks travel round a ring in one direction. A \
              process passes on what is larger than its own rank and drops what is smaller; \
              whoever sees its own rank come back leads, and announces it in another lap.",
    questions: &[CRASHES, LOSSES, FEWER],
};

const CRASHES: Question = Question {
    id: "Q-27",
    asks: "How can Chang and Roberts' election tolerate 1, 2 or more crashes?",
    answer: "As published it tolerates none while it runs: a crash breaks the ring, and a number \
             whose owner died would circle for ever once the ring was mended. Four things help. A \
             list of f + 1 successors, so that f dead neighbours are skipped. A detector that \
             says whom to skip. Sending again, to the new successor, what the dead one may not \
             have passed on. And a number for each election, so that whatever belongs to an \
             earlier attempt is dropped; the number of a dead process then dies with its \
             attempt. A leader that crashes after its victory is a reason for the next election. \
             False alarms cost an election and no more, as nothing is decided by silence alone.",
    beyond: None,
    experiments: || vec![broken_ring(), skips(), any_moment(), returns()],
};

const LOSSES: Question = Question {
    id: "Q-28",
    asks: "How can Chang and Roberts' election tolerate lost messages?",
    answer: "In two ways. Make each hop reliable: number, acknowledge, repeat, drop repeats. Then \
             the election does not notice anything; 20 messages of the worst ring of five are \
             still 20, beside acknowledgements and repeats, which are counted apart. Or let the \
             initiator wait, and start again. That is safe, as the same one wins, and it succeeds \
             in the end if each attempt has some chance; but the participants of the first \
             attempt would swallow the second, so each attempt needs a number of its own. The \
             first is what reliable links such as TCP do anyway. Without either, one loss is \
             enough and nobody ever knows who leads.",
    beyond: Some(
        "the second way. Nothing here starts a ring election again because of a timeout alone; the \
         repaired one starts again because of a suspicion, and it numbers its elections.",
    ),
    experiments: || vec![one_loss(), per_hop(), same_count(), many()],
};

const FEWER: Question = Question {
    id: "Q-35",
    asks: "Can an election on a ring take fewer than O(n²) messages?",
    answer: "Yes, O(n log n). Chang and Roberts' worst ring has the ranks falling in the direction \
             of messages: n(n+1)/2 + n, which is 525 824 for 1024. Hirschberg and Sinclair let \
             candidates conquer neighbourhoods that double, so that few are left in each phase; \
             that needs both directions. Dolev, Klawe and Rodeh, like Peterson, do it in one \
             direction, by letting at most every second candidate survive a phase. But it is \
             only the worst case that improves. Among 8 the simple algorithm on its own worst \
             ring needs 44, and Hirschberg and Sinclair's 72; and on rings drawn at random the \
             simple one needs about n ln n, fewer than either.",
    beyond: Some(
        "that no algorithm which compares ranks does better than Ω(n log n) on asynchronous rings \
         is a theorem (Burns, TR 91, Indiana University, 1980).",
    ),
    experiments: || {
        vec![
            worst(8, [44, 72, 32]),
            worst(64, [2144, 632, 256]),
            worst(1024, [525_824, 10_232, 4096]),
            random(),
        ]
    },
};

fn broken_ring() -> Experiment {
    let line = "check chang-roberts -n 3 --ids 3,1,2";
    violated(&format!("{line} --crash 1 --beyond-assumptions"), "progress", 2)
        .says("A crash on the ring as published.")
        .broken(line)
}

fn skips() -> Experiment {
    let crashes = "-n 6 --crash 4@2 --crash 5@2 --crash 6@2";
    Experiment::line(format!("simulate repaired-chang-roberts {crashes}"))
        .says("The three largest of six, neighbours, crash during the election.")
        .is("leaders", "/leaders", [3])
        .is("waiting for ever", "/blocked", Vec::<u32>::new())
        .broken(format!("simulate chang-roberts {crashes} --beyond-assumptions"))
}

fn any_moment() -> Experiment {
    let line = "check repaired-chang-roberts -n 3 --ids 3,1,2 --crash 2";
    holds(line, "progress")
        .is("agreement", "/properties/agreement", "holds")
        .is("the largest live one leads", "/properties/validity", "holds")
        .says("Two of three crash at any moments, every schedule.")
        .broken("check chang-roberts -n 3 --ids 3,1,2 --crash 2 --beyond-assumptions")
}

fn returns() -> Experiment {
    let line = "check repaired-chang-roberts -n 2 --crash 1 --recover 1 --false-suspicion 1";
    holds(line, "agreement")
        .is("validity", "/properties/validity", "holds")
        .says("A crash, a return, and a false alarm.")
        .broken("check chang-roberts -n 2 --crash 1 --recover 1 --beyond-assumptions")
}

fn one_loss() -> Experiment {
    let line = "check chang-roberts -n 3 --ids 3,1,2";
    violated(&format!("{line} --lose 1 --beyond-assumptions"), "progress", 2)
        .says("The first message is lost.")
        .broken(line)
}

fn per_hop() -> Experiment {
    holds("check fifo:chang-roberts -n 2 --lose 1 --in-flight 2", "progress")
        .is("agreement", "/properties/agreement", "holds")
        .says("Over links that number, acknowledge and repeat, whichever message is lost.")
        .broken("check chang-roberts -n 2 --lose 1 --beyond-assumptions")
}

fn same_count() -> Experiment {
    let line = "simulate fifo:chang-roberts --ids 5,4,3,2,1";
    Experiment::line(format!("{line} --lose 0.2"))
        .says("One message in five is lost, and the election's own count is what it always was.")
        .is("election messages", "/messages/by_kind/election", 15)
        .is("announcements", "/messages/by_kind/elected", 5)
        .at_least("repeats", "/messages/by_kind/repeat", 1)
        .broken(line)
}

fn many() -> Experiment {
    let options = "--ids 5,4,3,2,1 --lose 0.2 --runs 100";
    Experiment::line(format!("simulate fifo:chang-roberts {options}"))
        .says("A hundred such elections.")
        .is("all of them end", "/verdicts/progress", "holds")
        .is("announcements", "/summary/messages/by_kind/elected/mean", 5)
        .broken(format!("simulate chang-roberts {options} --beyond-assumptions"))
}

/// Three algorithms on a ring whose ranks fall in the direction of messages, and the messages that
/// each sends.
fn falling(n: u32) -> Result<Value, Failure> {
    let ids: Vec<String> = (1..=n).rev().map(|id| id.to_string()).collect();
    let sent = ["chang-roberts", "hirschberg-sinclair", "dolev-klawe-rodeh"].map(|name| {
        let run = perform(&format!("simulate {name} --ids {}", ids.join(",")))?;
        Ok((name.to_owned(), run["messages"]["total"].clone()))
    });
    sent.into_iter().collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

fn worst(n: u32, [simple, both, one]: [u64; 3]) -> Experiment {
    Experiment::call(format!("{n} processes, and their ranks {n}, {}, … 1", n - 1), move || {
        falling(n)
    })
    .says("Falling ranks, everybody starts: messages, the announcement included.")
    .is("chang-roberts", "/chang-roberts", simple)
    .is("hirschberg-sinclair", "/hirschberg-sinclair", both)
    .is("dolev-klawe-rodeh", "/dolev-klawe-rodeh", one)
    .broken_call("one process less", move || falling(n - 1))
}

fn random() -> Experiment {
    let run = |name: &str| format!("simulate {name} --ids random -n 256 --runs 10");
    Experiment::lines(
        ["chang-roberts", "hirschberg-sinclair", "dolev-klawe-rodeh"].map(|name| (name, run(name))),
    )
    .says("Ranks in random order, 256 processes: here the simple algorithm needs the fewest.")
    .between("chang-roberts", "/chang-roberts/summary/messages/total/mean", 1500, 2000)
    .at_least("hirschberg-sinclair", "/hirschberg-sinclair/summary/messages/total/mean", 4000)
    .at_least("dolev-klawe-rodeh", "/dolev-klawe-rodeh/summary/messages/total/mean", 2500)
    .broken_lines(
        ["chang-roberts", "hirschberg-sinclair", "dolev-klawe-rodeh"]
            .map(|name| (name, run(name).replace("256", "128"))),
    )
}
