//! Tests of `tenure prove`: proofs for every number of processes, and refutations.

use serde_json::Value;

use crate::shell::{assert_fails_with, data, tenure};
use crate::skipped::report_skip;

/// Option with a time limit so long that the solver decides each query, even on a busy machine.
const PATIENT: &str = "--query-timeout 300s";

/// Returns true if the solver z3 is installed. Otherwise prints that the test is skipped.
fn has_solver() -> bool {
    let found = std::process::Command::new("z3").arg("--version").output().is_ok();
    if !found {
        report_skip("z3");
    }
    found
}

/// Runs a test of this program without a solver in the search path.
#[test]
fn missing_program_is_reported_and_fails_if_required() {
    for (required, passes, message) in [
        ("", true, "skipped: needs z3"),
        ("etcdctl,z3x", true, "skipped: needs z3"),
        ("etcdctl,z3", false, "TENURE_REQUIRED contains z3"),
    ] {
        let program = std::env::current_exe().expect("its path");
        let mut command = std::process::Command::new(program);
        command.args(["--exact", "prove::proves_an_election_and_compares_it_with_the_code"]);
        let output = command.env("PATH", "").env("TENURE_REQUIRED", required).output();
        let output = output.expect("it starts");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.success(), passes, "{text}");
        assert!(text.contains("1 passed") == passes && text.contains(message), "{text}");
    }
}

#[test]
fn proves_an_election_and_compares_it_with_the_code() {
    if !has_solver() {
        return;
    }
    let report = &data(&format!("prove chang-roberts {PATIENT}"), 0)[0];
    assert_eq!(report["proof"]["is_proved"], true, "{report}");
    let groups = report["code"].as_array().expect("groups were compared");
    assert_eq!(groups.len(), 2, "{report}");
    for group in groups {
        assert_eq!((&group["agrees"], &group["is_complete"]), (&true.into(), &true.into()));
        assert!(group["actions"].as_object().is_some_and(|it| it.contains_key("forward")));
    }
}

