//! Heaviest and lightest paths through the state graph of a measurement. The labels of its steps
//! contain weights: the numbers that the steps add to the measure.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::liveness::graph::{OUT_OF_BOUNDS, OutEdge, StateGraph};
use crate::measure::weights::{is_fault_label, weight_of_label};
use crate::strong_components::{StrongComponent, StrongComponentSearch};

/// Bit in the marks that the search stores with a global state. It is set if no user can issue a
/// command, and no user waits.
pub(crate) const SERVED_BIT: u32 = 1;

/// Packs the measured value of a global state and the [`SERVED_BIT`] bit into the marks of the
/// state.
pub(crate) fn pack_measured_marks(value: u32, is_served: bool) -> u32 {
    value << 1 | if is_served { SERVED_BIT } else { 0 }
}

/// Marks a global state without a predecessor: no path has reached the state, or a path begins in
/// the state.
const NONE: u32 = u32::MAX;

/// A step of a path: the global state in which the step starts, and the step.
pub(super) type MeasuredStep = (u32, OutEdge);

/// A path through the state graph: the number of its first global state, and its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MeasuredPath {
    pub(super) first: u32,
    pub(super) steps: Vec<MeasuredStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MaximumTotal {
    /// Greatest total of the measure over all runs, and a path with this total.
    Total(u32, MeasuredPath),
    /// The totals have no bound. These steps form a cycle that a run can repeat forever. The first
    /// step increases the total.
    Unbounded(Vec<MeasuredStep>),
}

/// Run with the least value among the runs that serve all users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MinimumRun {
    pub(super) value: u32,
    pub(super) path: MeasuredPath,
    /// True if no step except a fault is possible at the end of the run.
    pub(super) is_quiescent: bool,
}

/// Analysis of the state graph of a measurement. `first` contains the number of each initial global
/// state with its weight: the amount that the boots of the processes add to the measure.
pub(super) struct MeasureAnalysis<'g> {
    pub(super) graph: &'g StateGraph,
    pub(super) first: &'g [(u32, u32)],
}

