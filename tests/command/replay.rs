//! Tests that every engine reproduces the violations in counterexamples. There is a counterexample
//! for each faulty variant on a card, and for each property that a check can verify.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::shell::{assert_fails_with, assert_refused, data, tenure};

/// An ordinary run of the tests replays only one of `SHARE` counterexamples, to save time. The long
/// tests replay all of them.
const SHARE: usize = 4;

/// Option that limits the size of searches. An ordinary run of the tests skips counterexamples that
/// only a larger search finds.
const SMALL_SEARCHES: &str = "--max-states 500000";

const EVERYWHERE: [&str; 3] = ["simulator", "checker", "tcp"];

/// Properties that are decided only at the end of a run.
const ENDS: [&str; 6] = [
    "deadlock-freedom",
    "starvation-freedom",
    "progress",
    "agreement",
    "validity",
    "uniform-agreement",
];

/// Replays a trace in the engine `over`, and returns the report. Asserts that the property is
/// violated again.
fn replay_report(file: &Path, over: &str, more: &str) -> Value {
    let line = format!("trace replay {} --over {over}{more}", file.display());
    let report = data(&line, 1);
    assert_eq!(report["violated_again"], true, "{line}");
    report
}

/// Runs a check, saves the counterexample to `file`, and replays the counterexample in the engines
/// `over`. Returns the violated property and a flag. The flag is true if real nodes were forced to
/// handle a message that TCP would not have delivered.
fn check_and_replay(check: &str, file: &Path, over: &[&str]) -> (String, bool) {
    let checked = data(&format!("check {check} --trace {}", file.display()), 1);
    assert_replayed(check, &checked, file, over)
}

/// Replays the counterexample in `file` in the engines `over`. `check` is the command that found
/// the counterexample, and `checked` is its report. Returns the same as [`check_and_replay`].
fn assert_replayed(check: &str, checked: &Value, file: &Path, over: &[&str]) -> (String, bool) {
    let shortest = &checked["counterexample"];
    let steps = shortest["length"].as_u64().expect("it has a length");
    let property = shortest["property"].as_str().expect("it has a name");
    let mut is_forced = false;
    for over in over {
        let report = replay_report(file, over, "");
        assert_eq!(report["property"], property, "{check} over {over}");
        // If a step of the recorded run violates the property, the replay violates it at the same
        // step. If only the end of the run shows the violation, the replay may need further steps.
        let all = report["steps"].as_u64().expect("a number");
        match report["step"].as_u64() {
            Some(step) => assert_eq!((step, all), (steps, steps), "{check} over {over}: {report}"),
            None => {
                assert!(ENDS.contains(&property) && all >= steps, "{check} over {over}: {report}")
            }
        }
        is_forced |= report["notes"].is_array();
    }
    (property.to_owned(), is_forced)
}

/// Returns the commands by which cards demonstrate faulty variants. Each command comes with the
/// service of its algorithm. `verb` selects the commands of `tenure check` or of `tenure simulate`.
/// A composed algorithm contributes only variants that are not on the card of a simple algorithm.
fn commands_of_mistakes(verb: &str) -> Vec<(Value, String)> {
    let cards = data("list", 0);
    let cards = cards.as_array().expect("a list of cards").clone();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_composed = |card: &Value| word(&card["name"]).contains(':');
    let of_parts = cards.iter().filter(|card| !is_composed(card));
    let of_parts = of_parts.flat_map(|card| card["variants"].as_array().into_iter().flatten());
    let of_parts: BTreeSet<String> = of_parts.map(|variant| word(&variant["name"])).collect();
    let of_card = |card: &Value| {
        let name = word(&card["name"]);
        let variants = card["variants"].as_array().cloned().unwrap_or_default();
        let own = |it: &Value| !is_composed(card) || !of_parts.contains(&word(&it["name"]));
        let is_wrong = |it: &Value| it["sound"] == false && it["shown_by"] != "" && own(it);
        let wrong = variants.into_iter().filter(is_wrong);
        let check = |it: Value| {
            let (variant, by) = (word(&it["name"]), word(&it["shown_by"]));
            let (its_verb, by) = match by.strip_prefix("simulate ") {
                Some(by) => ("simulate", by),
                None => ("check", by.as_str()),
            };
            let own = if by.contains("--variant") { "" } else { &format!("--variant {variant} ") };
            (its_verb == verb).then(|| (card["service"].clone(), format!("{name} {own}{by}")))
        };
        wrong.filter_map(check).collect::<Vec<_>>()
    };
    cards.iter().flat_map(of_card).collect()
}

