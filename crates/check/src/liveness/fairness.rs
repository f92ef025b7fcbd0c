//! Liveness: looks for conditions that can last forever although the environment is fair.
//!
//! Fairness is weak by default: a fair step that stays possible forever eventually happens. The
//! fair steps are deliveries, timers, exits, reports of the failure detector, and the passing of
//! time. Requests, faults and recoveries need not happen.
//!
//! A [`TransientCondition`] must not last forever. To find out whether it can, the global states in
//! which the condition is met are split into strongly connected components. A fair run can stay in
//! a component forever if each fair step has one of two properties: the step is taken inside the
//! component, or is impossible in some state of the component. A run also stays forever in a state
//! without any step.
//!
//! Under strong fairness, each fair step that is possible anywhere in a component must be taken
//! inside the component. If a fair step only leaves the component, the states in which this step is
//! possible are removed, and the rest is split again (the emptiness check of Streett automata).
//! Without fairness, a run may stop in any state.

use std::collections::{BTreeMap, VecDeque};

use crate::explore::parallel::map_in_parallel;
use crate::liveness::Fairness;
use crate::liveness::graph::{OUT_OF_BOUNDS, OutEdge, StateGraph};
use crate::model::protocol_model::NOT_FAIR_LABEL;
use crate::strong_components::{StrongComponent, StrongComponentSearch};
use crate::world::StateLayout;

/// A condition that must not last forever in a fair run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransientCondition {
    /// Marks of global states, as bits. The condition is met in each state that has any of these
    /// marks.
    pub(crate) marks: u32,
    /// True if a step interrupts the condition when it clears any of the `marks`. False if a step
    /// interrupts the condition only when it leaves none of the `marks` set.
    pub(crate) ends_with_any: bool,
}

impl TransientCondition {
    /// Creates a condition that is met in each state with any of these marks. A step interrupts the
    /// condition only if it leaves none of the marks set.
    pub(crate) const fn until_all_cleared(marks: u32) -> Self {
        TransientCondition { marks, ends_with_any: false }
    }

    /// Creates a condition that is met in each state with any of these marks. A step that clears
    /// one of the marks interrupts the condition, even if other marks stay set.
    pub(crate) const fn until_any_cleared(marks: u32) -> Self {
        TransientCondition { marks, ends_with_any: true }
    }

    /// Returns true if the search has expanded the global state `world`, and the condition is met
    /// in it. Returns false for a state that was not expanded: its steps are unknown, so the
    /// analysis ignores it.
    fn is_met(self, graph: &StateGraph, world: u32) -> bool {
        graph.marks(world) & self.marks != 0 && !graph.is_unexpanded(world)
    }

    /// Returns true if the condition stays met, without interruption, when this step is taken.
    fn continues(self, graph: &StateGraph, from: u32, step: OutEdge) -> bool {
        step.to != OUT_OF_BOUNDS
            && self.is_met(graph, step.to)
            && !self.is_interrupted(graph, from, step.to)
    }

    /// Returns true if a step between these global states clears a mark and thereby interrupts the
    /// condition.
    fn is_interrupted(self, graph: &StateGraph, from: u32, to: u32) -> bool {
        self.ends_with_any && graph.marks(from) & self.marks & !graph.marks(to) != 0
    }
}

/// Returns one condition for each process. The condition is met while the process waits to be
/// served. If `waits_for_information`, the condition is also met while the process waits to be
/// informed of a result.
pub(crate) fn waiting_conditions_by_process(
    layout: StateLayout,
    waits_for_information: bool,
) -> Vec<TransientCondition> {
    let wait = |process| {
        let uninformed = if waits_for_information { layout.uninformed_mask(process) } else { 0 };
        TransientCondition::until_all_cleared(layout.waiting_mask(process) | uninformed)
    };
    (0..layout.size).map(wait).collect()
}

