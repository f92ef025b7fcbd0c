//! Tests of invalid input by new users: command lines, each with the expected error.

use std::process::Output;

use crate::shell::{is_concise, tenure};

/// Command lines that are rejected, each with words that the error contains: the nearest name, the
/// expected value, or the affected option.
const REFUSED: &[(&str, &str)] = &[
    // Commands and subcommands.
    ("rum", "run"),
    ("simulat central", "simulate"),
    ("chek central", "check"),
    ("questions", "question"),
    ("scenarios", "scenario"),
    ("traces", "trace"),
    ("trace sho x", "show"),
    ("trace verify", "<FILE>"),
    ("trace verify /nowhere.ndjson", "/nowhere.ndjson"),
    ("trace verify /dev/null", "/dev/null"),
    // A directory cannot be read as a trace.
    ("trace verify /", "cannot read /: "),
    ("trace show /", "cannot read /: "),
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
    ("node", "--config"),
    ("node --config /nowhere.toml", "/nowhere.toml"),
    // Names of algorithms.
    ("simulate", "<ALGORITHM>"),
    ("simulate lamprot", "nearest are lamport"),
    ("simulate ra", "raft"),
    ("simulate ricart", "ricart-agrawala"),
    ("simulate bulli", "bully"),
    ("simulate fifo:lamprot", "fifo:lamport"),
    ("simulate coordinated:bulli", "coordinated:bully"),
    ("simulate coordinated:central", "coordinated:"),
    ("simulate election-from-mutex:bully", "election-from-mutex:"),
    ("check suzuki", "suzuki-kasami"),
    ("check naimi", "naimi-trehel"),
    ("check petersen", "nearest"),
    ("check fifo:rayond", "nearest are fifo:raymond"),
    ("list buly", "bully"),
    ("list ricart", "ricart-agrawala"),
    ("list zookeeper", "nearest"),
    ("lab raymnd", "raymond"),
    ("lab lamprot", "nearest are lamport"),
    ("compare mutex --only lamprot", "lamport"),
    ("run --mutex bully", "--mutex coordinated:bully"),
    ("run --election central", "--mutex central"),
    ("run --mutex coordinated:bulli", "coordinated:bully"),
    ("run --mutex lamprot", "lamport"),
    ("run --mutex paxos", "do not match"),
    // For a lock, the error suggests only locks.
    ("run --mutex nosuch", "nearest are lease"),
    ("run --election nosuch", "nearest are raft"),
    ("run --mutex ricart", "ricart-agrawala"),
    ("run --election buly", "bully"),
    // Other names.
    ("scenario rase", "race"),
    ("scenario two-general", "two-generals"),
    ("question 199", "nearest"),
    ("question paxoss", "nearest"),
    ("simulate raymond --tree oak", "heap"),
    ("check central --tree oak", "heap"),
    ("simulate raymond --tree stra", "star"),
    ("simulate maekawa --quorums grd", "grid"),
    ("simulate ricart-agrawala --variant clock", "clock-only-strict"),
    ("simulate lamport --variant nothing", "any-message"),
    ("check central --property mutual", "mutual-exclusion"),
    ("check central --property safety", "'safety'"),
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
    ("simulate central -n x", "'x' for '--nodes"),
    ("simulate central -n -3", "-n"),
    ("simulate central -n 99999999999", "too large"),
    ("simulate central --seed x", "'x' for '--seed"),
    ("simulate central --entries many", "--entries"),
    ("simulate central --entries 1,2,3,4,5,6", "6"),
    ("simulate central --latency 5..1", "--latency"),
    ("simulate central --latency fast", "--latency"),
    ("simulate central --latency exp:0", "expected a time above 0"),
    ("simulate central --hold lognormal:0,1", "expected a time above 0"),
    ("check central --max-time soon", "10s"),
    ("simulate central --lose 2", "--lose"),
    ("simulate central --lose often", "--lose"),
    ("simulate central --crash 9@3", "P9"),
    ("simulate chang-roberts --ids 1,2,2", "rank 2 is given twice"),
    ("simulate chang-roberts --ids 1,2 -n 3", "--ids"),
    ("simulate chang-roberts --initiators 9", "P9"),
    ("simulate central --hold -1", "'-1' for '--hold <D>': expected units such as 1.5"),
    ("simulate central --latency -1", "'-1' for '--latency <D>': expected units such as 1.5"),
    ("simulate central --runs -1", "'-1' for '--runs <K>': expected at least 1"),
    ("simulate central --sweep latency=-1", "expected units such as 1.5"),
    ("compare mutex --gst -1", "'-1' for '--gst <T>': expected units such as 10"),
    ("run --duration -1", "'-1' for '--duration <TIME>': expected"),
    ("simulate central --latency 9999999999999", "expected at most 4611686018427.387903 units"),
    ("simulate central --until 99999999999999999999", "expected at most 4611686018427.387903"),
    ("check bully --timeout answer=9999999999999", "expected at most 4611686018427.387903"),
    (
        "simulate central --seed 18446744073709551615 --runs 3",
        "'18446744073709551615' for --seed with 3 runs: expected at most 18446744073709551613",
    ),
    ("compare mutex --seed 18446744073709551615", "expected at most 18446744073709551586"),
    (
        "simulate central --sweep n=2,3 --seed 18446744073709551615",
        "expected at most 18446744073709551586",
    ),
    ("check central --max-memory lots", "--max-memory"),
    ("check central --max-time soon", "--max-time"),
    ("check central --lose x", "'x' for '--lose"),
    ("run --nodes many", "--nodes"),
    ("run --nodes 0", "1 to 64"),
    ("run --nodes 65", "1 to 64"),
    ("run --duration 10", "10s"),
    ("run --kill leader", "leader@2s"),
    ("run --restart leader@5s", "--kill leader"),
    ("run --pause 2@3s..1s", "expected an end after the start"),
    ("run --partition 2@1s", "1,2@1s..3s"),
    ("run --lose 0.1", "--fifo"),
    ("run --crash leader", "leader@2s"),
    ("run --watch=here", "invalid socket address"),
    ("run --dir /dev/null", "directory"),
    // Locks in shared memory and generals.
    ("check bakry", "bakery"),
    ("simulate bakery", "check bakery"),
    ("check bakery --lose 1", "--lose does not apply to bakery"),
    ("check peterson-lock --ticket-max 3", "it has no tickets"),
    ("check peterson-lock --variant split", "split"),
    ("check test-and-set -n 1", "expected 2 to 8"),
    ("check bakery --property bounded-bypass=99", "expected at most 64"),
    ("check test-and-set --property agreement", "expected mutual-exclusion"),
    ("check byzantine-generals -n 3", "n > 3m"),
    ("check byzantine-generals -n 4 --crash 1", "--crash does not apply"),
    ("check byzantine-generals -n 6 --liars 2", "at least 7 generals"),
    ("check byzantine-generals -n 4 --property order", "expected agreement, validity"),
    // Numbers outside the permitted range.
    ("check lamport --threads 0", "expected 1 to 1024"),
    ("simulate lamport --threads 0", "expected 1 to 1024"),
    ("compare mutex --threads 0", "expected 1 to 1024"),
    ("check lamport --threads 1025", "expected 1 to 1024"),
    ("check lamport --threads -1", "'-1' for '--threads <T>': expected 1 to 1024"),
    ("check lamport --max-states 0", "'--max-states <S>': expected at least 1"),
    ("check lamport --max-memory 0", "'--max-memory <M>': expected at least 1 byte"),
    ("check lamport --max-time 0s", "'--max-time <D>': expected a positive duration"),
    ("check lamport --in-flight 0", "'--in-flight <K>': 0 is not in 1..="),
    ("check bully --term-max 0", "'--term-max <T>': expected at least 1"),
    ("check lamport -n 0", "expected 1 to 31"),
    ("check lamport -n 32", "expected 1 to 31"),
    ("check lamport -n 20000000", "expected 1 to 31"),
    ("check peterson-lock -n 20000000", "expected 2 to 8"),
    ("check byzantine-generals -n 20000000", "expected 2 to 8"),
    ("check lamport -n 2 --after foo:p1", "is not a command of this protocol"),
    ("check k-mutex --k 0", "'--k <K>': expected at least 1"),
    ("check k-mutex --k -1", "'-1' for '--k <K>': expected at least 1"),
    ("check lamport --lose -1", "'-1' for '--lose <K>': -1 is not in 0..="),
    ("check lease --timing synchronous --drift 1", "expected a drift from 0 to below 1"),
    ("check lease --timing synchronous --drift -0.1", "expected a drift from 0 to below 1"),
    ("check bully --timeout answer=0", "expected NAME=5"),
    ("simulate lamport --runs 0", "'--runs <K>': expected at least 1"),
    ("simulate lamport --sequential 0", "'--sequential <M>': expected at least 1"),
    ("simulate lamport --sequential -1", "'-1' for '--sequential <M>': expected at least 1"),
    ("simulate central --coordinator 0", "'--coordinator <P>': expected a process number"),
    ("simulate lamport --hot 0", "'--hot <P[:K]>': expected a process number"),
    ("simulate lamport --until -1", "'-1' for '--until <T>': expected units such as 10"),
    ("simulate lamport --steps -1", "'-1' for '--steps <N>'"),
    ("simulate lamport --lose -0.1", "expected a probability"),
    ("simulate lamport --drift 1", "expected a drift from 0 to below 1"),
    ("scenario race --start 9223372036854775807", "race; expected -1000000000 to 1000000000"),
    ("trace --longest-line 0 verify x", "'--longest-line <M>': expected at least 1 byte"),
    ("trace --most-processes 0 verify x", "'--most-processes <N>': 0 is not in 1..="),
    ("trace diagram x --width 0", "'--width <N>': 0 is not in 40..=1000"),
    ("trace diagram x --paginate 0", "'--paginate <ROWS>': 0 is not in 2..="),
    ("keys new -n 0 --to x", "'--nodes <N>': 0 is not in 1..=1024"),
    ("choose -n 81", "expected 1 to 80"),
    ("scenario two-generals --seeds 0", "--seeds is 1 to 100000"),
    ("run --entries 0", "expected at least 1"),
    ("run --duration 0s", "expected a positive duration"),
    ("run --service 0", "expected 1 to 9"),
    ("run --service 3 --values 0", "expected"),
    ("run --service 3 --snapshot-after 0", "'--snapshot-after <N>'"),
    ("run --trace-mib 0", "expected at least 1"),
    ("lock k --ttl 0s -- true", "expected at least 1s"),
    ("elect k --ttl 0s -- true", "expected at least 1s"),
    ("snapshot save x --max-size 0", "'--max-size <SIZE>': expected at least 1 byte"),
    ("serve --auth-token-ttl 0", "expected at least 1 second"),
    ("serve --heartbeat-interval 0", "must be at least 1"),
    ("serve --max-request-bytes 0", "expected 1 to"),
    ("serve --max-txn-ops 0", "expected 1 to"),
    ("serve --experimental-watch-progress-notify-interval 0s", "expected a duration"),
    // Input of client commands, which is rejected before they connect.
    ("member add nonsense", "'nonsense' for '<URL>': expected http://HOST:PORT"),
    ("member add 127.0.0.1:2380", "expected http://HOST:PORT"),
    ("member add ftp://a:2380", "expected http://HOST:PORT"),
    ("status http://nonsense", "invalid value 'http://nonsense'"),
    ("status http://127.0.0.1:port/", "expected http://HOST:PORT"),
    ("snapshot save /", "'/' for <FILE>: expected a file"),
    ("locks break k --fence 0", "'--fence <N>': 0 is not in 1.."),
    ("locks break k", "give --yes"),
    ("lock k --grace 6s -- true", "'6s' for --grace: expected at most 5s"),
    ("elect k --transfer-to=", "a value is required for '--transfer-to <IDENTITY>'"),
    // Faults that an algorithm does not tolerate.
    ("simulate raft -n 4 --partition 1,2@5..", "leave no majority of 4 processes"),
    ("simulate dijkstra-ring --partition 1@5..", "a partition that never ends cuts off a process"),
    ("simulate central --crash 1@3", "--beyond-assumptions"),
    ("check lamport --channel reordered", "--beyond-assumptions"),
    ("run --mutex ricart-agrawala --kill leader@2s", "--beyond-assumptions"),
    ("run --mutex ricart-agrawala --kill leader@2s", "tolerates no crash and no loss"),
];

