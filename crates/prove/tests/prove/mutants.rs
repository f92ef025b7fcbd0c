//! Tests of mutants, which are models with one changed rule. For each mutant, a proof obligation
//! fails, or the solver proves that the change is harmless.

use tenure_prove::{
    CATALOGUE, MutantVerdict, ProofObligation, Solver, first_model_entry_of, judge_mutants,
    mutants, sample_mutants,
};

/// Number of mutants that this test examines for each model. A longer test in
/// `tests/command/prove.rs` examines more.
const SAMPLE_SIZE: usize = 1;

const SEED: u64 = 1;

#[test]
#[ignore = "long: 7 s"]
fn mutants_are_refused_or_proved_to_be_safe() {
    let Some(solver) = crate::support::z3() else { return };
    let (mut total, mut refused, mut undecided) = (0, 0, Vec::new());
    for entry in &CATALOGUE {
        let model = entry.model();
        let mutants = sample_mutants(&model, SAMPLE_SIZE, SEED);
        assert_eq!(mutants.len(), SAMPLE_SIZE, "{} has too few mutants", entry.name);
        let verdicts = judge_mutants(&model, &mutants, &solver).expect("the solver runs");
        for (mutant, verdict) in mutants.iter().zip(verdicts) {
            total += 1;
            refused += usize::from(verdict.is_refused());
            if let MutantVerdict::Undecided(_) = verdict {
                undecided.push(format!("{} {mutant}: {}", entry.name, verdict.verdict_text()));
            }
        }
    }
    assert!(undecided.is_empty(), "{undecided:#?}");
    assert!(refused * 3 >= total, "{refused} of {total} are refused");
}

fn verdict_of(algorithm: &str, description: &str, solver: &Solver) -> MutantVerdict {
    let model = first_model_entry_of(algorithm).expect("it has a model").model();
    let found = mutants(&model).into_iter().find(|mutant| mutant.to_string() == description);
    let mutant = found.unwrap_or_else(|| panic!("no mutant of {algorithm} is {description}"));
    judge_mutants(&model, &[mutant], solver).expect("the solver runs").remove(0)
}

#[test]
fn entry_without_replies_of_all_is_refused() {
    let Some(solver) = crate::support::z3() else { return };
    let description = "enter: guard: without for all p: (p ≠ x) implies granted(x, p)";
    let verdict = verdict_of("ricart-agrawala", description, &solver);
    let MutantVerdict::Refused { obligation, counterexample } = verdict else {
        panic!("{verdict:?}");
    };
    assert!(matches!(obligation, ProofObligation::Consecution { .. }), "{obligation:?}");
    assert!(counterexample.is_some_and(|found| !found.witness.is_empty()));
}

/// Checks that the solver recognizes a change without an effect. In the mutant, a process may
/// receive a reply even if the process is not waiting. The missing guard follows from the
/// invariant, because no reply is in flight to a process inside the critical section.
#[test]
fn implied_guard_is_equivalent() {
    let Some(solver) = crate::support::z3() else { return };
    let verdict =
        verdict_of("ricart-agrawala", "receive-reply: guard: without waiting(x)", &solver);
    assert!(matches!(verdict, MutantVerdict::Equivalent), "{verdict:?}");
}

#[test]
fn missing_initial_condition_is_refused() {
    let Some(solver) = crate::support::z3() else { return };
    let verdict =
        verdict_of("ricart-agrawala", "initial condition: without not inside(p)", &solver);
    let is_initial = |it: &ProofObligation| matches!(it, ProofObligation::Initiation(_));
    assert!(
        matches!(&verdict, MutantVerdict::Refused { obligation, .. } if is_initial(obligation)),
        "{verdict:?}"
    );
}