/// Global states in which a condition can last forever.
#[derive(Debug, Default)]
pub(crate) struct LastingStates {
    /// Global states from which the condition lasts forever in every run, unless a further fault
    /// occurs. The set has one bit per state number.
    doomed: Vec<u64>,
    /// The first state in `doomed` whose next step the check does not prescribe. `None` if there is
    /// no such state.
    pub(crate) first_doomed: Option<u32>,
    /// States of the first component in which a fair run can stay forever while the condition is
    /// met. The list is sorted. `None` if there is no such component.
    pub(crate) cycle: Option<Vec<u32>>,
    /// First global state in which the condition is met. A run may stop in this state, because no
    /// fairness is assumed. `None` if fairness is assumed, or if there is no such state.
    pub(crate) stopped: Option<u32>,
}

impl LastingStates {
    /// Returns the state with the smallest number in [`Self::first_doomed`] and [`Self::cycle`].
    /// `None` if both are `None`.
    pub(crate) fn first(&self) -> Option<u32> {
        let cycle = self.cycle.iter().map(|cycle| cycle[0]);
        self.first_doomed.into_iter().chain(cycle).min()
    }

    fn is_doomed(&self, world: u32) -> bool {
        let word = self.doomed.get(world as usize / 64);
        word.is_some_and(|word| word >> (world % 64) & 1 != 0)
    }

    /// Adds `members` to `doomed`, and updates `first_doomed`. A state with a prescribed next step
    /// is never `first_doomed`, because the search has not explored its other steps.
    fn doom(&mut self, members: &[u32], graph: &StateGraph) {
        self.doomed.resize(graph.len().div_ceil(64), 0);
        for world in members {
            self.doomed[*world as usize / 64] |= 1 << (world % 64);
        }
        let free = members.iter().copied().filter(|world| !graph.has_forced_step(*world));
        self.first_doomed = free.chain(self.first_doomed).min();
    }
}

/// A violation of progress: a condition can last forever. Each condition has a number. For
/// conditions of processes, this is the index of the process. For a property written as an
/// expression, it is the index of a binding of its variables.
#[derive(Debug)]
pub(crate) enum ProgressViolation {
    /// In every run from the global state `world`, the `conditions` last forever, unless a further
    /// fault occurs.
    Doomed { conditions: Vec<u32>, world: u32 },
    /// The `condition` may last forever on a cycle through the global states `cycle`, although
    /// other steps would end it.
    Starving { condition: u32, cycle: Vec<u32> },
    /// If a run stops in the global state `world`, the `condition` lasts forever. Without fairness,
    /// a run may stop in any state. With fairness, this variant does not occur.
    Stopped { condition: u32, world: u32 },
}

/// Looks for conditions that may last forever. `waits` has one condition for each process, or for
/// each binding of a property written as an expression. Prefers [`ProgressViolation::Stopped`] to
/// [`ProgressViolation::Doomed`], and [`ProgressViolation::Doomed`] to
/// [`ProgressViolation::Starving`]. Among violations of one kind, returns the violation that is
/// closest to an initial state.
pub(crate) fn find_progress_violation(
    graph: &StateGraph,
    waits: &[TransientCondition],
    fairness: Fairness,
) -> Option<ProgressViolation> {
    let waits = map_in_parallel(graph.threads, waits, |_, wait| {
        find_lasting_states(graph, *wait, fairness)
    });
    let stopped = (0..).zip(&waits).filter_map(|(process, wait)| Some((wait.stopped?, process)));
    if let Some((world, process)) = stopped.min() {
        return Some(ProgressViolation::Stopped { condition: process, world });
    }
    if let Some(world) = waits.iter().filter_map(|wait| wait.first_doomed).min() {
        let doomed = (0..).zip(&waits).filter(|(_, wait)| wait.is_doomed(world));
        return Some(ProgressViolation::Doomed {
            conditions: doomed.map(|(process, _)| process).collect(),
            world,
        });
    }
    let cycles = (0..).zip(waits).filter_map(|(process, wait)| Some((process, wait.cycle?)));
    // Members are sorted, and states are numbered by level, so the first member is the shallowest.
    let (process, cycle) = cycles.min_by_key(|(process, cycle)| (cycle[0], *process))?;
    Some(ProgressViolation::Starving { condition: process, cycle })
}