impl MeasureAnalysis<'_> {
    /// Returns the greatest total over all runs from the initial global states.
    pub(super) fn greatest_total(&self) -> MaximumTotal {
        let (values, repeated) = self.totals();
        if let Some((from, step)) = repeated {
            return MaximumTotal::Unbounded(self.cycle(from, step));
        }
        let total = |(first, boot): &(u32, u32)| values[*first as usize] + boot;
        let most = self.first.iter().map(total).max().unwrap_or(0);
        let first = self.first.iter().filter(|begin| total(begin) == most);
        let path = self.tight_path(&values, first.map(|(first, _)| *first));
        MaximumTotal::Total(most, path)
    }

    /// Returns, for each global state, the greatest total of a path from this state. If a run can
    /// repeat a counted step without end, also returns the first such step. The totals are then
    /// meaningless.
    fn totals(&self) -> (Vec<u32>, Option<MeasuredStep>) {
        let mut values = vec![0u32; self.graph.len()];
        let mut repeated: Option<MeasuredStep> = None;
        let stays = |_, step: OutEdge| step.to != OUT_OF_BOUNDS;
        StrongComponentSearch::new(self.graph, |_| true, stays).visit_components(
            |component: StrongComponent<'_>| {
                let mut most = 0;
                for from in component.members {
                    for step in self.steps(*from) {
                        let weight = weight_of_label(step.label);
                        if !component.contains(step.to) {
                            most = most.max(weight + values[step.to as usize]);
                        } else if weight > 0 && repeated.is_none_or(|(first, _)| *from < first) {
                            repeated = Some((*from, *step));
                        }
                    }
                }
                for member in component.members {
                    values[*member as usize] = most;
                }
            },
        );
        (values, repeated)
    }

    fn steps(&self, from: u32) -> impl Iterator<Item = &OutEdge> {
        self.graph.steps(from).iter().filter(|step| step.to != OUT_OF_BOUNDS)
    }

    /// Returns the steps of a shortest cycle that begins with the step `step` from the global state
    /// `from`.
    fn cycle(&self, from: u32, step: OutEdge) -> Vec<MeasuredStep> {
        let mut steps = vec![(from, step)];
        if step.to != from {
            let found = self.shortest(std::iter::once(step.to), |_, _| true, |world| world == from);
            steps.extend(found.map(|path| path.steps).unwrap_or_default());
        }
        steps
    }

    /// Returns a path with the greatest total weight among the paths from the global states in
    /// `first`. Among paths of equal weight, prefers a path to a state in which a run can end and
    /// all users are served. If there is none, prefers a path to a state in which a run can end. If
    /// there is none either, prefers a path to a state in which all users are served. Among the
    /// preferred paths, returns a shortest one. `values` contains, for each state, the greatest
    /// total weight of a path from this state.
    fn tight_path(&self, values: &[u32], first: impl Iterator<Item = u32> + Clone) -> MeasuredPath {
        let value = |world: u32| values[world as usize];
        let is_tight = |from: u32, step: &OutEdge| {
            let rest = weight_of_label(step.label) + value(step.to);
            value(from) == rest && (value(from) > 0 || !is_fault_label(step.label))
        };
        let is_served = |world| value(world) == 0 && self.is_served(world);
        self.shortest(first.clone(), is_tight, |world| is_served(world) && self.is_end(world))
            .or_else(|| {
                let ends = |world| value(world) == 0 && self.is_end(world);
                self.shortest(first.clone(), is_tight, ends)
            })
            .or_else(|| self.shortest(first.clone(), is_tight, is_served))
            .or_else(|| self.shortest(first.clone(), is_tight, |world| value(world) == 0))
            .unwrap_or_else(|| MeasuredPath {
                first: first.clone().next().unwrap_or(0),
                steps: Vec::new(),
            })
    }

    /// Returns a shortest path from a global state in `first` to a state that `is_wanted` accepts.
    /// `follows` accepts every step of the path. `None` if there is no such path.
    fn shortest(
        &self,
        first: impl Iterator<Item = u32>,
        follows: impl Fn(u32, &OutEdge) -> bool,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Option<MeasuredPath> {
        let mut before = vec![NONE; self.graph.len()];
        let mut queue: VecDeque<u32> = first.collect();
        let begins: Vec<u32> = queue.iter().copied().collect();
        while let Some(world) = queue.pop_front().filter(|_| !self.graph.must_stop_analysis()) {
            if is_wanted(world) {
                return Some(self.path(&before, world, follows));
            }
            for step in self.steps(world).filter(|step| follows(world, step)) {
                let is_new = before[step.to as usize] == NONE && !begins.contains(&step.to);
                if is_new {
                    before[step.to as usize] = world;
                    queue.push_back(step.to);
                }
            }
        }
        None
    }

    /// Returns the path that leads to the global state `end`. `before` contains the predecessor of
    /// each state. The path contains only steps for which `follows` returns true.
    fn path(
        &self,
        before: &[u32],
        end: u32,
        follows: impl Fn(u32, &OutEdge) -> bool,
    ) -> MeasuredPath {
        let (mut steps, mut here) = (Vec::new(), end);
        while before[here as usize] != NONE {
            let from = before[here as usize];
            let step = self.steps(from).find(|step| step.to == here && follows(from, step));
            steps.push((from, *step.expect("a path follows the steps of the graph")));
            here = from;
        }
        steps.reverse();
        MeasuredPath { first: here, steps }
    }

    /// Returns the greatest measured value, and the first global state with this value.
    pub(super) fn greatest_peak(&self) -> (u32, u32) {
        let worlds = 0..self.graph.len() as u32;
        let by_value = |world: &u32| (self.value(*world), Reverse(*world));
        let world = worlds.max_by_key(by_value).unwrap_or(0);
        (self.value(world), world)
    }

    /// Returns the run with the least value among the runs that serve all users. `None` if there is
    /// no such run.
    ///
    /// Prefers runs after which no further step except a fault is possible: if there are any,
    /// ignores all other runs. Among runs of equal value, returns a shortest run. If
    /// `is_sum_over_steps`, the value of a run is the sum over its steps. Otherwise it is the
    /// greatest value of its global states.
    pub(super) fn least_run(&self, is_sum_over_steps: bool) -> Option<MinimumRun> {
        let (keys, before) = self.lightest(is_sum_over_steps);
        let worlds = || 0..self.graph.len() as u32;
        let served = || worlds().filter(|world| self.is_served(*world));
        let is_quiescent = served().any(|world| self.is_end(world));
        let ends = served().filter(|world| !is_quiescent || self.is_end(*world));
        let end = ends.min_by_key(|world| (keys[*world as usize], *world))?;
        if keys[end as usize] == u64::MAX {
            return None;
        }
        let path = self.path(&before, end, |from, step| {
            self.key_after(keys[from as usize], *step, is_sum_over_steps) == keys[step.to as usize]
        });
        Some(MinimumRun { value: (keys[end as usize] >> 32) as u32, path, is_quiescent })
    }

    /// Finds a path with the least value to each global state, by Dijkstra's algorithm. The value
    /// of a path is the sum of its weights if `is_sum_over_steps`, or else the greatest measured
    /// value of its states.
    ///
    /// Returns two vectors, indexed by state. The first vector contains the value of the path in
    /// the upper 32 bits, and the number of steps of the path in the lower 32 bits. The second
    /// vector contains the predecessor of the state on the path.
    fn lightest(&self, is_sum_over_steps: bool) -> (Vec<u64>, Vec<u32>) {
        let mut keys = vec![u64::MAX; self.graph.len()];
        let mut before = vec![NONE; self.graph.len()];
        let mut queue = BinaryHeap::new();
        for (first, boot) in self.first {
            let value = if is_sum_over_steps { *boot } else { self.value(*first) };
            keys[*first as usize] = u64::from(value) << 32;
            queue.push(Reverse((keys[*first as usize], *first)));
        }
        while let Some(Reverse((key, world))) =
            queue.pop().filter(|_| !self.graph.must_stop_analysis())
        {
            if key > keys[world as usize] {
                continue;
            }
            for step in self.steps(world) {
                let next = self.key_after(key, *step, is_sum_over_steps);
                if next < keys[step.to as usize] {
                    keys[step.to as usize] = next;
                    before[step.to as usize] = world;
                    queue.push(Reverse((next, step.to)));
                }
            }
        }
        (keys, before)
    }

    fn key_after(&self, key: u64, step: OutEdge, is_sum_over_steps: bool) -> u64 {
        let value = if is_sum_over_steps {
            (key >> 32) + u64::from(weight_of_label(step.label))
        } else {
            (key >> 32).max(self.value(step.to).into())
        };
        (value << 32) | ((key & u64::from(u32::MAX)) + 1)
    }

    fn value(&self, world: u32) -> u32 {
        self.graph.marks(world) >> 1
    }

    fn is_served(&self, world: u32) -> bool {
        self.graph.marks(world) & SERVED_BIT != 0
    }

    /// Returns true if no step except a fault is possible in this global state. Returns false if
    /// the search has not expanded the state.
    fn is_end(&self, world: u32) -> bool {
        !self.graph.is_unexpanded(world)
            && self.graph.steps(world).iter().all(|step| is_fault_label(step.label))
    }
}
