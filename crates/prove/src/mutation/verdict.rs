//! Decides whether a mutant still satisfies the proof obligations of its model. If an obligation
//! does not hold, the invariant *refuses* the mutant.

use crate::logic::term::{Term, TermOperations, conjunction, disjunction, for_all};
use crate::model::Model;
use crate::model::action::{Action, argument_variables};
use crate::mutation::mutant::Mutant;
use crate::obligations::counterexample::{CounterexampleToInduction, InductionQuery};
use crate::obligations::finite_models::find_counterexample_quickly;
use crate::obligations::parallel::parallel_map;
use crate::obligations::proof::{ObligationSelection, decide_obligations};
use crate::obligations::report::{ObligationOutcome, ProofObligation};
use crate::solver::Solver;
use crate::solver::process::{Satisfiability, SolverGoal};
use crate::solver_error::SolverError;

/// Result of the proof of a mutant.
#[derive(Clone, Debug)]
pub enum MutantVerdict {
    /// The invariant refuses the mutant: at least one proof obligation does not hold for the
    /// mutant.
    Refused {
        /// An obligation that does not hold for the mutant.
        obligation: ProofObligation,
        /// Counterexample to induction. `None` if the search in small groups found none, or if no
        /// initial state or no step exists.
        counterexample: Option<Box<CounterexampleToInduction>>,
    },
    /// The mutant has the same initial states as the model, and the same steps in every state that
    /// satisfies the invariant.
    Equivalent,
    /// In every state that satisfies the invariant, each step of the changed action is a step of
    /// the original action. Steps can only be missing, so the mutant is safe.
    FewerSteps,
    /// The mutant may have steps or initial states that the model does not have: the solver did not
    /// prove the contrary. Still, the invariant of the mutant is inductive. So the mutant is safe
    /// for every number of processes.
    Safe,
    /// The solver did not decide this obligation, and the mutant is not known to be equivalent or
    /// to have only fewer steps.
    Undecided(ProofObligation),
}

impl MutantVerdict {
    /// Returns true if the invariant refuses the mutant: at least one proof obligation does not
    /// hold.
    pub fn is_refused(&self) -> bool {
        matches!(self, MutantVerdict::Refused { .. })
    }

    /// Returns the verdict in a word: `refused`, `equivalent`, `fewer-steps`, `safe` or
    /// `undecided`.
    pub fn name(&self) -> &'static str {
        match self {
            MutantVerdict::Refused { .. } => "refused",
            MutantVerdict::Equivalent => "equivalent",
            MutantVerdict::FewerSteps => "fewer-steps",
            MutantVerdict::Safe => "safe",
            MutantVerdict::Undecided(_) => "undecided",
        }
    }

    /// Returns the verdict and its reason as text, such as `refused by mutual-exclusion`.
    pub fn verdict_text(&self) -> String {
        match self {
            MutantVerdict::Refused { obligation, .. } => match obligation {
                ProofObligation::InitialState => "refused: no initial state exists".to_owned(),
                ProofObligation::Initiation(conjunct) => format!("refused initially by {conjunct}"),
                ProofObligation::Possible(_) => "refused: the action is impossible".to_owned(),
                ProofObligation::Consecution { conjunct, .. } => format!("refused by {conjunct}"),
            },
            MutantVerdict::Equivalent => {
                "equivalent: the invariant implies the same steps".to_owned()
            }
            MutantVerdict::FewerSteps => "safe: only steps of the original action".to_owned(),
            MutantVerdict::Safe => "safe: the invariant is inductive with the change".to_owned(),
            MutantVerdict::Undecided(obligation) => format!("undecided: {obligation}"),
        }
    }
}

/// Decides for each mutant of a proved model whether at least one proof obligation does not hold.
/// If so, the invariant refuses the mutant. Several solver processes run in parallel.
///
/// # Errors
///
/// Returns an error if the solver cannot be started.
pub fn judge_mutants(
    model: &Model,
    mutants: &[Mutant],
    solver: &Solver,
) -> Result<Vec<MutantVerdict>, SolverError> {
    parallel_map(mutants.len(), |index| judge_one(model, &mutants[index], solver))
}