fn kind(service: &Value, check: &str) -> &'static str {
    match service.as_str().expect("a card names its service") {
        "mutex" if check.starts_with("lease") => "lease",
        "mutex" => "lock",
        "election" => "election",
        _ => "agreement",
    }
}

/// Kinds of algorithms, each with some of its checks. In the counterexamples of these checks, a
/// process receives a message although it has crashed since the message was sent. TCP does not
/// deliver such a message, so the test forces real nodes to handle the message.
const KINDS: [(&str, &[&str]); 4] = [
    ("lock", &[]),
    ("lease", &["lease --variant forgotten-grants"]),
    ("election", &["bully -n 2 --variant accept-lower,no-terms", "raft --variant forgotten-vote"]),
    (
        "agreement",
        &[
            "raft-log -n 3 --crash 1 --recover 1 --entries 0",
            "raft-log -n 3 --crash 1 --recover 1 --entries 0",
            "raft-log -n 3 --crash 1 --recover 1 --initiators 1 --property leader-completeness",
        ],
    ),
];

/// Replays counterexamples of faulty variants in every engine. The faulty algorithms are of the
/// kind `of`. Only one in `share` of their counterexamples is replayed. Asserts that every engine
/// reproduces the violation. Returns the checks for which real nodes had to be forced to handle a
/// message, as described at [`KINDS`].
///
/// `limit` is an option of the checks. Checks that stop at this limit are skipped.
fn counterexamples_are_reproduced(of: &str, share: usize, limit: &str) -> Vec<String> {
    let mut shown = commands_of_mistakes("check");
    shown.retain(|(service, check)| kind(service, check) == of);
    assert!(shown.len() > 5, "the cards show their mistakes: {shown:?}");
    let checks = shown.into_iter().map(|(_, check)| check).step_by(share);
    let checks: Vec<String> = checks.collect();
    let count = checks.len();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.ndjson");
    let (mut replayed, mut forced) = (0, Vec::new());
    for check in checks {
        let line = format!("check {check} {limit} --trace {} --format json", file.display());
        let output = tenure(&line);
        if !limit.is_empty() && output.status.code() == Some(3) {
            eprintln!("skipped: stopped at the limit: {line}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{line}: {output:?}");
        let report = serde_json::from_slice(&output.stdout).expect("the report is JSON");
        replayed += 1;
        if assert_replayed(&check, &report, &file, &EVERYWHERE).1 {
            forced.push(check);
        }
    }
    assert!(replayed + 1 >= count, "few searches are large: {replayed} of {count}");
    forced
}

#[test]
#[ignore = "long: 17 s"]
fn sampled_counterexamples_are_reproduced_in_every_engine() {
    for (kind, outlive) in KINDS {
        for check in counterexamples_are_reproduced(kind, SHARE, SMALL_SEARCHES) {
            assert!(outlive.iter().any(|begins| check.starts_with(begins)), "{check}");
        }
    }
}

#[test]
#[ignore = "minutes; `just long` runs it"]
fn all_counterexamples_are_reproduced_in_every_engine() {
    for (kind, outlive) in KINDS {
        let forced = counterexamples_are_reproduced(kind, 1, "");
        assert_eq!(forced.len(), outlive.len(), "{forced:?}");
        for (check, begins) in forced.iter().zip(outlive) {
            assert!(check.starts_with(begins), "{check}");
        }
    }
}

/// Some faulty variants violate a property only after a recovery. Their cards name a simulation.
/// The simulation finds a violation with the faulty variant, and no violation without the variant.
#[test]
fn simulator_shows_the_faults_that_no_check_shows() {
    let shown = commands_of_mistakes("simulate");
    assert!(!shown.is_empty(), "pre-votes protect against rejoining processes");
    for (_, line) in shown {
        let wrong = tenure(&format!("simulate {line}"));
        assert_eq!(wrong.status.code(), Some(1), "{line}: {wrong:?}");
        // The last variant of the command is the faulty one. The second run omits it.
        let (before, after) = line.split_once("--variant ").expect("a variant is named");
        let (variants, after) = after.split_once(' ').expect("options follow");
        let right = match variants.rsplit_once(',') {
            Some((others, _)) => format!("simulate {before}--variant {others} {after}"),
            None => format!("simulate {before}{after}"),
        };
        let right_one = tenure(&right);
        assert_eq!(right_one.status.code(), Some(0), "{right}: {right_one:?}");
    }
}

/// Properties of `check --property`, each with the options of a check that violates it.
const VIOLATED: [(&str, &str); 45] = [
    ("mutual-exclusion", "k-mutex -n 3 --k 2"),
    ("mutual-exclusion", "lamport -n 2 --channel reordered --beyond-assumptions"),
    ("mutual-exclusion", "token-ring -n 2 --duplicate 1 --beyond-assumptions"),
    ("at-most-k", "k-mutex --variant untagged-reply -n 3 --entries 2,1,1"),
    ("local-mutual-exclusion", "dining-philosophers --variant yields-inside -n 2"),
    ("deadlock-freedom", "maekawa -n 3 --quorums pairs --variant basic"),
    ("deadlock-freedom", "dijkstra-ring -n 2 --crash 1 --recover 1 --beyond-assumptions"),
    ("starvation-freedom", "ricart-agrawala -n 2 --lose 1 --beyond-assumptions"),
    ("progress", "bully -n 2 --lose 1 --beyond-assumptions"),
    ("fencing", "token-ring -n 2 --duplicate 1 --beyond-assumptions"),
    ("order", "carvalho-roucairol -n 3 --entries 2,1,1"),
    ("order-with-messages", "central -n 3 --entries 0,1,1 --app-messages 1"),
    ("agreement", "bully -n 2 --variant accept-lower,no-terms --crash 1 --recover 1"),
    ("validity", "lelann --variant forward-first -n 3 --initiators 1"),
    ("one-leader-at-a-time", "bully -n 3 --crash 1 --recover 1"),
    ("one-leader-at-a-time", "bully -n 3 --partition 1 --beyond-assumptions"),
    ("one-leader-per-term", "raft --variant forgotten-vote -n 3 --crash 1 --recover 1"),
    ("fresh-terms", "bully --variant forgotten-number -n 2 --crash 1 --recover 1"),
    ("steady-leader", "raft -n 3"),
    ("cost", "ricart-agrawala --variant replies-again -n 2 --entries 2"),
    ("topology", "token-ring --variant backwards -n 3"),
    ("integrity", "reliable-broadcast --variant forgetful -n 3"),
    ("total-order", "atomic-broadcast --variant no-order -n 2"),
    ("consistent-cut", "chandy-lamport --variant late-markers -n 2"),
    ("all-arrive", "dissemination-barrier --variant leaves-early -n 2"),
    ("quiescence", "dijkstra-scholten --variant early-signal -n 2"),
    ("all-reached", "echo --variant early-echo -n 4 --initiators 1"),
    ("one-tree", "echo -n 2 --initiators 1 --duplicate 1 --beyond-assumptions"),
    ("one-holder", "central-detection --variant unnumbered-release -n 2 --entries 2,1"),
    ("no-phantom", "central-detection --variant two-phase -n 2 --in-flight 2"),
    ("causal-order", "causal-broadcast --variant fifo-only -n 3"),
    ("session-exclusion", "congenial-philosophers --variant no-priority -n 2"),
    ("one-view", "ricciardi-birman --variant minority -n 2 --false-suspicion 2"),
    ("unique-names", "stable-vectors --variant impatient -n 2"),
    ("small-names", "stable-vectors --variant all-suggest -n 2"),
    ("uniform-agreement", "reliable-broadcast --variant deliver-first -n 2 --crash 1"),
    ("no-creation", "reliable-broadcast --variant names-sender -n 3"),
    (
        "durability",
        "raft-log -n 3 --crash 1 --recover 1 --initiators 1 \
         --variant unsaved-entry,no-pre-vote --in-flight 1",
    ),
    (
        "log-matching",
        "raft-log -n 3 --crash 1 --recover 1 --entries 1,0,1 \
         --variant forgotten-vote,no-pre-vote --term-max 1 --in-flight 2",
    ),
    (
        "leader-completeness",
        "raft-log -n 3 --initiators 1 \
         --variant shorter-log,no-pre-vote --in-flight 1",
    ),
    (
        "state-machine-safety",
        "raft-log -n 3 --initiators 1 \
         --variant shorter-log,no-pre-vote --in-flight 1",
    ),
    (
        "linearizable-reads",
        "raft-log -n 3 --partition 2 \
         --variant lonely-read,no-pre-vote --in-flight 1",
    ),
    ("at-most-once", "relayed-log -n 3 --variant declined-in-doubt,no-pre-vote --in-flight 1"),
    ("bounded-bypass=1", "token-ring --variant keeps-token -n 2 --entries 2,1"),
    ("bounded-bypass=2", "central -n 3 --entries 3,1,0"),
];

/// Returns the name of a property without its bound, such as `bounded-bypass` for
/// `bounded-bypass=2`.
fn name(property: &'static str) -> &'static str {
    property.split('=').next().expect("a name")
}

/// Replays one of every `share` violations in [`VIOLATED`]. Asserts that every engine reproduces
/// them.
fn assert_violations_are_reproduced(share: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.ndjson");
    for (property, check) in VIOLATED.iter().step_by(share) {
        let check = format!("{check} --property {property}");
        assert_eq!(check_and_replay(&check, &file, &EVERYWHERE).0, name(property));
    }
}

#[test]
fn sampled_violations_of_properties_are_reproduced() {
    assert_violations_are_reproduced(SHARE);
}

#[test]
#[ignore = "a minute; `just long` runs it"]
fn violations_of_every_checked_property_are_reproduced() {
    assert_violations_are_reproduced(1);
}

#[test]
fn every_checked_property_has_a_violation_to_reproduce() {
    let help = String::from_utf8(tenure("check --help").stdout).expect("it is text");
    let properties = help.split("--property").nth(1).expect("the properties");
    let lines = properties.lines().skip(1).take_while(|line| !line.trim().starts_with("--"));
    let names = lines.filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next());
    let missing = names.filter(|it| !VIOLATED.iter().any(|(property, _)| name(property) == *it));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "{help}");
}

