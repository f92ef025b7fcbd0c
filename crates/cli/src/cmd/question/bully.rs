//! The bully election.

use super::tables::{holds, side_by_side, verdicts, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::Experiment;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "The bully election",
    recalls: "The bully election: whoever misses the leader asks all who rank higher. If \
              nobody answers in time it leads, and announces it; if somebody answers, it \
              waits for an announcement, and starts again if none comes in time.",
    questions: &[STAYS_DOWN, TO_WHOM, SAFE, COSTS],
};

const STAYS_DOWN: Question = Question {
    id: "Q-32",
    asks: "The crashed leader comes back and takes over; why is it no problem if it stays down?",
    answer: "Because nobody waits for it. Each process that is up notices the silence of the \
             leader by its own timeout, and starts an election. The election messages to the dead \
             are not answered, and after the time in which an answer would have come the highest \
             one that is up announces itself. If that one dies too, even between its answer and \
             its announcement, those who wait for the announcement wait only so long, and start \
             again. So there is a leader as long as anybody is up, and the return of the old one \
             is just one more reason for an election.",
    beyond: None,
    experiments: || vec![next_highest(), next_again(), after_the_answer(), comes_back()],
};

const TO_WHOM: Question = Question {
    id: "Q-29",
    asks: "What speaks for sending election messages to all, and what for sending them only to \
           those who rank higher?",
    answer: "To higher ones is enough: only they can take over, and only their silence decides. \
             To all means N − 1 messages instead of N − i from process i, and those below do not \
             answer, as they have no objection. Of five, with the lowest starting, it is 16 \
             election messages instead of 10, and the same answers, announcements and leader. \
             What the others gain is to know earlier that there may be no leader: they can stop \
             relying on the old one, and need not start an election of their own. The result is \
             as safe either way.",
    beyond: None,
    experiments: || vec![lowest_starts(), second_starts(), both_safe()],
};

const SAFE: Question = Question {
    id: "Q-30",
    asks: "Is the bully election safe while an election is going on?",
    answer: "Only if nobody comes back and the timeouts are right: then no schedule has two \
             leaders, whoever crashes. If the old leader comes back, it announces itself while \
             the new one has not yet heard of it, and for that moment there are two: five steps. \
             If a timeout fires too early, the lower one announces itself although a higher one \
             is up: three steps. Two for a moment cannot be avoided, so what a leader does must \
             carry its term. Worse is what stays. Where announcements carry no term, and a lower \
             one is believed, two announcements can cross, and each process believes in the other \
             for ever: seven steps. With terms, and a new election at the announcement of a lower \
             one, all agree in the end.",
    beyond: None,
    experiments: || {
        vec![crashes_only(), return_of_the_leader(), wrong_timeouts(), for_ever(), terms()]
    },
};

const COSTS: Question = Question {
    id: "Q-31",
    asks: "How many messages does the bully election take at worst and at best, among n processes?",
    answer: "At worst N(N − 1). The highest is dead and the lowest starts; each process above \
             starts once. That makes N(N − 1)/2 election messages, (N − 1)(N − 2)/2 answers and \
             N − 1 announcements: 20 among 5, 90 among 10. At best the next in line starts: one \
             election message, to the dead, and N − 1 announcements; if they go only to those \
             below, who are all that can use them, N − 2. If it knows that the leader is dead, it \
             may leave out that one message, and N − 2 is all. The highest itself, when it comes \
             back, needs N − 1 announcements. One trap: who starts another election for every \
             message, as some descriptions say, sends exponentially many; once is enough.",
    beyond: None,
    experiments: || vec![worst(), best(), highest(), literally()],
};

fn next_highest() -> Experiment {
    Experiment::line("simulate bully -n 5 --crash 5@10")
        .says("P5 crashes and stays down.")
        .is("leaders", "/leaders", [4])
        .is("everybody who is up agrees", "/verdicts/agreement", "holds")
        .broken("simulate bully -n 5 --crash 5@10 --crash 4@30 --until 80")
}

fn next_again() -> Experiment {
    Experiment::line("simulate bully -n 5 --crash 5@10 --crash 4@30 --until 80")
        .says("P4 leads, crashes, and stays down as well.")
        .is("leaders", "/leaders", [3])
        .broken("simulate bully -n 5 --crash 5@10 --crash 4@30 --recover 4@50 --until 80")
}

fn after_the_answer() -> Experiment {
    let line = "check bully -n 3 --initiators 1 --crash 2";
    holds(line, "progress")
        .is("the highest who is up leads", "/properties/validity", "holds")
        .says("P1 starts, and two crash at any moments: also after an answer.")
        .broken("check chang-roberts -n 3 --initiators 1 --crash 2 --beyond-assumptions")
}

fn comes_back() -> Experiment {
    let line = "simulate bully -n 5 --crash 5@10";
    Experiment::line(format!("{line} --recover 5@50"))
        .says("And if it does come back, it leads again.")
        .is("leaders", "/leaders", [5])
        .broken(line)
}

/// An election among five, whose leader is dead.
fn five(initiator: u32, variant: &str) -> String {
    let variant = if variant.is_empty() { String::new() } else { format!(" --variant {variant}") };
    format!("simulate bully -n 5 --down 5 --initiators {initiator}{variant}")
}

