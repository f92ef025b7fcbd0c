//! Ricart and Agrawala's lock, and all locks compared.

use serde_json::{Map, Value, json};

use super::tables::{holds, side_by_side, verdicts, violated};
use super::{Chapter, Question};
use crate::cmd::experiment::{Experiment, perform};
use crate::cmd::failure::Failure;

pub(super) const CHAPTER: Chapter = Chapter {
    title: "Ricart and Agrawala's lock, and a comparison",
    recalls: "Ricart and Agrawala's lock: a request carries a stamp and goes to all. \
              Everybody replies at once, unless it is inside, or waits with a smaller stamp: \
              then it replies when it leaves. Whoever has everybody's reply enters.",
    questions: &[IDS, CLOCKS, ORDER, COSTS, FAULTS],
};

const IDS: Question = Question {
    id: "Q-19",
    asks: "In Ricart and Agrawala's lock, would the numbers of processes do as stamps of requests?",
    answer: "No: with three processes two are inside. Who defers a reply trusts that its own \
             request is the smaller one for everybody. P2 asks; P1 replies, and then asks itself. \
             P2 already has P1's reply, but sees that P1 has the smaller number, and replies as \
             well. P1 and P2 then both get the reply of P3. A clock prevents it: P1, having \
             received the request of P2, asks with a later stamp, and P2 defers. With two \
             processes and links in order it happens to be safe, because the reply that P1 sent \
             first lets P2 in before P1's request arrives. Where messages overtake each other, \
             two processes are enough.",
    beyond: None,
    experiments: || {
        let line = |rest: &str| format!("check ricart-agrawala --variant ids-as-stamps {rest}");
        vec![
            violated(&line("-n 3 --channel fifo"), "mutual-exclusion", 10)
                .says("Three processes, links in order.")
                .broken("check ricart-agrawala -n 3 --channel fifo"),
            violated(&line("-n 2 --channel reordered"), "mutual-exclusion", 6)
                .says("Two processes, links in any order.")
                .broken("check ricart-agrawala -n 2 --channel reordered"),
            holds(
                &line("-n 2 --channel fifo --entries 3 --property mutual-exclusion,progress"),
                "mutual-exclusion",
            )
            .says("Two processes, links in order: safe by accident.")
            .is("progress", "/properties/progress", "holds")
            .broken(line("-n 2 --channel reordered --property mutual-exclusion,progress")),
        ]
    },
};

const CLOCKS: Question = Question {
    id: "Q-20",
    asks: "Would the values of Lamport clocks alone do as stamps?",
    answer: "No, as somebody must give way when two clocks are equal. Two processes that ask at \
             once both have the clock 1. If equal means that the other may go first, both reply, \
             and both enter. If equal means that I go first, both defer, and both wait for ever. \
             Whatever the rule, it is the same at both, and so what they do is the same: the \
             symmetry must be broken by something that differs. The number of the process is \
             enough, and it need not mean anything.",
    beyond: None,
    experiments: || {
        let line = |variant: &str| format!("check ricart-agrawala -n 2 --variant {variant}");
        vec![
            violated(&line("clock-only-strict"), "mutual-exclusion", 6)
                .says("Of equals the other first: both are inside.")
                .broken("check ricart-agrawala -n 2"),
            violated(&line("clock-only-defer"), "progress", 2)
                .says("Of equals the own one first: both wait.")
                .broken("check ricart-agrawala -n 2"),
        ]
    },
};

const ORDER: Question = Question {
    id: "Q-21",
    asks: "Does Ricart and Agrawala's lock preserve the order of requests?",
    answer: "Of stamps always; of causes only if replies carry the clock as well. The paper of \
             1981 learns clocks from requests alone. P1 asks with clock 1; P2 replies, then asks \
             with clock 2, and P3 receives that. After it P3 replies to P1, and says nothing of \
             the clock 2. P1 enters, leaves, and asks again, with clock 2, since that is all it \
             has heard of. Its second request comes later than P2's, by way of P3's reply; but \
             (2, P1) is smaller than (2, P2), and P1 enters first. A clock on each reply, and a \
             receiver that sets its own beyond it, mends it; nothing else changes. Messages of \
             the users need the clock too, as with Lamport's lock.",
    beyond: None,
    experiments: || {
        let line = "check ricart-agrawala -n 3 --entries 2,1,1 --channel fifo --property order";
        let told = "check ricart-agrawala -n 2 --property order-with-messages";
        vec![
            violated(&format!("{line} --variant unstamped-reply"), "order", 14)
                .says("Replies without a clock, as printed in 1981.")
                .broken(line),
            holds(line, "order")
                .says("Replies with a clock: in no schedule out of order.")
                .broken(format!("{line} --variant reference")),
            violated(told, "order-with-messages", 6)
                .says("Replies with a clock, but users who tell each other without one.")
                .broken(told.replace("order-with-messages", "order")),
        ]
    },
};

