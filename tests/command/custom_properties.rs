//! Tests of properties that the user writes as expressions, in `check`, `simulate`, `trace verify`,
//! `trace replay` and the lab.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::lab::Lab;

fn tenure(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure")).args(arguments).output().expect("the command starts")
}

/// Runs `tenure` with these arguments and returns its output. Asserts the exit status.
#[track_caller]
fn run(arguments: &[&str], status: i32) -> String {
    let output = tenure(arguments);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8 output");
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
    text
}

#[track_caller]
fn assert_prints(text: &str, expected: &[&str]) {
    for expected in expected {
        assert!(text.contains(expected), "no `{expected}` in {text}");
    }
}

const EXCLUSION: &str = "inside(p) & inside(q) & p != q";

#[test]
fn check_draws_shortest_counterexample() {
    let safe = run(&["check", "central", "-n", "2", "--never", EXCLUSION], 0);
    assert_prints(&safe, &[&format!("never {EXCLUSION} holds")]);
    let k = ["check", "k-mutex", "-n", "2", "--k", "2", "--never", EXCLUSION];
    let violated = run(&k, 1);
    let explanation = "is true here for p = P1, q = P2";
    assert_prints(
        &violated,
        &[&format!("never {EXCLUSION} violated after"), explanation, "█ inside"],
    );
    // Control experiment: the built-in monitor finds a counterexample of the same length.
    let length = |text: &str| {
        let (_, after) = text.split_once(" violated after ").expect("a violation");
        after.split(' ').next().expect("a number").to_owned()
    };
    let built_in = ["check", "k-mutex", "-n", "2", "--k", "2", "--property", "mutual-exclusion"];
    assert_eq!(length(&violated), length(&run(&built_in, 1)));
}

/// Properties of the literature, each with an equivalent expression. The first text is a command
/// line with the algorithm, the group and the faults. The second is the name of the built-in
/// property. The third is an option, and the fourth is the expression, as the value of the option.
const LITERATURE: [(&str, &str, &str, &str); 14] = [
    ("lamport -n 2", "mutual-exclusion", "--never", EXCLUSION),
    (
        "lamport -n 2 --channel reordered --beyond-assumptions",
        "mutual-exclusion",
        "--never",
        EXCLUSION,
    ),
    ("k-mutex -n 3 --k 2", "mutual-exclusion", "--always", "count(p: inside(p)) <= 1"),
    ("k-mutex -n 3 --k 2", "at-most-k", "--always", "count(p: inside(p)) <= 2"),
    ("central -n 3 --entries 1", "bounded-bypass=0", "--never", "enters(q) & waiting(p) & p != q"),
    (
        "token-ring -n 2 --duplicate 1 --beyond-assumptions",
        "fencing",
        "--never",
        "enters(p) & p != q & fence(p) <= fence(q)",
    ),
    (
        "maekawa -n 3 --quorums pairs --variant basic",
        "deadlock-freedom",
        "--leads-to",
        "waiting(p) ~> exists q: enters(q)",
    ),
    (
        "maekawa -n 3 --quorums pairs --variant basic",
        "starvation-freedom",
        "--leads-to",
        "waiting(p) ~> inside(p)",
    ),
    ("ricart-agrawala -n 2", "starvation-freedom", "--leads-to", "waiting(p) ~> inside(p)"),
    (
        "bully -n 2 --partition 1 --beyond-assumptions",
        "one-leader-at-a-time",
        "--never",
        "leads(p) & leads(q) & p != q",
    ),
    (
        "raft --variant forgotten-vote -n 3 --crash 1 --recover 1 --term-max 1 --in-flight 2",
        "one-leader-per-term",
        "--never",
        "leads(p) & leads(q) & p != q & term(p) = term(q)",
    ),
    ("chang-roberts -n 3", "one-leader-at-a-time", "--never", "leads(p) & leads(q) & p != q"),
    ("chang-roberts -n 3", "progress", "--leads-to", "asks(p) ~> elected(p)"),
    (
        "chang-roberts -n 3 --lose 1 --beyond-assumptions",
        "progress",
        "--leads-to",
        "asks(p) ~> elected(p)",
    ),
];

/// For each property of the literature, the built-in monitor and the expression have the same
/// verdict. One search checks the monitor and the expression, so that both judge the same states.
#[test]
#[ignore = "long: 9 s"]
fn properties_of_the_literature_agree_with_built_in_monitors() {
    let mut violated = 0;
    for (group, property, form, expression) in LITERATURE {
        let mut line = vec!["check"];
        line.extend(group.split(' '));
        line.extend(["--property", property, form, expression, "--format", "json"]);
        let output = tenure(&line);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let name = format!("{} {expression}", form.trim_start_matches("--"));
        let verdict = |name: &str| report["properties"][name].as_str().map(str::to_owned);
        let length = |name: &str| {
            let mut found = report["counterexamples"].as_array().into_iter().flatten();
            found.find(|it| it["property"] == name).map(|it| it["length"].as_u64())
        };
        let built_in = property.split('=').next().expect("a name");
        assert!(verdict(built_in).is_some(), "{line:?}: {report}");
        assert_eq!(verdict(built_in), verdict(&name), "{line:?}: {report}");
        assert_eq!(length(built_in), length(&name), "{line:?}: {report}");
        violated += usize::from(length(&name).is_some());
    }
    assert_eq!(violated, 9, "the table has correct algorithms and mistakes");
}