fn lowest_starts() -> Experiment {
    let election = "/messages/by_kind/election";
    let answer = "/messages/by_kind/answer";
    side_by_side(
        [
            ("elections, to higher", five(1, ""), election, 10.into()),
            ("elections, to all", five(1, "tell-all"), election, 16.into()),
            ("answers, to higher", five(1, ""), answer, 6.into()),
            ("answers, to all", five(1, "tell-all"), answer, 6.into()),
        ],
        "elections, to all",
        &five(1, ""),
    )
    .says("P5 is dead and P1 starts: four elections in turn.")
}

fn second_starts() -> Experiment {
    let total = "/messages/total";
    side_by_side(
        [
            ("to higher", five(4, ""), total, 5.into()),
            ("to all", five(4, "tell-all"), total, 8.into()),
            ("leader, to all", five(4, "tell-all"), "/leaders", vec![4].into()),
        ],
        "to all",
        &five(4, ""),
    )
    .says("P4 starts, and nobody above it is up: messages in all.")
}

fn both_safe() -> Experiment {
    verdicts(
        &[
            ("to higher", "bully -n 2 --crash 1 --recover 1", "holds"),
            ("to all", "bully -n 2 --crash 1 --recover 1 --variant tell-all", "holds"),
        ],
        "to all",
        "bully -n 2 --crash 1 --recover 1 --variant tell-all,accept-lower,no-terms",
    )
    .says("A crash and a return, every schedule.")
}

const AT_A_TIME: &str = "--property one-leader-at-a-time";

fn crashes_only() -> Experiment {
    let line = format!("check bully -n 3 --initiators 1 --crash 2 {AT_A_TIME}");
    holds(&line, "one-leader-at-a-time")
        .says("Two of three crash, timeouts are right, nobody comes back: never two leaders.")
        .broken(format!("{line} --recover 1"))
}

fn return_of_the_leader() -> Experiment {
    let line = format!("check bully -n 2 --crash 1 {AT_A_TIME}");
    violated(&format!("{line} --recover 1"), "one-leader-at-a-time", 5)
        .says("P2 comes back while P1 leads.")
        .broken(line)
}

fn wrong_timeouts() -> Experiment {
    let line = format!("check bully -n 2 {AT_A_TIME}");
    let wrong = "--timing asynchronous --false-suspicion 1 --beyond-assumptions";
    violated(&format!("{line} {wrong}"), "one-leader-at-a-time", 3)
        .says("P1 does not wait long enough for the answer of P2.")
        .broken(line)
}

fn for_ever() -> Experiment {
    let line = "check bully -n 2 --crash 1 --recover 1 --property agreement";
    violated(&format!("{line} --variant accept-lower,no-terms"), "agreement", 7)
        .says("Without terms two announcements cross, and each believes in the other for ever.")
        .broken(line)
}

fn terms() -> Experiment {
    let line = "check bully -n 2 --crash 1 --recover 1";
    holds(line, "agreement")
        .is("validity", "/properties/validity", "holds")
        .says("With terms, and an election at the word of a lower one: in the end all agree.")
        .broken(format!("{line} --variant accept-lower,no-terms --property agreement,validity"))
}

fn worst() -> Experiment {
    let run = |n: u32| format!("simulate bully -n {n} --down {n} --initiators 1");
    let total = "/messages/total";
    side_by_side(
        [
            ("among 5", run(5), total, 20.into()),
            ("among 10", run(10), total, 90.into()),
            ("elections among 10", run(10), "/messages/by_kind/election", 45.into()),
            ("answers among 10", run(10), "/messages/by_kind/answer", 36.into()),
            ("announcements among 10", run(10), "/messages/by_kind/coordinator", 9.into()),
        ],
        "among 10",
        "simulate bully -n 10 --down 10 --initiators 2",
    )
    .says("The highest is dead, the lowest starts; messages to the dead are counted.")
}

fn best() -> Experiment {
    let run = "simulate bully -n 10 --down 10 --initiators 9";
    let lower = format!("{run} --variant announce-lower");
    let announced = "/messages/by_kind/coordinator";
    side_by_side(
        [
            ("elections", run.to_owned(), "/messages/by_kind/election", 1.into()),
            ("announcements to all", run.to_owned(), announced, 9.into()),
            ("announcements to those below", lower, announced, 8.into()),
        ],
        "elections",
        "simulate bully -n 10 --down 10 --initiators 8",
    )
    .says("The next in line starts, among 10.")
}

fn highest() -> Experiment {
    let run = "simulate bully -n 10 --initiators 10";
    Experiment::line(run)
        .says("The highest starts: nobody is asked.")
        .is("messages", "/messages/total", 9)
        .broken(format!("{run},1"))
}

fn literally() -> Experiment {
    let run =
        |n: u32, variant: &str| format!("simulate bully -n {n} --down {n} --initiators 1{variant}");
    let total = "/messages/total";
    let literally = " --variant literal-restart";
    side_by_side(
        [
            ("8, once", run(8, ""), total, 56.into()),
            ("8, each time", run(8, literally), total, 197.into()),
            ("12, once", run(12, ""), total, 132.into()),
            ("12, each time", run(12, literally), total, 3081.into()),
        ],
        "12, each time",
        &run(12, ""),
    )
    .says(
        "Once: who is asked starts an election, and no other before that one is over. Each time: \
         it starts one for every message.",
    )
}
