//! The centralised lock.

use tenure_algorithms::mutex::{Central, central};

use super::several::served;
use super::tables::{holds, side_by_side, verdicts, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::Experiment;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "The centralised lock",
    recalls: "The centralised lock: whoever wants to enter asks a coordinator, which grants \
              one request after the other in order of arrival. Whoever leaves tells it.",
    questions: &[ORDER, SEVERAL, FAILURES],
};

const ORDER: Question = Question {
    id: "Q-09",
    asks: "Does the centralised lock serve requests in the order in which they happened?",
    answer: "That depends on what counts as having happened before. The coordinator serves in \
             order of arrival. If only messages of the lock count, the order is kept, for an \
             empty reason: a client says nothing between its request and its grant, so no request \
             ever happened before another that is still open. If what users tell each other \
             counts too, the order is broken. P2 asks, and its request is slow; P2 tells P3 that \
             it asked; P3 asks, and its request is fast. P3 is served first, though it asked \
             because P2 had asked. Links that keep their order do not help, for the two requests \
             travel on different links. What helps is to tell nobody before the coordinator has \
             confirmed the request, or a network that delivers causally.",
    beyond: None,
    experiments: || vec![told_overtakes(), told_overtakes_in_order(), alone()],
};

const SEVERAL: Question = Question {
    id: "Q-10",
    asks: "How could one leader manage several resources, and what speaks for which design?",
    answer: "In three ways. One lock for everything: nothing can deadlock, and nobody works at \
             the same time even on different things. A queue for each resource at the same \
             leader: those who want different things work side by side, and the leader sees the \
             whole graph of who waits for whom, so it can find a deadlock by looking; but all \
             messages go through it. A leader for each resource: the load is spread, and nobody \
             sees the whole graph. With several locks of either kind two users who take them in \
             opposite orders wait for each other for ever. One order for everybody prevents that \
             and costs nothing; where there is none, probes that follow the edges find the cycle, \
             and a victim gives back what it has.",
    beyond: None,
    experiments: || vec![one_lock(), lock_each(), opposite(), leader_each()],
};

const FAILURES: Question = Question {
    id: "Q-11",
    asks: "What happens to the centralised lock when the leader fails, or a follower that is idle, \
           waiting, or inside?",
    answer: "An idle follower: nothing, nobody needs it. A follower that waits: its turn comes, \
             the grant goes to a corpse, and everybody behind it waits for ever. A follower \
             inside: the release never comes, with the same effect. The leader: everybody waits, \
             and the queue is gone. Each is mended by a detector. A follower that is suspected \
             is taken out of the queue, or its entry ends. A leader that is suspected is replaced \
             by election, and the new one first asks all who are alive whether they are inside or \
             wait, so that nobody is let in twice. If the detector errs about somebody inside, \
             two are inside, and only fences help. A lost request blocks one; a lost grant or \
             release blocks all; acknowledged links mend that.",
    beyond: None,
    experiments: || vec![crashes(), mended(), new_leader(), losses()],
};

/// Four users and one lock for everything they want.
const TOGETHER: &[&[&str]] = &[&["all"], &["all"], &["all"], &["all"]];
/// A lock for each of two things.
const APART: &[&[&str]] = &[&["a"], &["a"], &["b"], &["b"]];

const TOLD: &str = "check central -n 3 --entries 0,1,1 --property order-with-messages";

fn told_overtakes() -> Experiment {
    violated(TOLD, "order-with-messages", 6)
        .says("P2 asks, then tells P3; P3 asks and is served first.")
        .broken(TOLD.replace("order-with-messages", "order"))
}

fn told_overtakes_in_order() -> Experiment {
    violated(&format!("{TOLD} --channel fifo"), "order-with-messages", 6)
        .says("The same over links that keep their order.")
        .broken(format!("{} --channel fifo", TOLD.replace("order-with-messages", "order")))
}

fn alone() -> Experiment {
    let line = "check central -n 3 --entries 0,2,2 --app-messages 1 --property order";
    holds(line, "order")
        .says("If only the lock's own messages count, the order is kept in every schedule.")
        .broken(line.replace("--property order", "--property order-with-messages"))
}

fn one_lock() -> Experiment {
    let all = || served::<Central>(central::Config::default(), TOGETHER);
    let two = || served::<Central>(central::Config::default(), APART);
    Experiment::call("four users, ten units inside, twice each; one lock for everything", all)
        .says("One lock: eight entries, one after the other.")
        .is("entries", "/served", 8)
        .at_least("time until all are served", "/finished_at", 80)
        .broken_call("a lock for each of two things", two)
}

