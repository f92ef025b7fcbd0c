//! Proof of a model by induction.

use std::time::Instant;

use crate::model::Model;
use crate::model::action::Action;
use crate::obligations::counterexample::Induction;
use crate::obligations::parallel::for_each_index;
use crate::obligations::report::{Decision, Obligation, Outcome, ProofReport};
use crate::obligations::search::{MAX_PROCESSES, OpenGroups, search};
use crate::solver::Solver;
use crate::solver::process::{Goal, Satisfiability, SolverProcess};
use crate::solver_error::SolverError;

/// Decides all obligations of a model: that the initial states satisfy the invariant, and that
/// every action preserves it.
///
/// Both are decided for any number of processes. Each action has a solver process of its own, and
/// these processes run in parallel.
///
/// # Errors
///
/// Returns an error if the solver cannot be started.
pub fn prove(model: &Model, solver: &Solver) -> Result<ProofReport, SolverError> {
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

/// Whether all obligations are decided, or only those up to the first open one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// The obligations up to the first one that is refuted or undecided.
    UntilOpen,
}

pub(crate) fn decide(
    model: &Model,
    action: Option<&Action>,
    solver: &Solver,
    extent: Extent,
) -> Result<Vec<Decision>, SolverError> {
    let induction = Induction::of(model, action);
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
        let induction = induction.clone().violating(conjunct);
        // An action that does not concern a conjunct preserves it.
        let outcome = match induction.is_unaffected() {
            true => Outcome::Proved,
            false => induction_outcome(&mut process, model, &induction, solver)?,
        };
        decisions.push(Decision { obligation, outcome });
    }
    Ok(decisions)
}

/// Decides the obligation that an initial state exists, or that the action is possible in some
/// state that satisfies the invariant. Searches small groups first.
fn existence_outcome(
    process: &mut SolverProcess,
    model: &Model,
    induction: &Induction<'_>,
    solver: &Solver,
) -> Result<Outcome, SolverError> {
    if search(model, induction, solver, MAX_PROCESSES)?.is_some() {
        return Ok(Outcome::Proved);
    }
    Ok(match process.check() {
        Satisfiability::Satisfiable => Outcome::Proved,
        Satisfiability::Unsatisfiable => Outcome::Refuted(None),
        Satisfiability::Unknown => Outcome::Undecided,
    })
}

/// Returns the outcome of an obligation of an action or of the initial states.
///
/// A solver seldom finds a counterexample if the size of the group is open, but often finds one
/// soon if the size is fixed. Therefore the solver first gets a short time limit, and then small
/// groups are searched. Only an obligation that is still undecided gets the whole time limit.
fn induction_outcome(
    process: &mut SolverProcess,
    model: &Model,
    induction: &Induction<'_>,
    solver: &Solver,
) -> Result<Outcome, SolverError> {
    let mut groups = OpenGroups::up_to(MAX_PROCESSES, model);
    for limit in solver.query_timeouts() {
        process.limit(limit);
        let result = process.check_with(&induction.violation());
        if result == Satisfiability::Unsatisfiable {
            return Ok(Outcome::Proved);
        }
        let solver = solver.clone().with_query_timeout(limit);
        let found = groups.search(model, induction, &solver)?;
        if found.is_some() || result == Satisfiability::Satisfiable {
            return Ok(Outcome::Refuted(found.map(Box::new)));
        }
    }
    Ok(Outcome::Undecided)
}