#[test]
fn refuses_an_unsound_variant_with_a_counterexample() {
    if !has_solver() {
        return;
    }
    let line = format!("prove ricart-agrawala --variant clock-only-strict {PATIENT}");
    let report = &data(&line, 1)[0];
    let found = &report["proof"]["counterexample"];
    assert_eq!(found["processes"], 2, "{report}");
    assert!(found["witness"].as_object().is_some_and(|it| !it.is_empty()), "{report}");
    let text = tenure(&line);
    let text = String::from_utf8_lossy(&text.stdout);
    for part in ["not proved", "counterexample to induction", "  before   ", "  violated "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn explains_unknown_names_and_a_missing_solver() {
    for (line, status, part) in [
        ("prove ricart-agrawalla", 2, "nearest: ricart-agrawala"),
        ("prove no-such", 2, "majority, raft, ricart-agrawala"),
        ("prove --mutants 0", 2, "0 is not in 1.."),
        ("prove raft --variant no-such", 2, "forgotten-vote"),
        ("prove ricart-agrawala --without no-such", 2, "granted-precedes"),
        ("prove ricart-agrawala --without mutual-exclusion", 2, "it is the property to prove"),
        ("prove raft --without no-such", 2, "under drifting clocks (one-leader-per-term, "),
        ("prove raft --without lease-deadline --solver /no/such/z3", 4, "/no/such/z3"),
        ("prove --without granted-precedes", 2, "required"),
        ("prove raft --solver /no/such/z3", 4, "/no/such/z3"),
        ("prove raft --solver true", 4, "neither z3 nor cvc5"),
    ] {
        assert_fails_with(&tenure(line), status, part);
    }
}

#[test]
fn lists_the_algorithms_with_a_model() {
    let list = data("prove", 0);
    assert!(list.as_array().is_some_and(|models| models.len() > 5), "{list}");
}

#[test]
fn refuses_a_proof_without_a_needed_conjunct() {
    if !has_solver() {
        return;
    }
    let line = format!("prove ricart-agrawala --without granted-precedes {PATIENT}");
    let text = String::from_utf8_lossy(&tenure(&line).stdout).into_owned();
    for part in ["not proved", "refuted: ", "  violated "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let report = data(&line, 1);
    assert_eq!(report[0]["without"], "granted-precedes", "{report}");
}

#[test]
#[ignore = "long: 9 s"]
fn redundant_conjuncts_are_proved_to_be_redundant() {
    if !has_solver() {
        return;
    }
    let report = data(&format!("prove ricart-agrawala --redundant {PATIENT}"), 0);
    let conjuncts = report[0]["conjuncts"].as_array().expect("conjuncts");
    let needed = conjuncts.iter().filter(|it| it["need"] == "needed").count();
    assert!(needed > 8, "{report}");
    for conjunct in conjuncts.iter().filter(|it| it["need"] == "redundant") {
        let name = conjunct["conjunct"].as_str().expect("a name");
        let line = format!("prove ricart-agrawala --without {name} -n 0 {PATIENT}");
        assert_eq!(data(&line, 0)[0]["proof"]["is_proved"], true, "{name}");
    }
}

/// Makes random mutants of the models. At least nine of ten must be refused, because the proof of
/// the invariant fails or because the code behaves differently. Mutants that the solver proves to
/// be safe are not counted.
#[test]
#[ignore = "minutes; `just long` runs it"]
fn nine_of_ten_safety_mutants_are_refused() {
    if !has_solver() {
        return;
    }
    let line = "prove --mutants 88 --seed 1 --query-timeout 60s --format json";
    let output = tenure(line);
    // Status 3 means that the solver did not decide some mutant. The test treats such a mutant as
    // not refused.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let mutants = report["mutants"].as_array().expect("mutants");
    assert_eq!(mutants.len(), 88, "{report}");
    let has = |it: &Value, verdicts: &[&str]| {
        it["verdict"].as_str().is_some_and(|verdict| verdicts.contains(&verdict))
    };
    let is_refused = |it: &&Value| has(it, &["refused", "refused-by-code"]);
    let is_safe = |it: &&Value| has(it, &["equivalent", "fewer-steps", "safe"]);
    let refused = mutants.iter().filter(is_refused).count();
    let safety_mutants = mutants.len() - mutants.iter().filter(is_safe).count();
    assert!(safety_mutants >= 60, "{safety_mutants}: {report:#}");
    assert!(refused * 10 >= safety_mutants * 9, "{refused} of {safety_mutants}: {report:#}");
    for mutant in mutants {
        assert!(mutant["reason"].as_str().is_some_and(|it| !it.is_empty()), "{mutant}");
    }
}

#[test]
#[ignore = "long: 5 s"]
fn equal_seeds_judge_equal_mutants() {
    if !has_solver() {
        return;
    }
    let changes = |seed: u32| {
        let line = format!("prove chang-roberts --mutants 2 --seed {seed} {PATIENT}");
        let report = data(&line, 0);
        let mutants = report["mutants"].as_array().expect("mutants").clone();
        mutants.iter().map(|it| it["change"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(changes(3), changes(3));
    assert_ne!(changes(3), changes(4));
}

/// Runs `tenure prove` on faulty variants whose code differs from the model. The model must be
/// proved, and the comparison of the model with the code must report the difference. The card of an
/// algorithm states which variants these are.
#[test]
#[ignore = "long: 7 s"]
fn mistakes_on_cards_are_refused_by_the_named_part() {
    if !has_solver() {
        return;
    }
    let mut compared = 0;
    for entry in data("list", 0).as_array().expect("cards") {
        let name = entry["name"].as_str().expect("a name");
        for variant in entry["variants"].as_array().into_iter().flatten() {
            // The tests of the crate `tenure-prove` examine the other faulty variants.
            if variant["refused_by"] != "comparison" {
                continue;
            }
            let variant = variant["name"].as_str().expect("a name");
            let line = format!("prove {name} --variant {variant} -n 2 {PATIENT}");
            let report = data(&line, 1);
            assert_eq!(report[0]["proof"]["is_proved"], true, "{line}: {report}");
            assert_eq!(report[0]["code"][0]["agrees"], false, "{line}: {report}");
            compared += 1;
        }
    }
    assert!(compared >= 9, "{compared}");
}