/// Some violations occur only if a process sends messages before it saves its state. The simulator
/// and the checker reproduce such violations. Real nodes reject the run, because they always save
/// the state before they send.
#[test]
fn unsaved_state_is_lost_in_the_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.ndjson");
    let first = "one-leader-per-term";
    for (check, property) in [
        ("raft -n 3 --initiators 1 --term-max 1", first),
        ("raft-log -n 3 --entries 0 --term-max 1 --variant no-pre-vote", first),
        ("leased -n 2", "mutual-exclusion"),
    ] {
        let check = format!("{check} --crash 1 --recover 1 --in-flight 2 --property {property}");
        let check = format!("{check} --saving late");
        let (found, _) = check_and_replay(&check, &file, &["simulator", "checker"]);
        assert_eq!(found, property);
        let over_tcp = format!("trace replay {} --over tcp", file.display());
        assert_refused(&over_tcp, &["unsaved p"]);
    }
}

/// Finds two runs in which a process starves, and replays them in every engine. In the first run, a
/// cycle of steps repeats for ever. In the second run, no further step is possible.
#[test]
fn starvation_is_reproduced() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.ndjson");
    for (check, property, goes_round) in [
        (
            "dijkstra-ring -n 2 --crash 1 --recover 1 --beyond-assumptions",
            "starvation-freedom",
            true,
        ),
        ("bully -n 2 --lose 1 --beyond-assumptions", "progress", false),
    ] {
        let line = format!("{check} --property {property}");
        assert_eq!(check_and_replay(&line, &file, &EVERYWHERE).0, property);
        let head = fs::read_to_string(&file).expect("a trace");
        let head = head.lines().next().expect("a head");
        let head: Value = serde_json::from_str(head).expect("JSON");
        assert_eq!(head["repeats"].is_u64(), goes_round, "{check}: {head}");
    }
}

