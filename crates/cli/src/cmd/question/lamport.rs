//! Lamport's lock.

use super::tables::{holds, side_by_side, violated};
use super::{Chapter, Question, chatter};
use crate::cmd::experiment::Experiment;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "Lamport's lock",
    recalls: "Lamport's lock: a request carries a stamp and goes to all. Everybody keeps all \
              requests in order of stamps, and replies. Whoever is first in its own queue \
              and has heard something later from everybody enters; when it leaves it tells \
              all, who drop its request.",
    questions: &[IDS, CLOCKS, ORDER, RELEASE, DELAY],
};

const IDS: Question = Question {
    id: "Q-16",
    asks: "In Lamport's lock, would the numbers of processes do as stamps of requests?",
    answer: "No, and it is not only unfair but unsafe. The lock lets a process in when nothing \
             that is still to come can be smaller than its own request. Clocks give that: a reply \
             carries a later clock, so any request that its sender makes afterwards is larger. \
             Numbers of processes do not grow. P2 asks, P1 replies and then asks itself; the \
             request of P1 is always the smaller one, so P2 enters on the reply, and P1 enters \
             because it comes first in every queue. Six steps, two processes, links in order.",
    beyond: None,
    experiments: || {
        let line = "check lamport -n 2";
        let ids = format!("{line} --variant ids-as-stamps");
        vec![
            violated(&ids, "mutual-exclusion", 6)
                .says("Whoever has the smaller number enters although another is inside.")
                .broken(line),
        ]
    },
};

const CLOCKS: Question = Question {
    id: "Q-17",
    asks: "Would the values of Lamport clocks alone do as stamps?",
    answer: "No. Two clocks can be equal, and then somebody must say who comes first. If each \
             takes its own request to be the first of equals, both enter. If each takes the \
             other's to be the first, both wait for ever; two requests are enough. A stamp is the \
             pair of clock and number: the clock for the order of causes, and the number, which \
             means nothing, so that no two are equal and all break ties alike.",
    beyond: None,
    experiments: || {
        let line = |variant: &str| format!("check lamport -n 2 --variant {variant}");
        vec![
            violated(&line("clock-only-own-first"), "mutual-exclusion", 6)
                .says("Of equals the own one first: both are inside.")
                .broken("check lamport -n 2"),
            violated(&line("clock-only-other-first"), "progress", 2)
                .says("Of equals the other's first: both wait.")
                .broken("check lamport -n 2"),
        ]
    },
};

const ORDER: Question = Question {
    id: "Q-18",
    asks: "Does Lamport's lock preserve the order of requests?",
    answer: "It serves in the order of stamps, and that is the order of causes as far as clocks \
             know it. Every message of the lock carries a clock, and whoever receives it sets its \
             own beyond it; so a request that one could know of when it made its own has the \
             smaller stamp. What users tell each other has no stamp unless they put one on. P2 \
             asks with clock 1, and tells P1 over the telephone; the clock of P1 is still at 0, \
             so P1 asks with clock 1 as well, and wins the tie. Two processes suffice for that; \
             no third one has to relay it. If the telephone carries the clock, the order is kept.",
    beyond: None,
    experiments: || vec![protocol(), telephone(), stamped()],
};

const RELEASE: Question = Question {
    id: "Q-12n",
    asks: "Which message is it that lets the next process in: is the guess right that it is the \
           release, and one message?",
    answer: "It is. All others have the request of the next one in their queues, and it has their \
             replies, long before the first leaves. The one thing missing is that the first \
             request goes from the top of its own queue. The release says so, and the next enters \
             on receiving it, from the one who left. With a coordinator it takes two, because the \
             release goes to one who is not next and who must then grant.",
    beyond: None,
    experiments: || {
        let run = |name: &str| format!("simulate {name} -n 3 --entries 0,1,1 --hold 5");
        vec![
            Experiment::line(run("lamport"))
                .says("P2 is inside when P3 waits; what P3 receives last is the release of P2.")
                .drawn()
                .is("delay from exit to entry, in messages", "/delays/synchronisation/max", 1)
                .is("releases", "/messages/by_kind/release", 4)
                .broken(run("central")),
        ]
    },
};

const DELAY: Question = Question {
    id: "Q-36",
    asks: "How long is nobody inside although somebody waits, from an exit to the next entry?",
    answer: "In Lamport's lock one message delay, whatever the number of processes: the releases \
             travel side by side, and only the one to the next process matters. So it is in all \
             locks where the next one hears from the last one directly. Through a coordinator, or \
             voters, it is two: a release, and a grant. On a ring it is 1 to N, as the token \
             passes those who do not want it. This is the delay that limits how many entries per \
             second a busy lock serves, where messages per entry only limit what the network must \
             bear.",
    beyond: None,
    experiments: || {
        let run = |name: &str, n: u32| format!("simulate {name} -n {n} --entries 5 --hold 5");
        let at = "/delays/synchronisation/max";
        vec![
            side_by_side(
                [
                    ("of 2", run("lamport", 2), at, 1.into()),
                    ("of 5", run("lamport", 5), at, 1.into()),
                    ("of 20", run("lamport", 20), at, 1.into()),
                ],
                "of 20",
                &run("central", 20),
            )
            .says("Lamport's lock under load, among ever more: the longest delay of all exits."),
            side_by_side(
                [
                    ("ricart-agrawala", run("ricart-agrawala", 5), at, 1.into()),
                    ("suzuki-kasami", run("suzuki-kasami", 5), at, 1.into()),
                    ("central", run("central", 5), at, 2.into()),
                    ("maekawa", run("maekawa", 5), at, 2.into()),
                ],
                "central",
                &run("lamport", 5),
            )
            .says("Others under the same load."),
        ]
    },
};

fn protocol() -> Experiment {
    let line = "check lamport -n 3 --property order";
    holds(line, "order")
        .says(
            "Three processes, every schedule: nobody enters before a request that happened first.",
        )
        .broken("check suzuki-kasami -n 3 --property order")
}

fn telephone() -> Experiment {
    let line = "check lamport -n 2 --property order-with-messages";
    violated(line, "order-with-messages", 7)
        .says("A message of the users carries no clock, and the order is lost.")
        .broken(line.replace("order-with-messages", "order"))
}

fn stamped() -> Experiment {
    Experiment::call("users tell each other of requests; their messages carry the clock", || {
        chatter::lamport(true)
    })
    .says("200 runs of three who talk: with clocks on all that is said, no entry is out of order.")
    .is("runs out of order", "/out_of_order", 0)
    .at_least("messages of users", "/told", 200)
    .broken_call("the messages carry no clock", || chatter::lamport(false))
}