fn lock_each() -> Experiment {
    let two = || served::<Central>(central::Config::default(), APART);
    let all = || served::<Central>(central::Config::default(), TOGETHER);
    Experiment::call("the same users; P1 and P2 want a, P3 and P4 want b", two)
        .says("A queue for each of two things at one leader: about half the time.")
        .is("entries", "/served", 8)
        .at_most("time until all are served", "/finished_at", 55)
        .broken_call("one lock for everything", all)
}

fn opposite() -> Experiment {
    let crossed: &[&[&str]] = &[&["c"], &["a", "b"], &["b", "a"]];
    let sorted: &[&[&str]] = &[&["c"], &["a", "b"], &["a", "b"]];
    let take = |lists| served::<Central>(central::Config::default(), lists);
    let who = "P2 takes a, then b; P3 takes b, then a; P1, who leads, takes c";
    Experiment::call(who, move || take(crossed))
        .says(
            "P2 and P3 each have what the other waits for; only P1 is served. (Broken: both take a \
             first, and all are served.)",
        )
        .is("entries", "/served", 2)
        .is("waiting for ever", "/blocked", [2, 3])
        .broken_call("both take a first", move || take(sorted))
}

fn leader_each() -> Experiment {
    verdicts(
        &[
            ("opposite orders", "edge-chasing -n 2 --variant no-detection", "violated"),
            ("one order", "edge-chasing -n 2 --variant ordered", "holds"),
            ("probes find cycles", "edge-chasing -n 2", "holds"),
        ],
        "opposite orders",
        "edge-chasing -n 2 --variant ordered",
    )
    .says("A leader for each of two locks, in every schedule.")
}

fn crashes() -> Experiment {
    let run = |who: &str| {
        let run = "simulate central -n 4 --entries 0,1,1,1 --hold 5 --beyond-assumptions";
        format!("{run} --crash {who}")
    };
    let idle = "simulate central -n 4 --entries 0,1,1,0 --beyond-assumptions --crash 4@0";
    side_by_side(
        [
            ("idle: blocked", idle.to_owned(), "/blocked", Vec::<u32>::new().into()),
            ("waiting: blocked", run("3@waiting:1+2"), "/blocked", vec![4].into()),
            ("inside: blocked", run("3@inside:1"), "/blocked", vec![4].into()),
            ("leader: blocked", run("1@3"), "/blocked", vec![3, 4].into()),
        ],
        "leader: blocked",
        &run("1@100"),
    )
    .says(
        "P1 coordinates; P2, P3 and P4 ask in this order. Who waits for ever when P4 is down and \
         idle, when P3 crashes waiting, when it crashes inside, and when P1 crashes?",
    )
}

fn mended() -> Experiment {
    let run =
        |who: &str| format!("simulate coordinated:bully -n 4 --entries 2 --hold 5 --crash {who}");
    let none = || Vec::<u32>::new().into();
    side_by_side(
        [
            ("waiting: blocked, elected", run("2@waiting:1"), "/blocked", none()),
            ("inside: blocked, elected", run("2@inside:1"), "/blocked", none()),
            ("leader: blocked, elected", run("4@12"), "/blocked", none()),
        ],
        "leader: blocked, elected",
        "simulate central -n 4 --entries 2 --hold 5 --coordinator 4 --crash 4@12 \
         --beyond-assumptions",
    )
    .says("The same with a detector, and a leader that is elected: nobody waits for ever.")
}

fn new_leader() -> Experiment {
    let line = "check coordinated:bully -n 2 --crash 1";
    holds(line, "mutual-exclusion")
        .is("progress", "/properties/progress", "holds")
        .says("One crash at any moment of any schedule: the new leader lets nobody in twice.")
        .broken(format!("{line} --timing asynchronous --false-suspicion 1 --beyond-assumptions"))
}

fn losses() -> Experiment {
    verdicts(
        &[
            ("a message is lost", "central -n 3 --lose 1 --beyond-assumptions", "violated"),
            ("a message comes twice", "central -n 3 --duplicate 1", "holds"),
            ("lost, and sent again", "fifo:central -n 2 --lose 1 --in-flight 2", "holds"),
        ],
        "a message is lost",
        "central -n 3",
    )
    .says("A loss blocks; numbered requests make duplicates harmless.")
}
