//! Safety properties of pairs of processes. A small automaton judges a property while it follows
//! the steps of the graph.

use tenure_core::ProcessId;
use tenure_core::shared_memory::LockSection;

use super::graph::{LockStateId, SharedMemoryGraph, SharedMemoryStep};
use crate::shortest_walk::shortest_walk;

/// Two processes: one that waits, and a rival that may enter before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RivalPair {
    pub(crate) waiter: ProcessId,
    pub(crate) rival: ProcessId,
}

/// Returns all ordered pairs of different processes.
pub(crate) fn rival_pairs(graph: &SharedMemoryGraph) -> impl Iterator<Item = RivalPair> {
    let of = |waiter| {
        let rivals = graph.processes().filter(move |rival| *rival != waiter);
        rivals.map(move |rival| RivalPair { waiter, rival })
    };
    graph.processes().flat_map(of)
}

/// Returns a shortest run that an automaton rejects. `None` if there is no such run, or if the
/// analysis is stopped.
///
/// The automaton is the function `next`, and begins in its state 0. The arguments of `next` are the
/// state of the automaton, the state of the graph before a step, and the step. The function returns
/// the next state of the automaton, or `None` if the step is a violation.
pub(crate) fn shortest_rejected_run(
    graph: &SharedMemoryGraph,
    next: impl Fn(u32, LockStateId, &SharedMemoryStep) -> Option<u32>,
) -> Option<Vec<SharedMemoryStep>> {
    let next = &next;
    let steps = |(state, value): (LockStateId, u32)| {
        let after =
            move |edge: &SharedMemoryStep| next(value, state, edge).map(|after| (edge.to, after));
        (!graph.must_stop_analysis())
            .then(|| graph.steps(state).map(move |edge| (edge, after(edge))))
    };
    let run = shortest_walk((0, 0), steps, |_, after| after.is_none())?;
    Some(run.into_iter().cloned().collect())
}

/// Returns a shortest run in which the rival enters more than `most` times while the waiter waits.
/// The wait begins when the waiter has left its doorway, the first part of its entry code.
pub(crate) fn find_overtaking(
    graph: &SharedMemoryGraph,
    pair: RivalPair,
    most: u32,
) -> Option<Vec<SharedMemoryStep>> {
    let waits = |state| graph.section(state, pair.waiter) == LockSection::Waiting;
    shortest_rejected_run(graph, |count, before, edge| {
        let count = if edge.enters && edge.process == pair.rival && waits(before) {
            count + 1
        } else {
            count
        };
        if count > most {
            return None;
        }
        Some(if waits(edge.to) { count } else { 0 })
    })
}

/// Returns a shortest run in which the waiter leaves its doorway, then the rival requests, and then
/// the rival enters before the waiter.
pub(crate) fn find_order_violation(
    graph: &SharedMemoryGraph,
    pair: RivalPair,
) -> Option<Vec<SharedMemoryStep>> {
    const IS_LATER: u32 = 1;
    let waits = |state| graph.section(state, pair.waiter) == LockSection::Waiting;
    shortest_rejected_run(graph, |was_later, before, edge| {
        let requests = edge.process == pair.rival
            && graph.section(before, pair.rival) == LockSection::Remainder
            && waits(before);
        let later = if requests { IS_LATER } else { was_later };
        if later == IS_LATER && edge.process == pair.rival && edge.enters {
            return None;
        }
        Some(if waits(edge.to) { later } else { 0 })
    })
}
