//! Fair cycles: closed walks through a component that a fair run can repeat forever.

use std::collections::{BTreeMap, VecDeque};

use crate::liveness::Fairness;
use crate::liveness::graph::{Graph, OUT_OF_BOUNDS, OutEdge};
use crate::model::processes::NOT_FAIR;

/// Returns a closed walk from `entry` within the members: the steps, each with the world in which
/// it starts. Each fair step is taken on the walk, or is impossible in some world of it.
///
/// Under strong fairness the walk takes every fair step that is possible in a member.
pub(crate) fn fair_cycle(
    graph: &Graph,
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

/// Returns the fairness labels of steps in the members, without those that need not be taken. They
/// are in the order of their first occurrence.
fn labels(graph: &Graph, members: &[u32]) -> Vec<u32> {
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    for world in members {
        for step in graph.steps(*world).iter().filter(|step| step.fair_label() != NOT_FAIR) {
            let next = seen.len();
            seen.entry(step.fair_label()).or_insert(next);
        }
    }
    let mut labels: Vec<(usize, u32)> = seen.into_iter().map(|(label, at)| (at, label)).collect();
    labels.sort_unstable();
    labels.into_iter().map(|(_, label)| label).collect()
}

fn has(graph: &Graph, world: u32, label: u32) -> bool {
    graph.steps(world).iter().any(|step| step.fair_label() == label)
}

/// Returns the steps of a shortest walk within the component whose last step satisfies `wanted`.
/// The result is empty if there is no such walk, or if the analysis was stopped.
fn walk(
    graph: &Graph,
    from: u32,
    inside: &impl Fn(u32) -> bool,
    wanted: impl Fn(u32, OutEdge) -> bool,
) -> Vec<(u32, OutEdge)> {
    let mut predecessors: BTreeMap<u32, (u32, OutEdge)> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(world) = queue.pop_front().filter(|_| !graph.is_stopped()) {
        for step in graph.steps(world) {
            if step.to == OUT_OF_BOUNDS || step.drops() || !inside(step.to) {
                continue;
            }
            if wanted(world, *step) {
                return path(&predecessors, from, (world, *step));
            }
            if step.to != from && !predecessors.contains_key(&step.to) {
                predecessors.insert(step.to, (world, *step));
                queue.push_back(step.to);
            }
        }
    }
    Vec::new()
}

fn path(
    predecessors: &BTreeMap<u32, (u32, OutEdge)>,
    from: u32,
    last: (u32, OutEdge),
) -> Vec<(u32, OutEdge)> {
    let mut steps = vec![last];
    let mut here = last.0;
    while here != from {
        let step = predecessors[&here];
        steps.push(step);
        here = step.0;
    }
    steps.reverse();
    steps
}