/// Command lines that succeed with a warning, each with the option that has no effect.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("simulate lamport -n 3 --tree star", "--tree"),
    ("simulate bully -n 3 --entries 2", "--entries"),
    ("check bully -n 2 --entries 2", "--entries"),
    ("simulate bully -n 3 --crash 3@inside:1", "--crash with inside or waiting"),
    ("simulate paxos -n 3 --crash 3@waiting:1", "--crash with inside or waiting"),
    ("simulate paxos -n 3 --hold 0", "--hold has no effect on paxos"),
    ("simulate bully -n 3 --hold 2 --think 3", "--think"),
    ("simulate bully -n 3 --hold 2 --think 3", "--hold"),
    ("simulate lamport --loads 5,2", "--loads (apart from the group size)"),
    ("check lamport --ids 5,2", "--ids (apart from the group size)"),
    ("simulate lamport -n 3 --sweep k=1,2 --runs 1", "--sweep k has no effect on lamport"),
    ("simulate lamport -n 3 --sweep tree=star,path --runs 1", "--sweep tree has"),
    ("simulate bully -n 3 --sweep hold=1,2 --runs 1", "--sweep hold has"),
    ("simulate lamport --k 2 --sweep n=2,3 --runs 1", "--k has no effect on lamport"),
    (
        "compare mutex --only lamport,central --sweep k=1,2 --runs 1",
        "--sweep k has no effect on these algorithms",
    ),
    (
        "compare election --only bully,lelann -n 3 --think 5 --runs 1",
        "--think has no effect on these algorithms",
    ),
    (
        "compare election --only bully --sweep n=3,4 --app-messages 0.5 --runs 1",
        "--app-messages has no effect on these algorithms",
    ),
    ("check raft -n 2 --drift 0.1 --max-states 100000 --initiators 1 --term-max 1", "--drift"),
];

