//! What distributed mutual exclusion is for.

use super::late;
use super::tables::{holds, side_by_side, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::Experiment;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "Distributed mutual exclusion",
    recalls: "Distributed mutual exclusion: processes share nothing but messages. At most \
              one is inside at a time, and whoever asks gets in some time.",
    questions: &[EXAMPLES, WHY],
};

const EXAMPLES: Question = Question {
    id: "Q-07",
    asks: "What are examples of mutual exclusion among processes that share nothing?",
    answer: "A job that must run once although every machine has it in its schedule. A file or \
             object in a store that replaces as a whole, so that the last writer wins. A schema \
             that is migrated while ten copies of a program start. One active process among \
             several that stand by: whoever enters first leads, says so, and stays inside. The \
             last is an election made of a lock, and it is what lock services are mostly used \
             for. It gives one leader, not the largest.",
    beyond: None,
    experiments: || vec![first_in_leads(), not_the_largest(), stands_by()],
};

const WHY: Question = Question {
    id: "Q-08",
    asks: "Why would anybody need locks where there is no shared memory, and is a lock enough?",
    answer: "For two reasons, which should be told apart. For efficiency, so that work is not \
             done twice; then a lock that fails now and then costs only that work. And for \
             correctness, because the resource would be ruined; then a lock alone is not enough. \
             Whoever is inside may be stopped, by the operating system or a pause of its own, for \
             longer than the others wait. They suspect it and let the next one in, and the first \
             wakes up and writes. No lock can prevent that from outside. So each entry gets a \
             number that only grows, its fence, and the resource refuses a lower one than it has \
             seen.",
    beyond: Some(
        "what shall happen when the resource cannot compare numbers. Then nothing but a bound on \
         time helps, and that is an assumption again (see Q-01).",
    ),
    experiments: || vec![two_inside(), unfenced(), fenced(), fences_grow()],
};

fn first_in_leads() -> Experiment {
    let line = "check election-from-mutex:central -n 3";
    holds(line, "agreement")
        .is("progress", "/properties/progress", "holds")
        .says("An election made of a lock: all three compete, and all agree on one.")
        .broken(format!("{line} --down 1 --beyond-assumptions"))
}

fn not_the_largest() -> Experiment {
    let line = "check election-from-mutex:central -n 3 --property validity";
    violated(line, "validity", 1)
        .says("It is whoever came first: here P1, whom the largest rank does not help.")
        .broken("check chang-roberts -n 3 --property validity")
}

fn stands_by() -> Experiment {
    let line = "simulate election-from-mutex:central -n 5 --runs 50 --latency 1..3";
    side_by_side(
        [
            ("messages", line.into(), "/summary/messages/total/max", 8.into()),
            ("one leader", line.into(), "/verdicts/agreement", "holds".into()),
        ],
        "messages",
        "simulate election-from-mutex:ricart-agrawala -n 5 --runs 50 --latency 1..3",
    )
    .says(
        "P1 is the coordinator and enters without a message; four others ask in vain, and are \
         told: 4 + 4.",
    )
}

fn two_inside() -> Experiment {
    let line = "check repaired-ring -n 2 --property mutual-exclusion";
    violated(&format!("{line} --false-suspicion 1 --beyond-assumptions"), "mutual-exclusion", 3)
        .says("P1 is inside and slow. P2 suspects it, makes the token anew, and enters.")
        .broken(line)
}

fn unfenced() -> Experiment {
    Experiment::call("P1 reads and is stopped; P2 counts up; P1 writes; no fences", || {
        late::write(false)
    })
    .says("What that does to a counter, over TCP: two updates, and it says 1.")
    .is("accepted writes", "/accepted", 2)
    .is("the counter", "/counter", 1)
    .broken_call("the same with fences", || late::write(true))
}

fn fenced() -> Experiment {
    Experiment::call("the same; P1 has the fence 1, P2 the fence 2", || late::write(true))
        .says("With fences P1's write is refused, and P1 knows that it has to start again.")
        .is("accepted writes, with fences", "/accepted", 1)
        .is("refused writes, with fences", "/refused", 1)
        .broken_call("the same without fences", || late::write(false))
}

fn fences_grow() -> Experiment {
    let line = "check ricart-agrawala -n 2 --entries 2 --property fencing";
    holds(line, "fencing")
        .says(
            "Where fences come from: a lock that promises `fencing`, as nearly all in `tenure \
             list` do, numbers its entries so that they grow, in every schedule.",
        )
        .broken(format!("{line} --variant no-clock-on-request"))
}