#[test]
fn violations_of_simulated_runs_are_reproduced() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.ndjson");
    let crowd = "k-mutex -n 4 --k 2 --variant untagged-reply --latency 1..20 --entries 9 --seed 2 \
                 --property bounded-bypass=1";
    let twice = "raymond -n 3 --duplicate 0.4 --entries 9 --beyond-assumptions --seed 4 --until 12";
    let split = "coordinated:bully -n 3 --partition 1@1..100 --entries 3 --beyond-assumptions";
    let two = "lelann -n 3 --variant forward-first --initiators 1";
    for (simulate, violates) in [
        (crowd, &["mutual-exclusion", "at-most-k", "order", "bounded-bypass"][..]),
        (twice, &["fencing", "order-with-messages"]),
        (split, &["mutual-exclusion", "fencing"]),
        (two, &["agreement", "validity", "uniqueness", "one-leader-at-a-time"]),
        ("bully -n 3 --variant no-terms --crash 3@2 --recover 3@9", &["one-leader-per-term"]),
    ] {
        let run = tenure(&format!("simulate {simulate} --trace {}", file.display()));
        assert!(file.exists(), "{simulate}: {run:?}");
        for property in violates {
            let report = EVERYWHERE
                .map(|over| replay_report(&file, over, &format!(" --property {property}")));
            let step = |report: &Value| (report["property"].clone(), report["step"].clone());
            assert_eq!(step(&report[0]), step(&report[1]), "{simulate}: {property}");
            assert_eq!(step(&report[0]), step(&report[2]), "{simulate}: {property}");
            let is_decided_at_end =
                ["progress", "agreement", "validity", "uniqueness"].contains(property);
            assert!(is_decided_at_end || report[0]["step"].is_u64(), "{simulate}: {property}");
        }
    }
}

