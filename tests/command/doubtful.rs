//! What somebody types who does not know yet: a hundred and ten lines, each of which is answered.

use std::process::Output;

use crate::shell::tenure;

/// Refused with a line on standard error that has these words: the nearest name where there is one,
/// what would be right, or which option is meant.
const REFUSED: &[(&str, &str)] = &[
    // Commands and what stands behind them.
    ("", "`tenure run`"),
    ("rum", "run"),
    ("simulat central", "simulate"),
    ("chek central", "check"),
    ("questions", "question"),
    ("scenarios", "scenario"),
    ("traces", "trace"),
    ("trace", "verify"),
    ("trace sho x", "show"),
    ("trace verify", "<FILE>"),
    ("trace verify /nowhere.ndjson", "/nowhere.ndjson"),
    ("trace verify /dev/null", "/dev/null"),
    ("trace diagram /nowhere.ndjson", "/nowhere.ndjson"),
    ("trace diagram", "<FILE>"),
    ("trace diagram x --as pdf", "svg"),
    ("trace diagram x --as png", "text"),
    ("trace diagram x --scale log", "causal"),
    ("trace diagram x --clock lamprot", "lamport"),
    ("trace diagram x --events 5", "1..200"),
    ("trace diagram x --events 9..3", "1..200"),
    ("trace diagram x --from soon", "units"),
    ("trace show x --process 0", "a number from 1"),
    ("trace export x", "--as"),
    ("trace export x --as dot", "mermaid"),
    ("trace replay", "<FILE>"),
    ("trace replay x --over udp", "tcp"),
    ("help runn", "run"),
    ("man nothing", "simulate"),
    ("completions", "<SHELL>"),
    ("completions bsh", "bash"),
    ("keys", "new"),
    ("node", "--config"),
    ("node --config /nowhere.toml", "/nowhere.toml"),
    // Names of algorithms.
    ("simulate", "<ALGORITHM>"),
    ("simulate lamprot", "lamport"),
    ("simulate ra", "raft"),
    ("simulate ricart", "ricart-agrawala"),
    ("simulate bulli", "bully"),
    ("simulate fifo:lamprot", "fifo:lamport"),
    ("simulate coordinated:bulli", "coordinated:bully"),
    ("simulate coordinated:central", "coordinated:"),
    ("simulate election-from-mutex:bully", "election-from-mutex:"),
    ("check suzuki", "suzuki-kasami"),
    ("check naimi", "naimi-trehel"),
    ("check peterson", "nearest"),
    ("list zookeeper", "nearest"),
    ("lab raymnd", "raymond"),
    ("compare locks", "mutex"),
    ("compare mutex --only lamprot", "lamport"),
    ("run --mutex bully", "--mutex coordinated:bully"),
    ("run --election central", "--mutex central"),
    ("run --mutex lamprot", "lamport"),
    ("run --election buly", "bully"),
    // Names of everything else.
    ("scenario rase", "race"),
    ("scenario two-general", "two-generals"),
    ("question Q-99", "nearest"),
    ("question 199", "nearest"),
    ("question paxoss", "nearest"),
    ("simulate raymond --tree oak", "heap"),
    ("simulate raymond --tree stra", "star"),
    ("simulate maekawa --quorums grd", "grid"),
    ("simulate ricart-agrawala --variant clock", "clock-only-strict"),
    ("simulate lamport --variant nothing", "any-message"),
    ("check central --property mutual", "mutual-exclusion"),
    ("check central --property safety", "there is no property `safety`"),
    ("simulate central --property mutual", "mutual-exclusion"),
    ("check central --property order-of-requests", "order"),
    // Options.
    ("simulate central --node 3", "--nodes"),
    ("simulate central --entires 3", "--entries"),
    ("simulate central --crashes 3", "--crash"),
    ("run --nods 3", "--nodes"),
    ("run --mutx lamport", "--mutex"),
    ("check central --max-state 5", "--max-states"),
    ("lab central --prot 8080", "--prot"),
    ("compare mutex --fault", "--faults"),
    ("simulate central -n", "-n"),
    // Numbers, times and lists.
    ("simulate central -n 0", "1"),
    ("simulate central -n x", "a whole number is needed"),
    ("simulate central -n -3", "-n"),
    ("simulate central -n 99999999999", "too large"),
    ("simulate central --seed x", "a whole number is needed"),
    ("simulate central --entries many", "--entries"),
    ("simulate central --entries 1,2,3,4,5,6", "6"),
    ("simulate central --latency 5..1", "--latency"),
    ("simulate central --latency fast", "--latency"),
    ("simulate central --latency exp:0", "write a time above 0"),
    ("simulate central --hold lognormal:0,1", "write a time above 0"),
    ("check central --max-time soon", "10s"),
    ("simulate central --lose 2", "--lose"),
    ("simulate central --lose often", "--lose"),
    ("simulate central --crash 3", "--crash"),
    ("simulate central --crash 9@3", "P9"),
    ("simulate central --partition 1", "1,2@10..50"),
    ("simulate central --partition 1@5..1", "swap"),
    ("simulate chang-roberts --ids 1,2,2", "rank 2 is given twice"),
    ("simulate chang-roberts --ids 1,2 -n 3", "--ids"),
    ("simulate chang-roberts --initiators 9", "P9"),
    ("simulate central --hold -1", "-1"),
    ("check central --max-memory lots", "--max-memory"),
    ("check central --max-time soon", "--max-time"),
    ("check central --lose x", "a whole number is needed"),
    ("run --nodes 0", "1 to 64"),
    ("run --nodes 65", "1 to 64"),
    ("run --duration 10", "10s"),
    ("run --kill leader", "leader@2s"),
    ("run --restart leader@5s", "--kill leader"),
    ("run --pause 2@3s..1s", "ends before it begins"),
    ("run --partition 2@1s", "1,2@1s..3s"),
    ("run --lose 0.1", "--fifo"),
    ("run --crash leader", "leader@2s"),
    ("run --watch=here", "an address and a port"),
    // What an algorithm does not survive.
    ("simulate central --crash 1@3", "--beyond-assumptions"),
    ("check lamport --channel reordered", "--beyond-assumptions"),
    ("run --mutex ricart-agrawala --kill leader@2s", "--beyond-assumptions"),
];