const COSTS: Question = Question {
    id: "Q-22",
    asks: "How do the locks compare by messages, by the delay from an exit to the next entry, and \
           by delays at entry and exit?",
    answer: "Alone among nine, a request costs 3 messages with a coordinator, 24 with Lamport, 16 \
             with Ricart and Agrawala, 12 with a grid of voters, 9 with a broadcast token, and 2 \
             with a token in a tree that happens to be near. A ring takes as many as there are \
             hops to the token. The entry waits for 2 message delays in all but the ring, an exit \
             for none. From an exit to the next entry it takes 1 where the next hears from the \
             last directly, and 2 where a coordinator, voters or the middle of a star are \
             between. Under load the ring is the cheapest, one message per entry, because every \
             hop serves somebody; alone it is the dearest, because it never rests. So: few \
             messages from a token, short delays from asking all, both bought with state that a \
             crash destroys.",
    beyond: Some(
        "that 0 … N messages of Naimi, Trehel and Arnold are O(log N) on average for any load is \
         their theorem (JPDC 34(1), 1996); `tenure compare mutex --sequential 1000` measures it \
         for uniform requests.",
    ),
    experiments: || vec![side_by_side_all(), exits()],
};

const FAULTS: Question = Question {
    id: "Q-22b",
    asks: "How do the locks compare by what failures they survive?",
    answer: "As published, none survives a lost message, and none a crash at the wrong moment: \
             whoever waits for the message, or for the dead, waits for ever, though nobody is \
             ever let in wrongly. They differ in who is needed. A coordinator needs nobody who is \
             idle. The ring, Lamport, and Ricart and Agrawala need everybody, so one idle process \
             that is down stops them. Tokens in trees, and permissions that are kept, need only \
             those on the way. Losses are mended below the lock, by links that acknowledge. \
             Crashes are mended by a detector and a rule: skip the dead, replace the leader, make \
             the token anew, ask another quorum. Each of these is safe only as long as the \
             detector is right; majorities limit what an error can do, and fences make it \
             harmless.",
    beyond: None,
    experiments: || vec![losses(), idle(), crashes(), repaired()],
};

/// What is done to each lock among nine: the ninth asks alone, and all ask five times.
const ALONE: &str = "-n 9 --entries 0,0,0,0,0,0,0,0,1";
const LOADED: &str = "-n 9 --entries 5 --hold 5";

/// Of one lock: messages for one entry alone, how long it waits, messages per entry under load,
/// and the longest delay from an exit to the next entry; in message delays, to a tenth.
fn figures(lock: &str) -> Result<Value, Failure> {
    let alone = perform(&format!("simulate {lock} {ALONE}"))?;
    let loaded = perform(&format!("simulate {lock} {LOADED}"))?;
    let number = |data: &Value, at: &str| data.pointer(at).and_then(Value::as_f64).unwrap_or(-1.0);
    let per_entry = number(&loaded, "/messages/total") / number(&loaded, "/entries/total");
    let figures = [
        number(&alone, "/messages/total"),
        number(&alone, "/delays/entry/max"),
        per_entry,
        number(&loaded, "/delays/synchronisation/max"),
    ];
    Ok(json!(figures.map(|figure| (figure * 10.0).round() / 10.0)))
}

/// The locks that are compared, with their four figures.
const COMPARED: [(&str, [f64; 4]); 9] = [
    ("central", [3.0, 2.0, 2.7, 2.0]),
    ("token-ring", [9.0, 12.6, 1.0, 1.0]),
    ("lamport", [24.0, 2.0, 24.0, 1.0]),
    ("ricart-agrawala", [16.0, 2.0, 16.0, 1.0]),
    ("carvalho-roucairol", [16.0, 2.0, 14.4, 1.0]),
    ("maekawa", [12.0, 2.0, 15.8, 2.0]),
    ("suzuki-kasami", [9.0, 2.0, 8.8, 1.0]),
    ("raymond", [2.0, 2.0, 3.5, 2.0]),
    ("naimi-trehel", [2.0, 2.0, 3.3, 1.0]),
];

