//! Proof of a model by induction.

use std::time::Instant;

use crate::model::Model;
use crate::model::action::Action;
use crate::obligations::counterexample::InductionQuery;
use crate::obligations::finite_models::{
    MAX_COUNTEREXAMPLE_PROCESSES, UndecidedGroups, find_counterexample,
};
use crate::obligations::parallel::parallel_map;
use crate::obligations::report::{
    CheckedObligation, ObligationOutcome, ProofObligation, ProofReport,
};
use crate::solver::Solver;
use crate::solver::process::{Satisfiability, SolverGoal, SolverProcess};
use crate::solver_error::SolverError;

/// Decides all obligations of a model: an initial state exists, the initial states satisfy the
/// invariant, every action is possible, and every action preserves the invariant.
///
/// The result holds for any number of processes in the group. Each action is checked by a solver
/// process of its own, and the solver processes run in parallel.
///
/// # Errors
///
/// Returns an error if the solver cannot be started.
pub fn prove(model: &Model, solver: &Solver) -> Result<ProofReport, SolverError> {
    let started = Instant::now();
    let actions = model.actions_with_message_loss();
    // Job 0 decides the obligations about the initial states.
    let results = parallel_map(actions.len() + 1, |job| {
        let action = job.checked_sub(1).map(|index| &actions[index]);
        decide_obligations(model, action, solver, ObligationSelection::All)
    })?;
    Ok(ProofReport {
        algorithm: model.name,
        property: model.property().name,
        solver: solver.name_and_version(),
        actions: actions.len(),
        conjuncts: model.invariant.len(),
        obligations: results.into_iter().flatten().collect(),
        elapsed: started.elapsed(),
    })
}

/// Choice of the obligations that a proof decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObligationSelection {
    All,
    /// All obligations in order, until one obligation is refuted or undecided.
    UntilOpen,
}

/// Decides the obligations for one action, or for the initial states if `action` is `None`.
pub(crate) fn decide_obligations(
    model: &Model,
    action: Option<&Action>,
    solver: &Solver,
    selection: ObligationSelection,
) -> Result<Vec<CheckedObligation>, SolverError> {
    let induction = InductionQuery::new(model, action);
    let mut process = induction.start_solver(model, solver, SolverGoal::Proof)?;
    let obligation = match action {
        Some(action) => ProofObligation::Possible(action.display_name()),
        None => ProofObligation::InitialState,
    };
    let outcome = existence_outcome(&mut process, model, &induction, solver)?;
    let mut decisions = vec![CheckedObligation { obligation, outcome }];
    let is_open = |it: &CheckedObligation| !matches!(it.outcome, ObligationOutcome::Proved);
    for conjunct in &model.invariant {
        if selection == ObligationSelection::UntilOpen && decisions.last().is_some_and(is_open) {
            break;
        }
        let name = conjunct.name.to_owned();
        let obligation = match action {
            Some(action) => {
                ProofObligation::Consecution { action: action.display_name(), conjunct: name }
            }
            None => ProofObligation::Initiation(name),
        };
        let induction = induction.clone().violating(conjunct);
        // An action that changes nothing that the conjunct mentions preserves the conjunct.
        let outcome = match induction.leaves_conjuncts_unchanged() {
            true => ObligationOutcome::Proved,
            false => induction_outcome(&mut process, model, &induction, solver)?,
        };
        decisions.push(CheckedObligation { obligation, outcome });
    }
    Ok(decisions)
}

/// Decides an obligation about the existence of a state. If `induction` has no action, the
/// obligation states that an initial state exists. If `induction` has an action, the obligation
/// states that the action is possible in some state that satisfies the invariant.
///
/// Searches small groups first, and then asks the solver about groups of any size.
fn existence_outcome(
    process: &mut SolverProcess,
    model: &Model,
    induction: &InductionQuery<'_>,
    solver: &Solver,
) -> Result<ObligationOutcome, SolverError> {
    if find_counterexample(model, induction, solver, MAX_COUNTEREXAMPLE_PROCESSES)?.is_some() {
        return Ok(ObligationOutcome::Proved);
    }
    Ok(match process.check() {
        Satisfiability::Satisfiable => ObligationOutcome::Proved,
        Satisfiability::Unsatisfiable => ObligationOutcome::Refuted(None),
        Satisfiability::Unknown => ObligationOutcome::Undecided,
    })
}

/// Returns the result of an obligation about an action or about the initial states.
///
/// The first attempt considers groups of any size and has a short time limit. If this attempt
/// proves nothing, the function searches small groups for a counterexample, because solvers find
/// most counterexamples in small groups. If the search finds no counterexample and the first
/// attempt is undecided, a second attempt has the whole time limit. With cvc5, the only attempt has
/// the whole time limit.
fn induction_outcome(
    process: &mut SolverProcess,
    model: &Model,
    induction: &InductionQuery<'_>,
    solver: &Solver,
) -> Result<ObligationOutcome, SolverError> {
    let mut groups = UndecidedGroups::up_to(MAX_COUNTEREXAMPLE_PROCESSES, model);
    for limit in solver.attempt_timeouts() {
        process.set_query_timeout(limit);
        let result = process.check_with(&induction.violation());
        if result == Satisfiability::Unsatisfiable {
            return Ok(ObligationOutcome::Proved);
        }
        let solver = solver.clone().with_query_timeout(limit);
        let found = groups.find_counterexample(model, induction, &solver)?;
        if found.is_some() || result == Satisfiability::Satisfiable {
            return Ok(ObligationOutcome::Refuted(found.map(Box::new)));
        }
    }
    Ok(ObligationOutcome::Undecided)
}
