//! The token ring.

use serde_json::{Value, json};
use tenure_algorithms::mutex::{TokenRing, token_ring};

use super::several::{served, stuck};
use super::tables::{holds, side_by_side, verdicts, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::Experiment;
use crate::cmd::failure::Failure;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "The token ring",
    recalls: "The token ring: one token goes round. Whoever has it may enter, and passes it \
              on to its successor when it leaves or does not want to enter.",
    questions: &[ORDER, SEVERAL, CRASHES, TOKENS],
};

const ORDER: Question = Question {
    id: "Q-12",
    asks: "Does the token ring serve requests in the order in which they happened?",
    answer: "No. It serves in the order of the ring, from wherever the token happens to be. The \
             shortest proof takes four steps: P2 asks, tells P1 of it, and P1, who has the token, \
             asks and is inside at once. What the ring gives instead is the strongest bound on \
             overtaking: while you wait, each other process enters at most once, for it must pass \
             the token on, and the token comes past you before it is there again. So nobody \
             starves, though the order is not that of requests.",
    beyond: None,
    experiments: || vec![told(), once_each(), alone()],
};

const SEVERAL: Question = Question {
    id: "Q-13",
    asks: "How could a ring guard several resources?",
    answer: "By one token for all of them, or one for each. One token for all is the plain lock \
             again: safe, no deadlock, and nobody works beside another. A token for each lets \
             those work side by side who want different things; the tokens go round \
             independently and may even start at different places. But whoever needs two holds \
             one token while it waits for the other, and two such users in opposite orders wait \
             for ever, while both tokens stand still. Taking tokens in one order, the same for \
             all, prevents it. The idle traffic grows with the number of tokens: each is passed \
             on all the time.",
    beyond: None,
    experiments: || vec![one_token(), token_each(), opposite(), idle()],
};

const CRASHES: Question = Question {
    id: "Q-14",
    asks: "How can a token ring tolerate 1, 2 or more crashes?",
    answer: "A plain ring tolerates none: the token goes to the dead and is gone. Three things \
             are needed. A list of successors instead of one: who knows the next f + 1 can skip f \
             that crashed side by side, and crashes that are not neighbours need only one spare \
             each. A detector that says whom to skip. And a way to make the token anew when it \
             was with the dead: ask everybody alive whether they have it, and only if all say no, \
             make one with a higher generation. Here everybody knows all others, so any number of \
             crashes but one survivor will do. The price is that the detector decides safety: one \
             wrong suspicion and there are two tokens. Then only fences at the resource help.",
    beyond: None,
    experiments: || vec![plain(), skipped(), any_moment(), wrongly()],
};

const TOKENS: Question = Question {
    id: "Q-15",
    asks: "What can be done about a token that is lost, or that is there twice?",
    answer: "If it is lost, somebody must notice that nothing comes. That takes a timeout, and an \
             election of who makes the new one; or Misra's two tokens, which watch each other \
             without any clock: a token that finds a process as it left it knows that the other \
             has been lost, and makes it anew. One of two may be lost again and again; both at \
             once is the end. If it is there twice, the common advice is a generation number, \
             where the lower is dropped. That removes an old token after a new one was made in \
             vain. It does not help against a copy made by the network, which has the same \
             number: two are inside after 8 steps. What helps there is a number for each hop, as \
             reliable links have, or Dijkstra's ring, where the token is no message at all but a \
             difference between neighbours' states.",
    beyond: None,
    experiments: || vec![lost(), two_tokens(), both(), twice(), same_generation(), numbered()],
};

fn told() -> Experiment {
    let line = "check token-ring -n 2 --property order-with-messages";
    violated(line, "order-with-messages", 4)
        .says("P2 asks and tells P1, who has the token.")
        .broken(line.replace("order-with-messages", "order"))
}

fn once_each() -> Experiment {
    let line = "check token-ring -n 3 --entries 3 --property bypass,no-starvation";
    holds(line, "no-starvation")
        .is("entries of another while one waits", "/bypass_max", 1)
        .says("In every schedule of three with three entries each.")
        .broken(line.replace("token-ring", "central"))
}

fn alone() -> Experiment {
    let line = "check token-ring -n 3 --property order --app-messages 1";
    holds(line, "order")
        .says(
            "If only the lock's messages count, no request happens before another that is open: \
             the token says nothing of who asked.",
        )
        .broken(line.replace("property order", "property order-with-messages"))
}

fn ring(lists: &[&[&str]]) -> Result<Value, Failure> {
    served::<TokenRing>(token_ring::Config::default(), lists)
}

/// Five users and one token for everything they want.
const TOGETHER: &[&[&str]] = &[&["all"], &["all"], &["all"], &["all"], &["all"]];
/// A token for each of two things, of which P1, where tokens start, wants both.
const APART: &[&[&str]] = &[&["a", "b"], &["a"], &["a"], &["b"], &["b"]];

fn one_token() -> Experiment {
    Experiment::call("five users, ten units inside, twice each; one token", || ring(TOGETHER))
        .says("One token: ten entries one after the other.")
        .is("entries", "/served", 10)
        .at_least("time until all are served", "/finished_at", 100)
        .broken_call("two tokens, for two things", || ring(APART))
}

