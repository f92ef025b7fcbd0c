//! Proof of a model by induction.

use std::time::Instant;

use crate::error::ProveError;
use crate::model::Model;
use crate::model::action::Action;
use crate::obligations::counterexample::{self, Induction, MAX_PROCESSES};
use crate::obligations::parallel::for_each_index;
use crate::obligations::report::{Decision, Obligation, Outcome, ProofReport};
use crate::solver::Solver;
use crate::solver::process::{Goal, Satisfiability, SolverProcess};

/// Decides all obligations of a model.
///
/// The initial states satisfy the invariant, and every action preserves it. Both are decided for
/// any number of processes. Each action is decided by a solver process of its own, in parallel.
///
/// # Errors
///
/// Returns an error if the solver cannot be started.
pub fn prove(model: &Model, solver: &Solver) -> Result<ProofReport, ProveError> {
    let started = Instant::now();
    let actions = model.all_actions();
    // The first job is the one about the initial states.
    let results = for_each_index(actions.len() + 1, |job| {
        let action = job.checked_sub(1).map(|index| &actions[index]);
        decide(model, action, solver, Extent::All)
    })?;
    Ok(ProofReport {
        algorithm: model.name,
        property: model.property().name,
        solver: solver.name(),
        actions: actions.len(),
        conjuncts: model.invariant.len(),
        decisions: results.into_iter().flatten().collect(),
        elapsed: started.elapsed(),
    })
}

/// Obligations to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// Those up to the first that is refuted or undecided.
    UntilOpen,
}

/// Decides the obligations of an action, or of the initial states.
pub(crate) fn decide(
    model: &Model,
    action: Option<&Action>,
    solver: &Solver,
    extent: Extent,
) -> Result<Vec<Decision>, ProveError> {
    let induction = match action {
        Some(action) => Induction::of(model, action),
        None => Induction::initial(model),
    };
    let mut process = induction.begin(model, solver, Goal::Proof)?;
    let obligation = match action {
        Some(action) => Obligation::Possible(action.title()),
        None => Obligation::InitialState,
    };
    let outcome = existence_outcome(&mut process, model, &induction, solver)?;
    let mut decisions = vec![Decision { obligation, outcome }];
    let is_open = |it: &Decision| !matches!(it.outcome, Outcome::Proved);
    for conjunct in &model.invariant {
        if extent == Extent::UntilOpen && decisions.last().is_some_and(is_open) {
            break;
        }
        let name = conjunct.name.to_owned();
        let obligation = match action {
            Some(action) => Obligation::Consecution { action: action.title(), conjunct: name },
            None => Obligation::Initiation(name),
        };
        let induction = induction.clone().against(conjunct);
        // An action that does not concern a conjunct preserves it.
        let result = match induction.is_unaffected() {
            true => Satisfiability::Unsatisfiable,
            false => process.check_with(&induction.violation()),
        };
        let outcome = induction_outcome(result, model, &induction, solver)?;
        decisions.push(Decision { obligation, outcome });
    }
    Ok(decisions)
}

/// Returns the outcome of an obligation that some state exists. Small groups are searched first.
fn existence_outcome(
    process: &mut SolverProcess,
    model: &Model,
    induction: &Induction<'_>,
    solver: &Solver,
) -> Result<Outcome, ProveError> {
    if counterexample::search(model, induction, solver, MAX_PROCESSES)?.is_some() {
        return Ok(Outcome::Proved);
    }
    Ok(match process.check() {
        Satisfiability::Satisfiable => Outcome::Proved,
        Satisfiability::Unsatisfiable => Outcome::Refuted(None),
        Satisfiability::Unknown => Outcome::Undecided,
    })
}

/// Returns the outcome of an obligation whose negation is satisfiable or not. If the solver gives
/// up, or finds a large counterexample, small groups are searched for a counterexample.
fn induction_outcome(
    result: Satisfiability,
    model: &Model,
    induction: &Induction<'_>,
    solver: &Solver,
) -> Result<Outcome, ProveError> {
    if result == Satisfiability::Unsatisfiable {
        return Ok(Outcome::Proved);
    }
    let found = counterexample::search(model, induction, solver, MAX_PROCESSES)?;
    Ok(match (result, found) {
        (_, Some(found)) => Outcome::Refuted(Some(Box::new(found))),
        (Satisfiability::Satisfiable, None) => Outcome::Refuted(None),
        (Satisfiability::Unknown | Satisfiability::Unsatisfiable, None) => Outcome::Undecided,
    })
}
