//! Conjuncts that an invariant does not need.

use crate::model::{Conjunct, Model};
use crate::obligations::counterexample::CounterexampleToInduction;
use crate::obligations::finite_models::find_counterexample_quickly;
use crate::obligations::parallel::parallel_map;
use crate::obligations::proof::{ObligationSelection, decide_obligations};
use crate::obligations::report::ObligationOutcome;
use crate::solver::Solver;
use crate::solver_error::SolverError;

/// Result of an attempt to prove a model without one conjunct of its invariant.
#[derive(Clone, Debug)]
pub enum ConjunctRedundancy {
    /// Without the conjunct, the invariant is not inductive. The counterexample is `None` if the
    /// search in small groups found none in time.
    Needed(Option<Box<CounterexampleToInduction>>),
    /// Without this conjunct, the invariant is still inductive. If two conjuncts are redundant, the
    /// proof may still fail when both are left out.
    Redundant,
    /// The solver did not decide an obligation within its time limit.
    Undecided,
}

impl ConjunctRedundancy {
    /// Returns the result in a word: `needed`, `redundant` or `undecided`.
    pub fn name(&self) -> &'static str {
        match self {
            ConjunctRedundancy::Needed(_) => "needed",
            ConjunctRedundancy::Redundant => "redundant",
            ConjunctRedundancy::Undecided => "undecided",
        }
    }
}

impl Model {
    /// Returns the model without the conjunct `conjunct` of its invariant. Returns `None` if there
    /// is no such conjunct, or if `conjunct` is the property to prove.
    pub fn without_conjunct(&self, conjunct: &str) -> Option<Model> {
        let index = self.invariant.iter().position(|it| it.name == conjunct)?;
        if index == 0 {
            return None;
        }
        let mut rest = self.clone();
        rest.invariant.remove(index);
        Some(rest)
    }

    /// Returns the conjuncts that strengthen the property: all but the first.
    pub fn strengthening_conjuncts(&self) -> &[Conjunct] {
        self.invariant.get(1..).unwrap_or_default()
    }
}

/// Decides for each conjunct of a proved model, except the property, whether the proof needs the
/// conjunct.
///
/// # Errors
///
/// Returns an error if the solver cannot be started.
pub fn check_conjunct_redundancy(
    model: &Model,
    solver: &Solver,
) -> Result<Vec<(&'static str, ConjunctRedundancy)>, SolverError> {
    let names: Vec<&str> =
        model.strengthening_conjuncts().iter().map(|conjunct| conjunct.name).collect();
    let needs = parallel_map(names.len(), |index| {
        model
            .without_conjunct(names[index])
            .map_or(Ok(ConjunctRedundancy::Redundant), |rest| assess_conjunct(&rest, solver))
    })?;
    let conjuncts = model.strengthening_conjuncts().iter();
    Ok(conjuncts.map(|conjunct| conjunct.name).zip(needs).collect())
}

/// Decides whether the invariant of a proved model is still inductive without one conjunct. `rest`
/// is the model without this conjunct. Checks only the actions, because the initial states satisfy
/// all conjuncts.
fn assess_conjunct(rest: &Model, solver: &Solver) -> Result<ConjunctRedundancy, SolverError> {
    let actions = rest.actions_with_message_loss();
    for action in &actions {
        if let Some(found) = find_counterexample_quickly(rest, Some(action), solver)? {
            return Ok(ConjunctRedundancy::Needed(Some(Box::new(found))));
        }
    }
    let mut is_undecided = false;
    for action in &actions {
        for decision in
            decide_obligations(rest, Some(action), solver, ObligationSelection::UntilOpen)?
        {
            match decision.outcome {
                ObligationOutcome::Proved => {}
                ObligationOutcome::Refuted(found) => return Ok(ConjunctRedundancy::Needed(found)),
                ObligationOutcome::Undecided => is_undecided = true,
            }
        }
    }
    Ok(if is_undecided { ConjunctRedundancy::Undecided } else { ConjunctRedundancy::Redundant })
}
