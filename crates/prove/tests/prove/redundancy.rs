//! Checks `docs/proofs.md`, which lists the redundant conjuncts of each invariant. A conjunct is
//! redundant if the proof succeeds without it.

use std::fs;
use std::path::Path;

use tenure_prove::{
    CATALOGUE, ConjunctRedundancy, Model, ModelEntry, ObligationOutcome, Solver,
    check_conjunct_redundancy, first_model_entry_of, prove,
};

use crate::support::z3;

/// Returns the rows `| algorithm | property | redundant conjuncts |` of a table in the
/// documentation.
fn documented() -> Vec<[String; 3]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/proofs.md");
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let (_, section) = page.split_once("## Redundant conjuncts").expect("the page has the section");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = |row: &str| -> Vec<String> {
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let row = |row| cells(row).try_into().unwrap_or_else(|row| panic!("three cells: {row:?}"));
    rows.map(row).collect()
}

/// Asserts that the documentation lists the redundant conjuncts of the models for which
/// `is_selected` returns true.
fn assert_documented(solver: &Solver, is_selected: impl Fn(&Model) -> bool) {
    let rows = documented();
    assert!(rows.len() > 5, "{rows:?}");
    for [name, property, listed] in rows {
        let is_entry =
            |it: &&ModelEntry| format!("`{}`", it.name) == name && it.property == property;
        let entry = CATALOGUE.iter().find(is_entry);
        let model = entry.unwrap_or_else(|| panic!("no model of {name}: {property}")).model();
        if is_selected(&model) {
            assert_eq!(listed, redundant(&model, solver), "{name}: update docs/proofs.md");
        }
    }
}

/// Returns the redundant conjuncts of a model, in the form in which the documentation lists them.
fn redundant(model: &Model, solver: &Solver) -> String {
    let needs = check_conjunct_redundancy(model, solver).expect("the solver runs");
    assert_eq!(needs.len() + 1, model.invariant.len(), "{}", model.name);
    let undecided = needs.iter().find(|(_, need)| matches!(need, ConjunctRedundancy::Undecided));
    assert!(undecided.is_none(), "{}: {undecided:?}", model.name);
    let is_redundant =
        |(_, need): &&(&str, ConjunctRedundancy)| matches!(need, ConjunctRedundancy::Redundant);
    let names = needs.iter().filter(is_redundant).map(|(name, _)| format!("`{name}`"));
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Maximum number of conjuncts of a small model. Every test run examines the small models. Only
/// long test runs examine the larger models.
const FEW_CONJUNCTS: usize = 9;

#[test]
#[ignore = "long: 6 s"]
fn documentation_lists_redundant_conjuncts_of_small_models() {
    let Some(solver) = z3() else { return };
    assert_documented(&solver, |model| model.invariant.len() <= FEW_CONJUNCTS);
}

#[test]
#[ignore = "takes 15 s when optimised; `just long` runs it"]
fn documentation_lists_redundant_conjuncts_of_all_models() {
    let Some(solver) = z3() else { return };
    assert_documented(&solver, |_| true);
}

#[test]
fn needed_conjunct_leaves_a_counterexample() {
    let Some(solver) = z3() else { return };
    let model = first_model_entry_of("ricart-agrawala").expect("it has a model").model();
    let rest = model.without_conjunct("granted-precedes").expect("it is a conjunct");
    let report = prove(&rest, &solver).expect("the solver runs");
    assert!(report.is_refuted() && report.counterexample().is_some(), "{report:?}");
    let is_open =
        report.unproved_obligations().any(|it| matches!(it.outcome, ObligationOutcome::Refuted(_)));
    assert!(is_open, "{report:?}");
}

#[test]
fn property_itself_is_not_left_out() {
    let model = first_model_entry_of("ricart-agrawala").expect("it has a model").model();
    assert!(model.without_conjunct("mutual-exclusion").is_none());
    assert!(model.without_conjunct("no-such-conjunct").is_none());
}
