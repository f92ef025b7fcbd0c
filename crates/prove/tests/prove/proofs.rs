//! The installed solvers prove every model, and refute every unsound variant.

use std::time::Duration;

use tenure_prove::{
    CATALOGUE, DEFAULT_QUERY_TIMEOUT, Model, ModelEntry, ObligationOutcome, ProofObligation,
    ProofReport, Solver, prove,
};

use crate::support::{solver, z3};

fn open(report: &ProofReport) -> String {
    let open =
        report.unproved_obligations().map(|it| format!("{}: {}", it.obligation, it.outcome.name()));
    let open = open.collect::<Vec<_>>().join("\n");
    let counterexample = report.counterexample().map(|it| it.to_text()).unwrap_or_default();
    format!("{} by {}\n{open}\n{counterexample}", report.algorithm, report.solver)
}

#[test]
fn every_model_is_proved() {
    let Some(solver) = z3() else { return };
    for entry in &CATALOGUE {
        let report = prove(&entry.model(), &solver).expect("the solver runs");
        assert!(report.is_proved(), "{}", open(&report));
    }
}

/// Checks with cvc5 that each initial state satisfies each invariant and that each action preserves
/// it. An obligation about the existence of a state may stay undecided, because cvc5 does not
/// always find the state.
#[test]
#[ignore = "takes minutes: cargo test -p tenure-prove -- --ignored"]
fn every_induction_is_confirmed_by_cvc5() {
    let Some(solver) = solver("cvc5") else { return };
    let solver = solver.with_query_timeout(Duration::from_secs(60));
    for entry in &CATALOGUE {
        let report = prove(&entry.model(), &solver).expect("the solver runs");
        let is_open = report.unproved_obligations().any(|it| {
            let is_about_existence = matches!(
                it.obligation,
                ProofObligation::Possible(_) | ProofObligation::InitialState
            );
            !is_about_existence || matches!(it.outcome, ObligationOutcome::Refuted(_))
        });
        assert!(!is_open, "{}", open(&report));
    }
}

/// Proves each variant in an entry of the catalogue. Returns a tuple for each variant. The first
/// field is true if the solver must refute the variant. The other fields are the name of the
/// variant and the proof report.
fn variants(entry: &ModelEntry, solver: &Solver) -> Vec<(bool, &'static str, ProofReport)> {
    let report = |variant: &tenure_prove::ModelVariant| {
        let model = entry.variant_model(variant.name).expect("the variant is listed");
        let prove = |model: &Model| prove(model, solver).expect("the solver runs");
        let of_part = variant.is_refuted.then(|| prove(&changed_part(&model, &entry.model())));
        let refutation = of_part.filter(ProofReport::is_refuted);
        (variant.is_refuted, variant.name, refutation.unwrap_or_else(|| prove(&model)))
    };
    entry.variants.iter().map(report).collect()
}

/// Returns the variant with only those actions that differ from the actions of the algorithm. If
/// this part is refuted, the whole variant is refuted too.
fn changed_part(variant: &Model, algorithm: &Model) -> Model {
    let mut part = variant.clone();
    part.actions.retain(|action| !algorithm.actions.contains(action));
    part.lossy_messages.clear();
    part
}

#[test]
#[ignore = "long: 45 s"]
fn unsound_variants_are_refuted_and_sound_ones_proved() {
    let Some(solver) = z3() else { return };
    for entry in &CATALOGUE {
        for (is_refuted, name, report) in variants(entry, &solver) {
            let name = format!("{} --variant {name}", entry.name);
            assert_eq!(report.is_refuted(), is_refuted, "{name}: {}", open(&report));
            assert_eq!(report.is_proved(), !is_refuted, "{name}: {}", open(&report));
            if is_refuted {
                let found = report.counterexample().unwrap_or_else(|| panic!("{name}: none"));
                assert!(!found.witness.is_empty(), "{name}: {}", found.to_text());
            }
        }
    }
}

#[test]
#[ignore = "long: 9 s"]
fn property_alone_is_not_inductive() {
    let Some(solver) = z3() else { return };
    // One refuted obligation is enough. So the time limit may be short, and other obligations may
    // stay undecided.
    let solver = solver.with_query_timeout(DEFAULT_QUERY_TIMEOUT);
    for entry in &CATALOGUE {
        let mut model = entry.model();
        model.invariant.truncate(1);
        let report = prove(&model, &solver).expect("the solver runs");
        assert!(report.is_refuted(), "{}", open(&report));
    }
}

/// Makes one action of each model impossible, and checks that the model is then refuted. An
/// impossible action preserves every invariant, so a proof demands that each action is possible.
#[test]
fn impossible_actions_are_refuted() {
    let Some(solver) = z3() else { return };
    for entry in &CATALOGUE {
        let mut model = entry.model();
        let action = model.actions.pop().expect("a model has actions");
        let name = action.display_name();
        // The test examines only whether the last action is possible, so all other actions are left
        // out.
        model.actions = vec![action.when(tenure_prove::Term::falsehood())];
        model.lossy_messages.clear();
        let report = prove(&model, &solver).expect("the solver runs");
        let is_found = report.obligations.iter().any(|it| {
            it.obligation == ProofObligation::Possible(name.clone())
                && matches!(it.outcome, ObligationOutcome::Refuted(_))
        });
        assert!(is_found, "{}", open(&report));
    }
}