fn side_by_side_all() -> Experiment {
    let all = |instead: &'static [(&str, &str)]| -> Result<Value, Failure> {
        let of = |(name, _): (&str, _)| {
            let replaced = instead.iter().find(|(replaced, _)| *replaced == name);
            Ok((name.to_owned(), figures(replaced.map_or(name, |(_, by)| by))?))
        };
        COMPARED.into_iter().map(of).collect::<Result<Map<_, _>, _>>().map(Value::Object)
    };
    let experiment = Experiment::call(
        format!("of each: tenure simulate NAME {ALONE}, and {LOADED}"),
        move || all(&[]),
    )
    .says(
        "Four figures of each lock among nine, P1 being the coordinator or having the token. P9 \
         asks alone: messages, and how long it waits. All ask five times, one entry after the \
         other: messages per entry, and the longest delay from an exit to the next entry. Delays \
         are in message delays; an exit itself waits for nothing.",
    )
    .broken_call("what is called lamport is ricart-agrawala", move || {
        all(&[("lamport", "ricart-agrawala")])
    });
    COMPARED.into_iter().fold(experiment, |experiment, (name, figures)| {
        experiment.is(name, format!("/{name}"), figures.to_vec())
    })
}

fn exits() -> Experiment {
    let line = format!("simulate lamport {LOADED}");
    Experiment::line(&line)
        .says("Nobody waits at an exit; whoever leaves may go on before anybody has heard of it.")
        .is("delay at exit", "/delays/exit/max", 0)
        .is("delay from exit to entry", "/delays/synchronisation/max", 1)
        .broken(line.replace("lamport", "central"))
}

fn losses() -> Experiment {
    let row = |name: &'static str, line: &'static str| (name, line, "violated");
    verdicts(
        &[
            row("central", "central -n 2 --lose 1 --beyond-assumptions"),
            row("token-ring", "token-ring -n 2 --lose 1 --beyond-assumptions"),
            row("lamport", "lamport -n 2 --lose 1 --beyond-assumptions"),
            row("ricart-agrawala", "ricart-agrawala -n 2 --lose 1 --beyond-assumptions"),
            row("maekawa", "maekawa -n 3 --quorums pairs --lose 1 --beyond-assumptions"),
            row("suzuki-kasami", "suzuki-kasami -n 2 --lose 1 --beyond-assumptions"),
        ],
        "lamport",
        "lamport -n 2",
    )
    .says("One message is lost: all of them block.")
}

fn idle() -> Experiment {
    let check = |name: &str| {
        let quorums = if name == "maekawa" { " --quorums pairs" } else { "" };
        format!("check {name} -n 3 --down 3 --entries 1,1,0 --beyond-assumptions{quorums}")
    };
    let row = |name: &'static str, verdict: &str| {
        (name, check(name), "/properties/progress", Value::from(verdict))
    };
    side_by_side(
        [
            row("central", "holds"),
            row("token-ring", "violated"),
            row("lamport", "violated"),
            row("ricart-agrawala", "violated"),
            row("maekawa", "violated"),
            row("carvalho-roucairol", "holds"),
            row("suzuki-kasami", "holds"),
            row("raymond", "holds"),
            row("naimi-trehel", "holds"),
        ],
        "central",
        &check("central").replace("--down 3 --entries 1,1,0", "--down 1 --entries 0,1,1"),
    )
    .says("P3 is down, and wanted nothing. Is everybody else served?")
}

fn crashes() -> Experiment {
    let check = |name: &str| format!("check {name} -n 2 --crash 1 --beyond-assumptions");
    let row = |name: &'static str| (name, check(name), "/properties/progress", "violated".into());
    side_by_side(
        ["central", "token-ring", "lamport", "ricart-agrawala", "suzuki-kasami"].map(row),
        "lamport",
        "check lamport -n 2",
    )
    .says("A process crashes, at whatever moment is the worst: all block.")
}

fn repaired() -> Experiment {
    verdicts(
        &[
            ("coordinator elected", "coordinated:bully -n 2 --crash 1", "holds"),
            ("ring that skips", "repaired-ring -n 3 --crash 2", "holds"),
            ("all but the dead reply", "tolerant-ricart-agrawala -n 3 --crash 1", "holds"),
            ("another quorum", "majority -n 3 --crash 1", "holds"),
            ("token made anew", "nishio-li-manning -n 3 --crash 1", "holds"),
        ],
        "ring that skips",
        "token-ring -n 3 --crash 1 --beyond-assumptions",
    )
    .says("With a detector that is right, and a rule for the dead: all promises, every schedule.")
}
