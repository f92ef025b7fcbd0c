//! `tenure prove`: verdicts for every number of processes, and refusals.

use serde_json::Value;

use crate::shell::tenure;

/// Returns true if z3 is installed. Prints that the test is skipped if not.
fn has_solver() -> bool {
    let found = std::process::Command::new("z3").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: needs z3");
    }
    found
}

fn report(line: &str, status: i32) -> Value {
    let output = tenure(line);
    assert_eq!(output.status.code(), Some(status), "{line}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn proves_an_election_and_compares_it_with_the_code() {
    if !has_solver() {
        return;
    }
    let report = report("prove chang-roberts --format json", 0);
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
    let report = report("prove ricart-agrawala --variant clock-only-strict --format json", 1);
    let found = &report["proof"]["counterexample"];
    assert_eq!(found["processes"], 2, "{report}");
    assert!(found["witness"].as_object().is_some_and(|it| !it.is_empty()), "{report}");
    let text = tenure("prove ricart-agrawala --variant clock-only-strict");
    let text = String::from_utf8_lossy(&text.stdout);
    for part in ["not proved", "counterexample to induction", "  before   ", "  violated "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn explains_unknown_names_and_a_missing_solver() {
    for (line, status, part) in [
        ("prove ricart-agrawalla", 2, "nearest: ricart-agrawala"),
        ("prove raft --variant no-such", 2, "forgotten-vote"),
        ("prove raft --solver /no/such/z3", 4, "/no/such/z3"),
        ("prove raft --solver true", 4, "neither z3 nor cvc5"),
    ] {
        let output = tenure(line);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{line}: {message}");
        assert!(message.contains(part), "{line}: {message}");
    }
}

#[test]
fn lists_the_algorithms_with_a_model() {
    let list = report("prove --format json", 0);
    assert!(list.as_array().is_some_and(|models| models.len() > 5), "{list}");
}