#[test]
fn fairness_is_named_and_chosen() {
    let leads_to = "waiting(p) ~> inside(p)";
    let check = |fairness: &str, status| {
        run(
            &["check", "central", "-n", "2", "--leads-to", leads_to, "--fairness", fairness],
            status,
        )
    };
    assert_prints(&check("none", 1), &["no fairness: a run may stop anywhere", "(end)"]);
    assert_prints(&check("weak", 0), &["weak fairness", "holds"]);
    assert_prints(&check("strong", 0), &["strong fairness", "holds"]);
}

#[test]
fn error_has_a_caret_under_the_wrong_place() {
    let error = run(&["check", "central", "-n", "2", "--never", "inside(P1) & insde(P2)"], 2);
    let expected = "\
tenure: --never: unknown predicate `insde`
  inside(P1) & insde(P2)
               ^^^^^
  nearest: inside; predicates: asks, requested, enters, exits, inside, waiting, crashed, fence, \
                    suspects, sent, in_flight, state, count
";
    assert_eq!(error, expected);
}

#[test]
fn sample_runs_name_messages_and_fields() {
    let wrong = |text: &str| run(&["check", "ricart-agrawala", "-n", "2", "--never", text], 2);
    assert_prints(&wrong("sent(replay)"), &["nearest: reply; messages: reply, request"]);
    assert_prints(&wrong("state(p).phse = Idle"), &["state(p) has no field `phse`", "phase"]);
}

#[test]
fn simulation_prints_command_that_repeats_violation() {
    let line = ["simulate", "central", "-n", "3", "--entries", "2"];
    let never = ["--never", "waiting(P1) & enters(P2)"];
    let text = run(&[&line[..], &never].concat(), 1);
    assert_prints(&text, &["VIOLATED", "--never 'waiting(P1) & enters(P2)'"]);
    let holds = ["--never", "inside(P1) & inside(P2)", "--leads-to", "waiting(p) ~> inside(p)"];
    run(&[&line[..], &holds].concat(), 0);
    let missing = ["--eventually", "inside(P3) & inside(P2)"];
    let text = run(&[&line[..], &missing].concat(), 1);
    assert_prints(&text, &["does not happen by the end"]);
}

fn trace(folder: &Path, options: &[&str]) -> String {
    let path = folder.join("run.ndjson").display().to_string();
    let line = ["simulate", "ricart-agrawala", "-n", "3", "--trace", &path];
    run(&[&line[..], options].concat(), 0);
    path
}

#[test]
fn recorded_run_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), &[]);
    let verify =
        |option: &str, text: &str, status| run(&["trace", "verify", &path, option, text], status);
    verify("--never", EXCLUSION, 0);
    verify("--leads-to", "asks(p) ~> enters(p)", 0);
    let text = verify("--never", "waiting(P1) & waiting(P2)", 1);
    assert_prints(&text, &["waiting(P1) & waiting(P2) is true here"]);
    let refused = verify("--always", "inside(p) => state(p).phase = Inside", 2);
    assert_prints(&refused, &["the trace has no states of processes", "--states"]);
    let path = trace(folder.path(), &["--states"]);
    let always = "inside(p) => state(p).phase = Inside";
    run(&["trace", "verify", &path, "--always", always], 0);
    run(&["trace", "verify", &path, "--never", "state(p).phase = Inside"], 1);
}

#[test]
fn records_after_the_end_are_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), &[]);
    let text = std::fs::read_to_string(&path).expect("a trace");
    let (_, last) = text.trim_end().rsplit_once('\n').expect("many records");
    let time = &serde_json::from_str::<Value>(last).expect("a record")["time"];
    let suspicion = r#""kind":"suspicion","data":{"peer":2,"verdict":"Suspect"}"#;
    let late = format!("{text}{{\"time\":{time},\"process\":1,{suspicion}}}\n");
    std::fs::write(&path, late).expect("a trace");
    run(&["trace", "verify", &path, "--never", "suspects(P1, P2)"], 0);
    run(&["trace", "verify", &path, "--eventually", "suspects(P1, P2)"], 1);
}

