//! Conjuncts that an invariant does not need.

use crate::error::ProveError;
use crate::model::{Conjunct, Model};
use crate::obligations::counterexample::Counterexample;
use crate::obligations::parallel::for_each_index;
use crate::obligations::proof::{Extent, decide};
use crate::obligations::report::Outcome;
use crate::obligations::search::search_quickly;
use crate::solver::Solver;

/// Result of the proof without one conjunct.
#[derive(Clone, Debug)]
pub enum Need {
    /// Without the conjunct the invariant is not inductive. The counterexample is `None` if it is
    /// too large to show.
    Needed(Option<Box<Counterexample>>),
    /// The other conjuncts are inductive without it. Another conjunct may be needed instead, so
    /// two redundant conjuncts need not be redundant together.
    Redundant,
    /// The solver did not decide an obligation within its time limit.
    Undecided,
}

impl Need {
    /// Returns the result in a word: `needed`, `redundant` or `undecided`.
    pub fn name(&self) -> &'static str {
        match self {
            Need::Needed(_) => "needed",
            Need::Redundant => "redundant",
            Need::Undecided => "undecided",
        }
    }
}

impl Model {
    /// Returns the model without one conjunct of its invariant. `None` if no conjunct has this
    /// name, or if it is the property, which is the conjunct to prove.
    pub fn without(&self, conjunct: &str) -> Option<Model> {
        let index = self.invariant.iter().position(|it| it.name == conjunct)?;
        if index == 0 {
            return None;
        }
        let mut rest = self.clone();
        rest.invariant.remove(index);
        Some(rest)
    }

    /// Returns the conjuncts that strengthen the property: all but the first.
    pub fn strengthening(&self) -> &[Conjunct] {
        self.invariant.get(1..).unwrap_or_default()
    }
}

/// Decides for each conjunct but the property whether the proof of a proved model needs it.
///
/// # Errors
///
/// Returns an error if the solver cannot be started.
pub fn needs(model: &Model, solver: &Solver) -> Result<Vec<(&'static str, Need)>, ProveError> {
    let names: Vec<&str> = model.strengthening().iter().map(|conjunct| conjunct.name).collect();
    let needs = for_each_index(names.len(), |index| {
        model.without(names[index]).map_or(Ok(Need::Redundant), |rest| need(&rest, solver))
    })?;
    let conjuncts = model.strengthening().iter();
    Ok(conjuncts.map(|conjunct| conjunct.name).zip(needs).collect())
}

/// Decides whether the rest of an invariant is inductive. It holds in the initial states.
fn need(rest: &Model, solver: &Solver) -> Result<Need, ProveError> {
    let actions = rest.all_actions();
    for action in &actions {
        if let Some(found) = search_quickly(rest, Some(action), solver)? {
            return Ok(Need::Needed(Some(Box::new(found))));
        }
    }
    let mut is_undecided = false;
    for action in &actions {
        for decision in decide(rest, Some(action), solver, Extent::UntilOpen)? {
            match decision.outcome {
                Outcome::Proved => {}
                Outcome::Refuted(found) => return Ok(Need::Needed(found)),
                Outcome::Undecided => is_undecided = true,
            }
        }
    }
    Ok(if is_undecided { Need::Undecided } else { Need::Redundant })
}