/// Returns the text of a trace with these lines. The records are numbered from 1.
fn numbered(lines: &[&str]) -> String {
    let number = |(place, line): (usize, &&str)| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if place > 0 {
            line["sequence"] = place.into();
        }
        format!("{line}\n")
    };
    lines.iter().enumerate().map(number).collect()
}

/// Removes a command of a user from a trace, or repeats it, and replays the changed trace. No
/// engine panics. If the user must not issue a command at that time, the engine rejects the trace.
#[test]
fn invalid_commands_are_rejected_without_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, changed) =
        (folder.path().join("whole.ndjson"), folder.path().join("changed.ndjson"));
    let (mut said, mut ended) = (0, 0);
    for made in [
        "check token-ring -n 2 --entries 2,1 --property bounded-bypass=1 --variant keeps-token",
        "simulate dissemination-barrier -n 3 --entries 2",
    ] {
        let made = tenure(&format!("{made} --trace {}", whole.display()));
        assert!(matches!(made.status.code(), Some(0 | 1)), "{made:?}");
        let text = fs::read_to_string(&whole).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let is_command = |place: &usize| lines[*place].contains("\"command\"");
        for place in (0..lines.len()).filter(is_command) {
            let twice = [&lines[..=place], &lines[place..]].concat();
            let never = [&lines[..place], &lines[place + 1..]].concat();
            for (lines, over) in [(twice, "simulator"), (never, "checker")] {
                fs::write(&changed, numbered(&lines)).unwrap();
                let property = "--property mutual-exclusion";
                let line = format!("trace replay {} --over {over} {property}", changed.display());
                let again = tenure(&line);
                let report = String::from_utf8_lossy(&again.stderr).into_owned();
                let is_documented = matches!(again.status.code(), Some(0..=2));
                assert!(is_documented && !report.contains("panicked"), "{report}");
                said += usize::from(report.contains("is not possible now"));
                ended += 1;
            }
        }
    }
    assert!(said > 0 && said < ended, "{said} of {ended}");
}

#[test]
fn waiting_process_cannot_arrive_at_a_barrier_again() {
    let line = ["simulate", "dissemination-barrier", "-n", "3", "--steer", "2 arrive p1"];
    let steered = Command::new(env!("CARGO_BIN_EXE_tenure")).args(line).output().unwrap();
    assert_fails_with(&steered, 2, "'2 arrive p1' is not possible");
}

#[test]
fn correct_algorithm_does_not_reproduce_the_violation() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.ndjson");
    for (check, variant) in [
        ("ricart-agrawala -n 2 --property starvation-freedom", "clock-only-defer"),
        ("k-mutex -n 3 --entries 2,1,1 --property at-most-k", "untagged-reply"),
    ] {
        check_and_replay(&format!("{check} --variant {variant}"), &file, &[]);
        let text = fs::read_to_string(&file).expect("a trace");
        let mended = text.replacen(&format!(r#","--variant","{variant}""#), "", 1);
        assert_ne!(text, mended, "the head of the trace names the variant");
        fs::write(&file, mended).expect("it is written");
        for over in EVERYWHERE {
            let again = tenure(&format!("trace replay {} --over {over}", file.display()));
            assert_ne!(again.status.code(), Some(1), "over {over}: {again:?}");
        }
    }
}

/// The options in a header configure the group, so they must agree with the number of processes.
#[test]
fn header_with_options_for_another_group_size_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson");
    let file = path.display();
    let line = "simulate gallager-humblet-spira -n 5 --topology ring";
    assert_eq!(tenure(&format!("{line} --trace {file}")).status.code(), Some(0));
    let trace = fs::read_to_string(&path).expect("a trace");
    let (header, records) = trace.split_once('\n').expect("a header");
    let mut header: Value = serde_json::from_str(header).expect("JSON");
    header["options"] = serde_json::json!(["-n", "4"]);
    header["violates"] = "one-leader-at-a-time".into();
    fs::write(&path, format!("{header}\n{records}")).expect("it is written");
    let message = "the header of the trace is for 5 processes, but its options are for 4";
    assert_fails_with(&tenure(&format!("trace replay {file}")), 2, message);
}