fn token_each() -> Experiment {
    let who = "the same; P2 and P3 want a, P4 and P5 want b, P1 wants both; two tokens";
    Experiment::call(who, || ring(APART))
        .says("Two tokens: two are inside at once, except when P1 has both.")
        .is("entries", "/served", 10)
        .at_most("time until all are served", "/finished_at", 85)
        .broken_call("one token", || ring(TOGETHER))
}

/// In how many of a hundred runs somebody waits for ever.
fn deadlocks(lists: &[&[&str]]) -> Result<Value, Failure> {
    let run = |seed| stuck::<TokenRing>(token_ring::Config::default(), lists, seed);
    let stuck: Result<Vec<bool>, Failure> = (1..=100).map(run).collect();
    Ok(json!({ "deadlocks": stuck?.into_iter().filter(|it| *it).count() }))
}

fn opposite() -> Experiment {
    const CROSSED: &[&[&str]] = &[&["a", "b"], &["b", "a"], &["a", "b"], &["b", "a"]];
    const SORTED: &[&[&str]] = &[&["a", "b"], &["a", "b"], &["a", "b"], &["a", "b"]];
    Experiment::call("100 runs; P1 and P3 take a, then b; P2 and P4 take b, then a", || {
        deadlocks(CROSSED)
    })
    .says("Two tokens, held by two who wait for each other. (Broken: all take a first, and none.)")
    .at_least("runs that end in a deadlock", "/deadlocks", 1)
    .broken_call("all take a first", || deadlocks(SORTED))
}

fn idle() -> Experiment {
    let line = "simulate token-ring -n 5 --entries 0 --until";
    Experiment::line(format!("{line} 100"))
        .says("What one token costs while nobody wants it: it is passed on for ever.")
        .at_least("messages of an idle ring in 100 units", "/messages/total", 50)
        .is("entries", "/entries/total", 0)
        .broken(format!("{line} 10"))
}

fn plain() -> Experiment {
    let line = "check token-ring -n 3 --beyond-assumptions";
    violated(&format!("{line} --down 3"), "progress", 2)
        .says("P3 is down, and the token is passed to it.")
        .broken(line)
}

fn skipped() -> Experiment {
    let run = |name: &str| {
        format!("simulate {name} -n 6 --entries 3 --crash 2@4 --crash 3@4 --crash 4@4")
    };
    side_by_side(
        [
            ("waiting for ever", run("repaired-ring"), "/blocked", Vec::<u32>::new().into()),
            ("progress", run("repaired-ring"), "/verdicts/progress", "holds".into()),
        ],
        "progress",
        &format!("{} --beyond-assumptions", run("token-ring")),
    )
    .says("Three neighbours of six crash at once, and are skipped.")
}

fn any_moment() -> Experiment {
    let line = "check repaired-ring -n 3 --crash 2";
    holds(line, "mutual-exclusion")
        .is("progress", "/properties/progress", "holds")
        .says("Two of three crash, at any moments, also with the token or inside.")
        .broken("check token-ring -n 3 --crash 2 --beyond-assumptions")
}

fn wrongly() -> Experiment {
    let line = "check repaired-ring -n 2 --property mutual-exclusion";
    violated(&format!("{line} --false-suspicion 1 --beyond-assumptions"), "mutual-exclusion", 3)
        .says("P1 is alive and inside; P2 suspects it and makes a second token.")
        .broken(line)
}

fn lost() -> Experiment {
    let line = "check token-ring -n 2 --beyond-assumptions";
    violated(&format!("{line} --lose 1"), "progress", 3)
        .says("The token is lost, and everybody waits.")
        .broken(line)
}

fn two_tokens() -> Experiment {
    let line = "check misra-ring -n 2 --lose 1 --beyond-assumptions";
    holds(line, "progress")
        .is("mutual-exclusion", "/properties/mutual-exclusion", "holds")
        .says("Misra's two tokens, and one of them is lost, whenever it may be.")
        .broken("check token-ring -n 2 --lose 1 --beyond-assumptions")
}

fn both() -> Experiment {
    violated("check misra-ring -n 2 --lose 2 --beyond-assumptions", "progress", 5)
        .says("Both are lost before they meet anybody.")
        .broken("check misra-ring -n 2 --lose 1 --beyond-assumptions")
}

fn twice() -> Experiment {
    let line = "check token-ring -n 2 --entries 2 --beyond-assumptions --property \
                mutual-exclusion";
    violated(&format!("{line} --duplicate 1"), "mutual-exclusion", 8)
        .says("The network delivers the token twice.")
        .broken(line)
}

fn same_generation() -> Experiment {
    verdicts(
        &[
            ("generations", "repaired-ring -n 3 --duplicate 1 --beyond-assumptions", "violated"),
            ("Dijkstra's ring", "dijkstra-ring -n 2 --duplicate 1 --beyond-assumptions", "holds"),
        ],
        "generations",
        "repaired-ring -n 3",
    )
    .says("A copy has the generation of the original; a difference of states cannot be copied.")
}

fn numbered() -> Experiment {
    let options = "-n 5 --entries 5 --lose 0.1 --duplicate 0.1 --runs 50";
    Experiment::line(format!("simulate fifo:token-ring {options}"))
        .says("Every hop numbered and acknowledged: one message in ten is lost, one comes twice.")
        .is("mutual-exclusion", "/verdicts/mutual-exclusion", "holds")
        .is("progress", "/verdicts/progress", "holds")
        .broken(format!("simulate token-ring {options} --beyond-assumptions"))
}
