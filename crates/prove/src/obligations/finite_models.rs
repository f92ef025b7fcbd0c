//! Search for counterexamples in groups of fixed sizes.

use crate::logic::smt::constant_declaration;
use crate::logic::sort::Sort;
use crate::logic::term::{TermOperations, disjunction, for_all};
use crate::logic::variable::Variable;
use crate::model::Model;
use crate::model::action::Action;
use crate::obligations::counterexample::{CounterexampleToInduction, InductionQuery, decode};
use crate::solver::process::{Satisfiability, SolverGoal};
use crate::solver::solver_model::SolverModel;
use crate::solver::{FIRST_TIMEOUT, Solver};
use crate::solver_error::SolverError;

/// Greatest number of processes in a counterexample.
pub(super) const MAX_COUNTEREXAMPLE_PROCESSES: u32 = 4;

/// Greatest number of quorums in a counterexample.
const MAX_QUORUMS: u32 = 2;

/// Number of processes in the largest group of a quick search.
const SMALL_GROUP: u32 = 2;

/// Size of a group: its numbers of processes and of quorums.
#[derive(Clone, Copy)]
struct GroupSize {
    processes: u32,
    quorums: u32,
}

impl GroupSize {
    fn by_sort(self) -> [(Sort, u32); 2] {
        [(Sort::Process, self.processes), (Sort::Quorum, self.quorums)]
    }
}

/// Sizes of groups for which the solver has not yet decided whether a counterexample exists.
pub(super) struct UndecidedGroups(Vec<GroupSize>);

impl UndecidedGroups {
    /// Returns the sizes of all groups of up to `max_processes` processes.
    pub(super) fn up_to(max_processes: u32, model: &Model) -> Self {
        let has_quorums = model.uninterpreted_sorts().contains(&Sort::Quorum);
        let quorums = if has_quorums { 1..=MAX_QUORUMS } else { 0..=0 };
        let sizes =
            |processes| quorums.clone().map(move |quorums| GroupSize { processes, quorums });
        UndecidedGroups((1..=max_processes).flat_map(sizes).collect())
    }

    /// Searches the groups in `self` for a counterexample, and stops at the first one. If the
    /// result is `Ok(None)`, `self` afterwards contains only the groups that the solver did not
    /// decide. Otherwise `self` is empty afterwards.
    pub(super) fn find_counterexample(
        &mut self,
        model: &Model,
        induction: &InductionQuery<'_>,
        solver: &Solver,
    ) -> Result<Option<CounterexampleToInduction>, SolverError> {
        let mut undecided = Vec::new();
        for size in std::mem::take(&mut self.0) {
            match search_group(model, induction, solver, size)? {
                (_, Some(found)) => return Ok(Some(found)),
                (Satisfiability::Unknown, None) => undecided.push(size),
                (Satisfiability::Satisfiable | Satisfiability::Unsatisfiable, None) => {}
            }
        }
        self.0 = undecided;
        Ok(None)
    }
}

/// Searches groups of one to `max_processes` processes for a counterexample, or for a state in
/// which an action is possible. Returns `None` if the search finds neither.
///
/// First, each group is searched with a short time limit. Then the undecided groups are searched
/// with the whole time limit, because a large group may be easier than a small one.
pub(super) fn find_counterexample(
    model: &Model,
    induction: &InductionQuery<'_>,
    solver: &Solver,
    max_processes: u32,
) -> Result<Option<CounterexampleToInduction>, SolverError> {
    let mut groups = UndecidedGroups::up_to(max_processes, model);
    for limit in solver.attempt_timeouts() {
        let solver = solver.clone().with_query_timeout(limit);
        if let Some(found) = groups.find_counterexample(model, induction, &solver)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Searches small groups for a step after which any conjunct is violated, or for such an initial
/// state if `action` is `None`. The search may find nothing although there is such a step, because
/// each query gets at most [`FIRST_TIMEOUT`].
pub(crate) fn find_counterexample_quickly(
    model: &Model,
    action: Option<&Action>,
    solver: &Solver,
) -> Result<Option<CounterexampleToInduction>, SolverError> {
    let induction = InductionQuery::new(model, action).violating_any(model);
    let limit = FIRST_TIMEOUT.min(solver.query_timeout);
    let solver = solver.clone().with_query_timeout(limit);
    find_counterexample(model, &induction, &solver, SMALL_GROUP)
}

/// Searches groups of one size for a counterexample. Returns the result of the solver and the
/// counterexample. If the solver finds no counterexample, or if the model of the solver cannot be
/// decoded, the second value is `None`.
fn search_group(
    model: &Model,
    induction: &InductionQuery<'_>,
    solver: &Solver,
    size: GroupSize,
) -> Result<(Satisfiability, Option<CounterexampleToInduction>), SolverError> {
    let mut process = induction.start_solver(model, solver, SolverGoal::Example)?;
    let sorts = model.uninterpreted_sorts();
    let sizes = size.by_sort();
    for (sort, size) in sizes.into_iter().filter(|(sort, _)| sorts.contains(sort)) {
        let elements: Vec<Variable> =
            (0..size).map(|index| element_variable(sort, index)).collect();
        elements.iter().for_each(|element| process.send(&constant_declaration(*element)));
        for (index, one) in elements.iter().enumerate() {
            for other in &elements[..index] {
                process.assert(&one.differs(*other));
            }
        }
        let one = Variable::new("any", sort);
        let is_known = disjunction(elements.iter().map(|element| one.equals(*element)));
        process.assert(&for_all([one], is_known));
    }
    process.assert(&induction.violation());
    let result = process.check();
    if result != Satisfiability::Satisfiable {
        return Ok((result, None));
    }
    let text = process.model_text().unwrap_or_default();
    let found = SolverModel::parse(&text);
    Ok((result, found.and_then(|found| decode(model, induction, sizes, &found))))
}

/// Returns a variable that represents one element of the sort `sort`. `index` is the index of the
/// element, from 0. The solver declares the variable as a constant.
pub(super) fn element_variable(sort: Sort, index: u32) -> Variable {
    Variable::new(if sort == Sort::Quorum { "quorum" } else { "process" }, sort)
        .with_rename_index(index + 1)
}