/// Command lines that spell the name of an algorithm or a question differently, for instance
/// `LAMPORT` instead of `lamport`. `tenure` accepts these command lines.
const UNDERSTOOD: &[&str] = &[
    "simulate coordinated(bully) -n 3",
    "question q-01",
    "question 1",
    "question Q1",
    "question bully",
    "list LAMPORT",
];

/// Runs the command lines, two at a time. Returns each command line with its output.
fn outputs_of(lines: &[&'static str]) -> Vec<(&'static str, Output)> {
    let each =
        |lines: &[&'static str]| lines.iter().map(|line| (*line, tenure(line))).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let halves = lines.chunks(lines.len().div_ceil(2));
        let halves: Vec<_> = halves.map(|half| scope.spawn(move || each(half))).collect();
        halves.into_iter().flat_map(|half| half.join().expect("it ends")).collect()
    })
}

#[test]
fn invalid_arguments_are_rejected_with_the_remedy() {
    let mut failures = Vec::new();
    let lines: Vec<&str> = REFUSED.iter().map(|(line, _)| *line).collect();
    for ((line, words), (_, output)) in REFUSED.iter().zip(outputs_of(&lines)) {
        let message = String::from_utf8_lossy(&output.stderr);
        let is_alone = is_concise(&message) && output.stdout.is_empty();
        let is_short = message.trim_end().chars().count() <= 400;
        if output.status.code() != Some(2) || !is_alone || !is_short || !message.contains(words) {
            let status = output.status.code();
            failures.push(format!("{line}\n  {status:?}, wanted {words}: {}", message.trim_end()));
        }
    }
    assert!(failures.is_empty(), "{} of them:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn help_of_help_is_printed() {
    let plain = tenure("help help");
    for line in ["help --help", "help -h"] {
        let output = tenure(line);
        assert_eq!((output.status.code(), &output.stdout), (Some(0), &plain.stdout), "{line}");
    }
    assert_eq!(tenure("help trace --help").stdout, tenure("help trace").stdout);
}

#[test]
fn ineffective_options_are_warnings_and_spellings_are_lenient() {
    for (line, option) in WITHOUT_EFFECT {
        let output = tenure(line);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {message}");
        assert!(message.contains(option) && message.contains("no effect"), "{line}: {message}");
    }
    for (line, output) in outputs_of(UNDERSTOOD) {
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*message), (Some(0), ""), "{line}");
    }
}