/// Returns the global states in which a condition can last forever. If the analysis is stopped, the
/// result is incomplete and proves nothing.
///
/// Omits components in which a run can stay only by dropping messages forever, unless the condition
/// lasts forever in every run from there. In the model, a full link drops messages, but in a real
/// network the link would only delay them.
pub(crate) fn find_lasting_states(
    graph: &StateGraph,
    condition: TransientCondition,
    fairness: Fairness,
) -> LastingStates {
    let mut lasting = LastingStates::default();
    if fairness == Fairness::None {
        let can_stop =
            |world: &u32| condition.is_met(graph, *world) && !graph.has_forced_step(*world);
        lasting.stopped = (0..graph.len() as u32).find(can_stop);
        return lasting;
    }
    if graph.must_stop_analysis() || always_ends(graph, condition) {
        return lasting;
    }
    let is_met = |world: u32| condition.is_met(graph, world);
    let continues = |from: u32, step: OutEdge| condition.continues(graph, from, step);
    let mut escapes: Vec<bool> = Vec::new();
    StrongComponentSearch::new(graph, is_met, continues).visit_components(|part| {
        let escapes_here = part.members.iter().any(|world| {
            graph.steps(*world).iter().any(|step| {
                if !condition.continues(graph, *world, *step) {
                    return true;
                }
                let there = part.component_numbers[step.to as usize];
                there != part.number && escapes[there as usize]
            })
        });
        escapes.push(escapes_here);
        if !escapes_here {
            lasting.doom(part.members, graph);
        }
    });
    let mut cycle: Option<Vec<u32>> = None;
    let is_open = |world: u32| is_met(world) && !lasting.is_doomed(world);
    let stays = |from: u32, step: OutEdge| {
        !step.drops_message()
            && condition.continues(graph, from, step)
            && !lasting.is_doomed(step.to)
    };
    StrongComponentSearch::new(graph, is_open, &stays).visit_components(|part| {
        let first = part.members.iter().min();
        let is_earlier = cycle.as_ref().is_none_or(|cycle| first < cycle.first());
        if !is_earlier || !is_fair(graph, &part) {
            return;
        }
        let found = match fairness {
            Fairness::Strong => strongly_fair(graph, part.members, &stays),
            _ => Some(sorted(part.members)),
        };
        let is_earlier =
            |found: &Vec<u32>| cycle.as_ref().is_none_or(|cycle| found.first() < cycle.first());
        if let Some(found) = found.filter(is_earlier) {
            cycle = Some(found);
        }
    });
    LastingStates { cycle, ..lasting }
}

fn sorted(members: &[u32]) -> Vec<u32> {
    let mut members = members.to_vec();
    members.sort_unstable();
    members
}

/// Returns a set of states in which a strongly fair run can stay forever, as a sorted list. All
/// states of the set belong to `members`, and `stays` accepts the steps between them. If there are
/// several such sets, returns the set with the smallest first state. `None` if there is no such
/// set.
fn strongly_fair(
    graph: &StateGraph,
    members: &[u32],
    stays: &impl Fn(u32, OutEdge) -> bool,
) -> Option<Vec<u32>> {
    let mut found: Option<Vec<u32>> = None;
    let mut parts = vec![sorted(members)];
    while let Some(part) = parts.pop().filter(|_| !graph.must_stop_analysis()) {
        let is_inside = |world: u32| part.binary_search(&world).is_ok();
        let mut taken: BTreeMap<u32, bool> = BTreeMap::new();
        for world in &part {
            for step in
                graph.steps(*world).iter().filter(|step| step.fairness_label() != NOT_FAIR_LABEL)
            {
                let stays = step.to != OUT_OF_BOUNDS && stays(*world, *step) && is_inside(step.to);
                *taken.entry(step.fairness_label()).or_default() |= stays;
            }
        }
        if taken.values().all(|taken| *taken) {
            let is_earlier = found.as_ref().is_none_or(|found| part.first() < found.first());
            let stays_possible = part.len() > 1
                || graph.steps(part[0]).iter().any(|step| step.to == part[0])
                || taken.is_empty();
            if is_earlier && stays_possible {
                found = Some(part);
            }
            continue;
        }
        let leaves = |step: &OutEdge| {
            step.fairness_label() != NOT_FAIR_LABEL
                && taken.get(&step.fairness_label()) == Some(&false)
        };
        let is_kept = |world: u32| is_inside(world) && !graph.steps(world).iter().any(leaves);
        let stays = |from: u32, step: OutEdge| {
            step.to != OUT_OF_BOUNDS && stays(from, step) && is_kept(step.to)
        };
        let mut rest = Vec::new();
        StrongComponentSearch::new(graph, is_kept, stays)
            .visit_components(|inner| rest.push(sorted(inner.members)));
        parts.extend(rest);
    }
    found
}

