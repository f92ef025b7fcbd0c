//! Fair cycles: closed walks through a component that a fair run can repeat forever.

use std::collections::BTreeMap;

use crate::liveness::Fairness;
use crate::liveness::graph::{OUT_OF_BOUNDS, OutEdge, StateGraph};
use crate::model::protocol_model::NOT_FAIR_LABEL;
use crate::shortest_walk::shortest_walk;

/// Returns a cycle that a fair run can repeat forever. The cycle begins and ends in `entry`, and
/// contains only states in the sorted list `members`. The result is the list of the steps of the
/// cycle, each with the global state in which the step starts. The list is empty if there is no
/// such cycle, and may be incomplete if the analysis is stopped.
///
/// Fairness treats all steps with the same fairness label as one. Weak fairness requires one of two
/// things for each label: the cycle contains a step with this label, or a state in which no such
/// step is possible. Strong fairness requires that the cycle contains a step with each label that a
/// step from a state in `members` has.
pub(crate) fn fair_cycle(
    graph: &StateGraph,
    members: &[u32],
    entry: u32,
    fairness: Fairness,
) -> Vec<(u32, OutEdge)> {
    let inside = |world: u32| members.binary_search(&world).is_ok();
    let mut steps: Vec<(u32, OutEdge)> = Vec::new();
    let mut here = entry;
    for label in labels(graph, members) {
        let is_weak = fairness != Fairness::Strong;
        let settled = |world: u32| is_weak && !has(graph, world, label);
        let on_the_way = steps.iter().any(|(from, step)| step.label == label || settled(*from));
        if on_the_way || settled(entry) {
            continue;
        }
        let found = walk(graph, here, &inside, |from, step| {
            step.label == label || settled(from) || step.to != OUT_OF_BOUNDS && settled(step.to)
        });
        here = found.last().map_or(here, |(_, step)| step.to);
        steps.extend(found);
    }
    if here != entry || steps.is_empty() {
        steps.extend(walk(graph, here, &inside, |_, step| step.to == entry));
    }
    steps
}

/// Returns the fairness labels of all steps that start in a state in `members`. The labels are in
/// the order of their first occurrence. Labels of steps that need not be taken are omitted.
fn labels(graph: &StateGraph, members: &[u32]) -> Vec<u32> {
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    for world in members {
        for step in
            graph.steps(*world).iter().filter(|step| step.fairness_label() != NOT_FAIR_LABEL)
        {
            let next = seen.len();
            seen.entry(step.fairness_label()).or_insert(next);
        }
    }
    let mut labels: Vec<(usize, u32)> = seen.into_iter().map(|(label, at)| (at, label)).collect();
    labels.sort_unstable();
    labels.into_iter().map(|(_, label)| label).collect()
}

fn has(graph: &StateGraph, world: u32, label: u32) -> bool {
    graph.steps(world).iter().any(|step| step.fairness_label() == label)
}

/// Returns the steps of a shortest walk that stays within the component and ends with a step that
/// satisfies `wanted`. The result is empty if there is no such walk, or if the analysis was
/// stopped.
fn walk(
    graph: &StateGraph,
    from: u32,
    inside: &impl Fn(u32) -> bool,
    wanted: impl Fn(u32, OutEdge) -> bool,
) -> Vec<(u32, OutEdge)> {
    let steps = |world| {
        let stays = move |step: &&OutEdge| {
            step.to != OUT_OF_BOUNDS && !step.drops_message() && inside(step.to)
        };
        let steps = graph.steps(world).iter().filter(stays);
        let steps = steps.map(move |step| ((world, *step), Some(step.to)));
        (!graph.must_stop_analysis()).then_some(steps)
    };
    shortest_walk(from, steps, |(from, step), _| wanted(*from, *step)).unwrap_or_default()
}
