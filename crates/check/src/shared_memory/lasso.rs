//! Infinite runs: a path to a state, and a fair cycle that begins and ends in this state.
//!
//! In each state, a process has exactly one next step. In its remainder section, a process does not
//! use the lock, and its next step is a request. Fairness does not demand requests. In any other
//! section, the next step stays possible until the process takes it. So weak and strong fairness
//! demand the same: a process outside its remainder section eventually takes its next step.

use tenure_core::shared_memory::LockSection;

use super::graph::{LockStateId, OUT_OF_BOUNDS, SharedMemoryGraph, SharedMemoryStep};
use crate::shortest_walk::shortest_walk;
use crate::strong_components::StrongComponentSearch;

/// Infinite run: a path to the state `entry`, and then the steps of `cycle` again and again.
#[derive(Clone, Debug)]
pub(crate) struct Lasso {
    pub(crate) entry: LockStateId,
    pub(crate) cycle: Vec<SharedMemoryStep>,
}

/// Returns a fair cycle through states that `belongs` accepts. `None` if there is no such cycle, or
/// if the analysis is stopped.
///
/// The cycle begins in a state that is as close to the initial state as possible. Among the fair
/// cycles that begin in this state, the returned cycle is a shortest cycle.
pub(crate) fn fair_lasso(
    graph: &SharedMemoryGraph,
    belongs: impl Fn(LockStateId) -> bool,
) -> Option<Lasso> {
    let mut all: Vec<Vec<LockStateId>> = Vec::new();
    let stays = |_, to: LockStateId| to != OUT_OF_BOUNDS && belongs(to);
    StrongComponentSearch::new(graph, &belongs, stays).visit_components(|component| {
        let mut members = component.members.to_vec();
        members.sort_unstable();
        all.push(members);
    });
    let examined = all.iter().take_while(|_| !graph.must_stop_analysis());
    let members = examined.filter(|members| is_fair(graph, members)).min_by_key(|it| it[0])?;
    let entry = members[0];
    let cycle = fair_cycle(graph, members, entry)?;
    Some(Lasso { entry, cycle })
}

/// Returns the steps that lead from `state` to states in `members`. `members` are the states of one
/// component.
fn inner_steps<'g>(
    graph: &'g SharedMemoryGraph,
    members: &'g [LockStateId],
    state: LockStateId,
) -> impl Iterator<Item = &'g SharedMemoryStep> {
    graph.steps(state).filter(|edge| members.binary_search(&edge.to).is_ok())
}

/// Returns true if a fair run can stay in the component of `members` for ever. Returns false if the
/// analysis is stopped.
fn is_fair(graph: &SharedMemoryGraph, members: &[LockStateId]) -> bool {
    let examined = members.iter().take_while(|_| !graph.must_stop_analysis());
    let settled = examined.fold(0, |settled, state| {
        let steps = inner_steps(graph, members, *state);
        steps.fold(settled | idle(graph, *state), |settled, edge| settled | bit(edge))
    });
    let mut steps = members.iter().flat_map(|state| inner_steps(graph, members, *state));
    steps.next().is_some() && settled == all_processes(graph)
}

/// Returns a shortest fair cycle that begins in `entry` and contains only states in `members`. In a
/// fair cycle, each process takes a step, or is in its remainder section in some state. Returns
/// `None` if the component is not fair, or if the analysis is stopped.
fn fair_cycle(
    graph: &SharedMemoryGraph,
    members: &[LockStateId],
    entry: LockStateId,
) -> Option<Vec<SharedMemoryStep>> {
    let steps = |(state, settled): (LockStateId, u64)| {
        let next =
            move |edge: &SharedMemoryStep| (edge.to, settled | bit(edge) | idle(graph, edge.to));
        (!graph.must_stop_analysis())
            .then(|| inner_steps(graph, members, state).map(move |edge| (edge, Some(next(edge)))))
    };
    let goal = Some((entry, all_processes(graph)));
    let walk = shortest_walk((entry, idle(graph, entry)), steps, |_, next| next == goal)?;
    Some(walk.into_iter().cloned().collect())
}

/// Returns the set of the processes that are in their remainder section, as bits.
fn idle(graph: &SharedMemoryGraph, state: LockStateId) -> u64 {
    let idle = graph.processes_in_section(state, |section| section == LockSection::Remainder);
    idle.iter().fold(0, |set, process| set | 1 << process.0)
}

/// Returns the bit of the process that takes a step.
fn bit(edge: &SharedMemoryStep) -> u64 {
    1 << edge.process.0
}

fn all_processes(graph: &SharedMemoryGraph) -> u64 {
    (1 << graph.size) - 1
}