/// Returns true if a cheap test shows that every fair run ends the condition. The test examines the
/// global states in which the condition is met. It succeeds if these states form no cycle, each of
/// them has a step that must be taken, and none of their steps drops a message. This case is
/// common, and the test is cheaper than the analysis of components.
fn always_ends(graph: &StateGraph, condition: TransientCondition) -> bool {
    const NOT_MET: u32 = u32::MAX;
    let worlds = 0..graph.len() as u32;
    let is_met = |world: u32| condition.is_met(graph, world);
    let mut ways_in: Vec<u32> =
        worlds.clone().map(|world| if is_met(world) { 0 } else { NOT_MET }).collect();
    // Reads `ways_in` and not the marks: it contains `NOT_MET` for each state in which the
    // condition is not met.
    let continues = |ways_in: &[u32], from: u32, step: &OutEdge| {
        ways_in.get(step.to as usize).is_some_and(|ways| *ways != NOT_MET)
            && !condition.is_interrupted(graph, from, step.to)
    };
    let mut left = 0;
    for world in worlds.clone().filter(|world| is_met(*world)) {
        left += 1;
        if graph.must_stop_analysis() {
            return true; // the result is not used
        }
        for step in graph.steps(world) {
            if step.drops_message() {
                return false; // not obvious
            }
            if continues(&ways_in, world, step) {
                ways_in[step.to as usize] += 1;
            }
        }
    }
    let mut queue: VecDeque<u32> = worlds.filter(|world| ways_in[*world as usize] == 0).collect();
    while let Some(world) = queue.pop_front() {
        left -= 1;
        if graph.must_stop_analysis() {
            return true;
        }
        let steps = graph.steps(world);
        if steps.iter().all(|step| step.label == NOT_FAIR_LABEL) {
            return false;
        }
        for step in steps {
            if continues(&ways_in, world, step) {
                let ways = &mut ways_in[step.to as usize];
                *ways -= 1;
                if *ways == 0 {
                    queue.push_back(step.to);
                }
            }
        }
    }
    left == 0
}

/// Returns true if a weakly fair run can stay in the component forever.
fn is_fair(graph: &StateGraph, part: &StrongComponent<'_>) -> bool {
    if let [world] = part.members {
        let steps = graph.steps(*world);
        let taken = |label| steps.iter().any(|step| step.label == label && step.to == *world);
        return steps
            .iter()
            .all(|step| step.fairness_label() == NOT_FAIR_LABEL || taken(step.fairness_label()));
    }
    let requirements = requirements(graph, part);
    requirements.values().all(|it| it.taken_inside || it.possible_at < part.members.len())
}

/// Facts about all steps in a component that have the same fairness label.
#[derive(Clone, Copy, Debug, Default)]
struct Requirement {
    /// True if a step with this fairness label leads to a state of the component, and drops no
    /// message.
    taken_inside: bool,
    /// Number of states of the component in which a step with the label is possible.
    possible_at: usize,
    /// Index, from 1, of the last state that was counted in `possible_at`. Prevents a state from
    /// being counted twice.
    last: usize,
}

/// Returns a [`Requirement`] for each fairness label of a step from the component. Labels of steps
/// that a fair run need not take are omitted.
fn requirements(graph: &StateGraph, part: &StrongComponent<'_>) -> BTreeMap<u32, Requirement> {
    let mut requirements: BTreeMap<u32, Requirement> = BTreeMap::new();
    for (turn, world) in (1..).zip(part.members).take_while(|_| !graph.must_stop_analysis()) {
        for step in
            graph.steps(*world).iter().filter(|step| step.fairness_label() != NOT_FAIR_LABEL)
        {
            let requirement = requirements.entry(step.fairness_label()).or_default();
            if requirement.last != turn {
                requirement.last = turn;
                requirement.possible_at += 1;
            }
            requirement.taken_inside |= part.contains(step.to) && !step.drops_message();
        }
    }
    requirements
}