/// Done, with a warning that the option makes no difference.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("simulate lamport -n 3 --tree star", "--tree"),
    ("simulate bully -n 3 --entries 2", "--entries"),
    ("check bully -n 2 --entries 2", "--entries"),
];

/// Done, for what is meant is plain.
const UNDERSTOOD: &[&str] = &[
    "simulate coordinated(bully) -n 3",
    "question q-01",
    "question 1",
    "question Q1",
    "question bully",
    "list LAMPORT",
];

/// What each of the lines says, two at a time.
fn said(lines: &[&'static str]) -> Vec<(&'static str, Output)> {
    let each =
        |lines: &[&'static str]| lines.iter().map(|line| (*line, tenure(line))).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let halves = lines.chunks(lines.len().div_ceil(2));
        let halves: Vec<_> = halves.map(|half| scope.spawn(move || each(half))).collect();
        halves.into_iter().flat_map(|half| half.join().expect("it ends")).collect()
    })
}

#[test]
fn what_is_doubtful_is_answered_in_a_line_with_what_would_be_right() {
    assert!(REFUSED.len() + WITHOUT_EFFECT.len() + UNDERSTOOD.len() >= 110);
    let mut wrong = Vec::new();
    let lines: Vec<&str> = REFUSED.iter().map(|(line, _)| *line).collect();
    for ((line, words), (_, output)) in REFUSED.iter().zip(said(&lines)) {
        let says = String::from_utf8_lossy(&output.stderr);
        let is_one = says.trim_end().lines().count() == 1 && output.stdout.is_empty();
        let is_short = says.trim_end().chars().count() <= 200;
        if output.status.code() != Some(2) || !is_one || !is_short || !says.contains(words) {
            let status = output.status.code();
            wrong.push(format!("{line}\n  {status:?}, wanted {words}: {}", says.trim_end()));
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_makes_no_difference_is_said_and_what_is_plainly_meant_is_done() {
    for (line, option) in WITHOUT_EFFECT {
        let output = tenure(line);
        let says = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {says}");
        assert!(says.contains(option) && says.contains("no effect"), "{line}: {says}");
    }
    for (line, output) in said(UNDERSTOOD) {
        let says = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*says), (Some(0), ""), "{line}");
    }
}