#[test]
fn recorded_run_need_not_use_every_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), &["--entries", "0,0,0"]);
    let verify =
        |path: &str, text: &str, status| run(&["trace", "verify", path, "--never", text], status);
    verify(&path, "sent(request)", 0);
    let wrong = verify(&path, "sent(replay)", 2);
    assert_prints(&wrong, &["nearest: reply; messages: reply, request"]);
    let text = std::fs::read_to_string(&path).expect("a trace");
    let other = folder.path().join("other.ndjson").display().to_string();
    let unknown = text.replace(r#""algorithm":"ricart-agrawala""#, r#""algorithm":"my-lock""#);
    std::fs::write(&other, unknown).expect("a trace");
    verify(&other, "sent(replay)", 0);
}

#[test]
fn process_that_is_down_from_the_start_is_crashed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson").display().to_string();
    run(&["simulate", "bully", "-n", "4", "--down", "4", "--trace", &path], 0);
    run(&["trace", "verify", &path], 0);
    let never = ["--never", "crashed(p)"];
    run(&[&["simulate", "bully", "-n", "4", "--down", "4"], &never[..]].concat(), 1);
    run(&[&["trace", "verify", &path], &never[..]].concat(), 1);
}

#[test]
fn run_and_its_trace_agree_at_the_time_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson").display().to_string();
    let line = ["simulate", "bully", "-n", "3", "--until", "300", "--trace", &path];
    let eventually = ["--eventually", "exists p: crashed(p)"];
    // The limit ends the run before the crash, but after the election.
    let judged = run(&[&line[..], &["--crash", "1@500"], &eventually].concat(), 1);
    assert_prints(&judged, &["VIOLATED"]);
    run(&[&["trace", "verify", &path], &eventually[..]].concat(), 1);
    // Requests are pending at the limit. So neither command judges the rest of the run.
    let unserved = ["simulate", "central", "-n", "3", "--until", "1", "--trace", &path];
    assert_prints(&run(&[&unserved[..], &eventually].concat(), 3), &["incomplete"]);
    let judged = run(&[&["trace", "verify", &path], &eventually[..]].concat(), 0);
    assert_prints(&judged, &["incomplete"]);
}

#[test]
fn counterexample_is_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("found.ndjson").display().to_string();
    let never = "inside(P1) & waiting(P2)";
    run(&["check", "central", "-n", "2", "--never", never, "--trace", &path], 1);
    let text = run(&["trace", "replay", &path], 1);
    assert_prints(&text, &["never inside(P1) & waiting(P2) violated again"]);
}

#[test]
fn replay_names_the_step_of_the_violation() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ndjson").display().to_string();
    let never = "inside(P1) & waiting(P2)";
    let line = ["check", "central", "-n", "2", "--never", never, "--format", "json"];
    let report = run(&[&line[..], &["--trace", &path]].concat(), 1);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let length = report["counterexample"]["length"].as_u64().expect("a number");
    // The run ends, so the replay continues after the step that violates the property.
    let mut trace = std::fs::read_to_string(&path).expect("a trace");
    let last: Value = serde_json::from_str(trace.lines().last().expect("a line")).expect("JSON");
    let sequence = last["sequence"].as_u64().expect("a number") + 1;
    let end = serde_json::json!({
        "time": last["time"], "process": "parent", "sequence": sequence, "kind": "end",
    });
    trace.push_str(&format!("{end}\n"));
    std::fs::write(&path, trace).expect("it is written");
    let replayed = run(&["trace", "replay", &path, "--format", "json"], 1);
    let replayed: Value = serde_json::from_str(&replayed).expect("JSON");
    assert!(replayed["steps"].as_u64() > Some(length), "{replayed}");
    assert_eq!(replayed["step"], length, "{replayed}");
}

#[test]
fn lab_marks_the_violation() {
    let lab = Lab::start(&[]);
    let mut session = lab.open("central -n 2 --never 'waiting(P1) & enters(P2)'");
    session.step(100);
    let verdicts = session.view["verdicts"].as_array().expect("verdicts");
    let own = verdicts.iter().find(|it| it["property"] == "never waiting(P1) & enters(P2)");
    assert_eq!(own.expect("the expression is judged")["promised"], true);
}

/// P1 gets the token back, as at the start. It then requests and enters in one step, which the
/// steps before the search do not exclude.
#[test]
fn check_explores_state_of_steered_steps_again() {
    let ring = ["check", "token-ring", "-n", "2", "--entries", "1,0"];
    let after = ["--after", "fire:p1:pass,deliver:p1→p2", "--never", "enters(P1) & requested(P1)"];
    assert_prints(&run(&[&ring[..], &after[..]].concat(), 1), &["violated"]);
}

/// A message that does not fit a link is not lost. The search ends there.
#[test]
fn full_link_violates_no_property_of_messages_in_flight() {
    let property = "sent(request) => in_flight(request)";
    let one = ["check", "ricart-agrawala", "-n", "2", "--in-flight", "1", "--always", property];
    assert_prints(&run(&one, 0), &[&format!("always {property} holds"), "1 message"]);
}
