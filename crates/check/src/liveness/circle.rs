//! Once around a component, so that every step that fairness asks for is taken or is impossible
//! somewhere on the way.

use std::collections::{BTreeMap, VecDeque};

use crate::liveness::graph::{Arc, BEYOND, Graph};
use crate::model::processes::NOT_FAIR;

/// A closed walk from `entry` within the members: the steps, each with where it begins.
pub(crate) fn around(graph: &Graph, members: &[u32], entry: u32) -> Vec<(u32, Arc)> {
    let inside = |world: u32| members.binary_search(&world).is_ok();
    let mut steps: Vec<(u32, Arc)> = Vec::new();
    let mut here = entry;
    for label in labels(graph, members) {
        let settled = |world: u32| !has(graph, world, label);
        let on_the_way = steps.iter().any(|(from, step)| step.label == label || settled(*from));
        if on_the_way || settled(entry) {
            continue;
        }
        let found = walk(graph, here, &inside, |from, step| {
            step.label == label || settled(from) || step.to != BEYOND && settled(step.to)
        });
        here = found.last().map_or(here, |(_, step)| step.to);
        steps.extend(found);
    }
    if here != entry || steps.is_empty() {
        steps.extend(walk(graph, here, &inside, |_, step| step.to == entry));
    }
    steps
}

/// The fair labels of the members, in the order in which they are met.
fn labels(graph: &Graph, members: &[u32]) -> Vec<u32> {
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    for world in members {
        for step in graph.steps(*world).iter().filter(|step| step.name() != NOT_FAIR) {
            let next = seen.len();
            seen.entry(step.name()).or_insert(next);
        }
    }
    let mut labels: Vec<(usize, u32)> = seen.into_iter().map(|(label, at)| (at, label)).collect();
    labels.sort_unstable();
    labels.into_iter().map(|(_, label)| label).collect()
}

fn has(graph: &Graph, world: u32, label: u32) -> bool {
    graph.steps(world).iter().any(|step| step.name() == label)
}

/// The shortest walk inside that ends with a step as wanted; empty when there is none.
fn walk(
    graph: &Graph,
    from: u32,
    inside: &impl Fn(u32) -> bool,
    wanted: impl Fn(u32, Arc) -> bool,
) -> Vec<(u32, Arc)> {
    let mut came: BTreeMap<u32, (u32, Arc)> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(world) = queue.pop_front().filter(|_| !graph.is_stopped()) {
        for step in graph.steps(world) {
            if step.to == BEYOND || step.drops() || !inside(step.to) {
                continue;
            }
            if wanted(world, *step) {
                return path(&came, from, (world, *step));
            }
            if step.to != from && !came.contains_key(&step.to) {
                came.insert(step.to, (world, *step));
                queue.push_back(step.to);
            }
        }
    }
    Vec::new()
}

fn path(came: &BTreeMap<u32, (u32, Arc)>, from: u32, last: (u32, Arc)) -> Vec<(u32, Arc)> {
    let mut steps = vec![last];
    let mut here = last.0;
    while here != from {
        let step = came[&here];
        steps.push(step);
        here = step.0;
    }
    steps.reverse();
    steps
}
