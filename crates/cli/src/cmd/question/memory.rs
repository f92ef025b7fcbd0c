//! Why there are locks at all: a race, with shared memory and without.

use serde_json::json;

use super::tables::{side_by_side, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::Experiment;
use crate::cmd::scenario::{self, record::finals};

pub(super) const CHAPTER: Chapter = Chapter {
    title: "Mutual exclusion with shared memory, and without",
    recalls: "A critical section is something that at most one may do at a time. A lock lets \
              one enter, and makes the others wait until it has left.",
    questions: &[RACE, WITHOUT_MEMORY, WORRY, SCENARIOS],
};

const RACE: Question = Question {
    id: "Q-33",
    asks: "What may happen when several threads use shared data at once: which values can a \
           counter at 5 have after one counter++ and one counter--?",
    answer: "4, 5 or 6. Each statement is three instructions: load, operate, store. Where both \
             threads load before either stores, both work on 5, and whoever stores last destroys \
             what the other did: 4 if that is the decrement, 6 if it is the increment. Of the 20 \
             ways to interleave six instructions 9 end in 4, 9 in 6, and only 2 in 5. Those 2 are \
             the serial ones, in which one statement ends before the other begins. A lock around \
             each statement leaves exactly these, and that is all a lock is for.",
    beyond: None,
    experiments: || scenario::experiments("race").expect("there is a race"),
};

const WITHOUT_MEMORY: Question = Question {
    id: "Q-04",
    asks: "Is there a critical section problem in a distributed system, where no memory is shared?",
    answer: "Yes. The shared thing need not be memory; anything that several processes reach by \
             messages will do. Here a server keeps a number, and two clients change it the way \
             clients do: get it, add, put it back. The server handles one message after the \
             other, and each message is atomic. But get and put are two messages, and another's \
             put fits between them. Of six orders in which the server may be asked four lose an \
             update, and the results are 4, 5 and 6 as with threads. With a distributed lock \
             around get and put only the two serial orders are left.",
    beyond: None,
    experiments: || vec![two_clients(), two_clients_locked()],
};

const WORRY: Question = Question {
    id: "Q-05",
    asks: "Must a distributed system worry about mutual exclusion, then?",
    answer: "It must, and more so the more clients there are. Of two clients that count up at \
             once, 4 of 6 orders lose an update. Of three it is 84 of 90. No fault is needed for \
             that: nobody crashed, and no message was lost or late. A server that offers the \
             whole change as one operation, such as add or compare-and-set, needs no lock for one \
             record; the worry returns as soon as two records, or two servers, belong together. \
             The price of the lock is known in advance: a coordinator takes three messages per \
             entry, however many wait.",
    beyond: None,
    experiments: || vec![three_clients(), three_clients_locked(), price()],
};

const SCENARIOS: Question = Question {
    id: "Q-06",
    asks: "In which situations does a distributed system need mutual exclusion?",
    answer: "Whenever something outside can only bear one at a time. A record that is read, \
             changed and written back is one case. A pair of records is another: a transfer \
             between two accounts takes two locks, and taken in opposite orders they deadlock. \
             Equipment is a third: two printers bear two users and not three. And roles are the \
             fourth: of the processes that could coordinate, one does, even when it crashes and \
             another takes over. What these have in common is a resource that does not protect \
             itself.",
    beyond: None,
    experiments: || vec![two_clients_locked(), transfer(), printers(), role()],
};

fn two_clients() -> Experiment {
    Experiment::call("a record at 5; one client adds 1, one takes 1 away; no lock", || {
        Ok(finals(5, &[1, -1], false))
    })
    .says("Every order in which get and put of two clients can reach the server.")
    .is("orders", "/orders", 6)
    .is("orders by final value", "/finals", json!({ "4": 2, "5": 2, "6": 2 }))
    .broken_call("the same with the lock", || Ok(finals(5, &[1, -1], true)))
}

fn two_clients_locked() -> Experiment {
    Experiment::call("the same, and each client enters a centralised lock first", || {
        Ok(finals(5, &[1, -1], true))
    })
    .says("With a lock, over every order of all messages, those of the lock included.")
    .is("orders, with the lock", "/orders", 2)
    .is("orders by final value, with the lock", "/finals", json!({ "5": 2 }))
    .broken_call("the same without the lock", || Ok(finals(5, &[1, -1], false)))
}

fn three_clients() -> Experiment {
    Experiment::call("a record at 0; three clients add 1; no lock", || {
        Ok(finals(0, &[1, 1, 1], false))
    })
    .says("Three clients: of 90 orders 6 are right.")
    .is("orders", "/orders", 90)
    .is("orders that end in 3", "/finals/3", 6)
    .broken_call("the same with the lock", || Ok(finals(0, &[1, 1, 1], true)))
}

fn three_clients_locked() -> Experiment {
    Experiment::call("the same with the lock", || Ok(finals(0, &[1, 1, 1], true)))
        .says("With the lock all that is left are the 3! serial orders.")
        .is("orders by final value, with the lock", "/finals", json!({ "3": 6 }))
        .broken_call("the same without the lock", || Ok(finals(0, &[1, 1, 1], false)))
}

fn price() -> Experiment {
    let line = |n| format!("simulate central -n {n} --entries 0,1");
    side_by_side(
        [3, 10, 100].map(|n| {
            let name = ["among 3", "among 10", "among 100"][(n > 3) as usize + (n > 10) as usize];
            (name, line(n), "/messages/total", 3.into())
        }),
        "among 10",
        "simulate lamport -n 10 --entries 0,1",
    )
    .says("What an entry costs with a coordinator: request, grant, release.")
}

fn transfer() -> Experiment {
    violated("check edge-chasing -n 2 --variant no-detection", "progress", 2)
        .says("A transfer between two accounts, from each side at once: each has one lock.")
        .broken("check edge-chasing -n 2 --variant ordered")
}

fn printers() -> Experiment {
    let line = "check k-mutex -n 3 --k 2";
    Experiment::line(line)
        .says("Two printers and three users.")
        .is("at most two print", "/properties/at-most-k", "holds")
        .is("everybody prints", "/properties/progress", "holds")
        .broken(format!("{line} --entries 2,1,1 --variant untagged-reply"))
}

fn role() -> Experiment {
    Experiment::line("check coordinated:bully -n 2 --crash 1")
        .says("A coordinator that may crash at any moment: another takes over, never two at once.")
        .is("mutual exclusion", "/properties/mutual-exclusion", "holds")
        .is("progress", "/properties/progress", "holds")
        .broken("check central -n 2 --entries 0,1 --crash 1 --beyond-assumptions")
}