fn judge_one(
    model: &Model,
    mutant: &Mutant,
    solver: &Solver,
) -> Result<MutantVerdict, SolverError> {
    let changed = mutant.applied_to(model);
    let action = mutant.action_index().map(|index| &changed.actions[index]);
    let original = mutant.action_index().map(|index| &model.actions[index]);
    if let Some(found) = find_counterexample_quickly(&changed, action, solver)? {
        return Ok(refused_by(action, found));
    }
    let sameness = match (original, action) {
        (Some(original), Some(action)) => compare_actions(model, original, action, solver)?,
        _ => compare_initial_conditions(model, &changed, solver)?,
    };
    // Only the changed action or initial condition has new obligations. The other obligations are
    // those of the original model, and are proved.
    let open = decide_obligations(&changed, action, solver, ObligationSelection::UntilOpen)?.pop();
    let open = open.filter(|it| !matches!(it.outcome, ObligationOutcome::Proved));
    Ok(match (open, sameness) {
        (Some(open), _) if matches!(open.outcome, ObligationOutcome::Refuted(_)) => {
            let counterexample = match open.outcome {
                ObligationOutcome::Refuted(found) => found,
                ObligationOutcome::Proved | ObligationOutcome::Undecided => None,
            };
            MutantVerdict::Refused { obligation: open.obligation, counterexample }
        }
        // Every step of the mutant is a step of the original model. The original model is proved,
        // so an undecided obligation does not matter.
        (_, Some(verdict)) => verdict,
        (Some(open), None) => MutantVerdict::Undecided(open.obligation),
        (None, None) => MutantVerdict::Safe,
    })
}

fn refused_by(action: Option<&Action>, found: CounterexampleToInduction) -> MutantVerdict {
    let conjunct = found.conjunct.to_owned();
    let obligation = match action {
        Some(action) => ProofObligation::Consecution { action: action.display_name(), conjunct },
        None => ProofObligation::Initiation(conjunct),
    };
    MutantVerdict::Refused { obligation, counterexample: Some(Box::new(found)) }
}

/// Compares a changed action with the original action, in all states that satisfy the invariant.
/// Returns [`MutantVerdict::Equivalent`] if the solver proves that both actions permit the same
/// steps. Returns [`MutantVerdict::FewerSteps`] if the solver only proves that each step of the
/// changed action is a step of the original action. Otherwise returns `None`.
fn compare_actions(
    model: &Model,
    original: &Action,
    changed: &Action,
    solver: &Solver,
) -> Result<Option<MutantVerdict>, SolverError> {
    let mut process =
        InductionQuery::new(model, Some(changed)).start_solver(model, solver, SolverGoal::Proof)?;
    let is_step = original.guard.clone() & is_same_result(original, changed);
    if process.check_with(&!is_step) != Satisfiability::Unsatisfiable {
        return Ok(None);
    }
    let mut process = InductionQuery::new(model, Some(original)).start_solver(
        model,
        solver,
        SolverGoal::Proof,
    )?;
    let is_equivalent =
        process.check_with(&!changed.guard.clone()) == Satisfiability::Unsatisfiable;
    Ok(Some(match is_equivalent {
        true => MutantVerdict::Equivalent,
        false => MutantVerdict::FewerSteps,
    }))
}

/// Returns a formula that is true if the two actions lead to the same state.
fn is_same_result(one: &Action, other: &Action) -> Term {
    let symbols = one.updates.keys().chain(other.updates.keys());
    conjunction(symbols.map(|symbol| {
        let arguments = argument_variables(*symbol);
        let [left, right] =
            [one, other].map(|action| action.value_after_updates(*symbol, &arguments));
        let is_same = left.equals(right);
        if arguments.is_empty() { is_same } else { for_all(arguments, is_same) }
    }))
}

/// Compares the initial condition of the mutant `changed` with that of `model`. Returns
/// [`MutantVerdict::Equivalent`] if the solver proves that the two conditions are equivalent, and
/// otherwise `None`.
///
/// The mutant only leaves out a part of the condition. So the solver needs to prove only that the
/// changed condition implies the original one.
fn compare_initial_conditions(
    model: &Model,
    changed: &Model,
    solver: &Solver,
) -> Result<Option<MutantVerdict>, SolverError> {
    let mut process =
        InductionQuery::new(changed, None).start_solver(changed, solver, SolverGoal::Proof)?;
    let differs = disjunction(model.initial_conditions.iter().map(|condition| !condition.clone()));
    let result = process.check_with(&differs);
    Ok((result == Satisfiability::Unsatisfiable).then_some(MutantVerdict::Equivalent))
}
