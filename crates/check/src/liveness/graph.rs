//! State graph of a finished search, for the analysis of liveness.

use crate::explore::SearchResult;
use crate::explore::parallel::map_in_parallel;
use crate::explore::successor::{DROPPED_BIT, FAULT_LABEL};
use crate::explore::successors::SuccessorWorker;
use crate::explore::visited::{GraphEdge, SHARD_COUNT, StateId};
use crate::limits::StopSignal;
use crate::strong_components::StepGraph;

/// State graph: global states with consecutive numbers, and the steps from them. A graph whose
/// labels are fairness labels contains no faults. A graph whose labels contain weights also
/// contains faults.
#[derive(Debug, Default)]
pub(crate) struct StateGraph {
    /// For each level and shard: the number of the first global state of the level in the shard.
    /// The states are numbered level by level.
    bases: Vec<[u32; SHARD_COUNT]>,
    /// For each shard, for each level: the index, among the states of this shard, of the first
    /// global state of the level.
    levels: Vec<Vec<u32>>,
    /// Index, in `steps`, of the first step of each global state.
    starts: Vec<u32>,
    steps: Vec<OutEdge>,
    /// Marks of each global state: see `StateAnnotations::marks`.
    marks: Vec<u32>,
    /// True for each global state that the search did not expand.
    open: Vec<bool>,
    /// Fairness label of the steps that the configuration prescribes at the beginning of a run.
    forced_label: u32,
    /// Number of threads that analyse the graph.
    pub(crate) threads: usize,
    stop: StopSignal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutEdge {
    /// Number of the global state to which the step leads, or [`OUT_OF_BOUNDS`].
    pub(crate) to: u32,
    /// Label of the step: see
    /// [`Successor::stored_label`](crate::explore::successor::Successor::stored_label).
    pub(crate) label: u32,
}

impl OutEdge {
    /// Returns the fairness label of the step, without the bit that marks a dropped message.
    pub(crate) fn fairness_label(self) -> u32 {
        self.label & !DROPPED_BIT
    }

    /// Returns true if the step dropped a message because a link was full.
    pub(crate) fn drops_message(self) -> bool {
        self.label & DROPPED_BIT != 0
    }
}

/// A step and the number of the global state in which it starts.
#[derive(Clone, Copy, Debug)]
struct NumberedEdge {
    from: u32,
    step: OutEdge,
}

/// Number that represents all global states beyond a declared bound.
pub(crate) const OUT_OF_BOUNDS: u32 = u32::MAX;

impl StateGraph {
    /// Builds the graph of a finished search. Takes the edges and the marks out of `explored`. If
    /// `stop` is raised meanwhile, the graph is incomplete and proves nothing.
    ///
    /// The configuration may prescribe the first steps of a run. `forced_label` is the fairness
    /// label of these steps. The analysis runs on as many threads as [`analysis_thread_count`]
    /// returns.
    pub(crate) fn build(explored: &mut SearchResult, forced_label: u32, stop: StopSignal) -> Self {
        let (levels, threads) = (explored.levels.clone(), analysis_thread_count(&explored.workers));
        let mut graph = StateGraph { levels, forced_label, threads, stop, ..StateGraph::default() };
        // A search that was stopped has no marks of the states that it reached last.
        for shard in &mut explored.shards {
            let states = shard.len();
            shard.marks.resize(states, 0);
        }
        let deepest = graph.levels.iter().map(Vec::len).max().unwrap_or(0);
        for level in 0..deepest {
            let mut bases = [0; SHARD_COUNT];
            for (number, shard) in explored.shards.iter().enumerate() {
                bases[number] = graph.marks.len() as u32;
                let indices = graph.indices(number, level, shard.len());
                graph.marks.extend(&shard.marks[indices]);
            }
            graph.bases.push(bases);
        }
        let edges = explored.shards.iter_mut().map(|shard| {
            shard.marks = Vec::new();
            std::mem::take(&mut shard.edges)
        });
        let edges: Vec<Vec<GraphEdge>> = edges.collect();
        graph.open = vec![false; graph.marks.len()];
        for id in explored.unexpanded.iter().take_while(|_| !graph.stop.must_stop_check()) {
            let number = graph.state_number(*id) as usize;
            graph.open[number] = true;
        }
        graph.sort_in(edges);
        graph
    }

    /// Returns an estimate, in bytes, of the memory of a graph and of its analysis by this number
    /// of threads.
    pub(crate) fn bytes_needed(worlds: usize, edges: usize, threads: usize) -> usize {
        // Bytes for the starts of steps (twice while sorting), the marks, and the open worlds.
        const PER_WORLD: usize = 2 * 4 + 4 + 1;
        // Bytes for the analysis of components: order of visits, lowest on the stack, component,
        // stack, and calls. A call is a state and an iterator over its steps.
        const PER_WORLD_AND_THREAD: usize = 3 * 4 + 4 + 24;
        worlds * (PER_WORLD + threads * PER_WORLD_AND_THREAD) + edges * size_of::<OutEdge>()
    }

    /// Returns the range of indices of one level in a shard of `len` global states.
    fn indices(&self, shard: usize, level: usize, len: usize) -> std::ops::Range<usize> {
        let begin = |level: usize| {
            self.levels[shard].get(level).map_or(len, |begin| (*begin as usize).min(len))
        };
        begin(level)..begin(level + 1)
    }

    /// Sorts the edges by the global state in which they start, by counting sort. Each thread sorts
    /// the edges of its own range of states.
    fn sort_in(&mut self, edges: Vec<Vec<GraphEdge>>) {
        let edges = self.numbered(edges);
        let edges = || edges.iter().flatten().take_while(|_| !self.stop.must_stop_check());
        let worlds = self.marks.len();
        let range = worlds.div_ceil(self.threads).max(1);
        // A state number below the range wraps around to a number above the range.
        let within = |from: u32, part: usize| (from as usize).wrapping_sub(part * range);

        let mut counts = vec![0; worlds];
        map_in_parallel(self.threads, counts.chunks_mut(range), |part, counts| {
            for edge in edges() {
                if let Some(count) = counts.get_mut(within(edge.from, part)) {
                    *count += 1;
                }
            }
        });
        let mut starts = Vec::with_capacity(worlds + 1);
        starts.push(0);
        starts.extend(counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }));

        let total = starts.last().copied().unwrap_or(0) as usize;
        let mut steps = vec![OutEdge { to: OUT_OF_BOUNDS, label: 0 }; total];
        let mut rest = steps.as_mut_slice();
        // The counts are no longer needed. The memory now holds, for each state, the place of its
        // next step.
        counts.copy_from_slice(&starts[..worlds]);
        let parts = counts.chunks_mut(range).enumerate().map(|(part, next)| {
            let (begin, end) = (part * range, worlds.min((part + 1) * range));
            let len = (starts[end] - starts[begin]) as usize;
            let steps = rest.split_off_mut(..len).expect("the steps of all worlds are in order");
            (starts[begin], next, steps)
        });
        map_in_parallel(self.threads, parts, |part, (begin, next, steps)| {
            for edge in edges() {
                if let Some(place) = next.get_mut(within(edge.from, part)) {
                    steps[(*place - begin) as usize] = edge.step;
                    *place += 1;
                }
            }
        });
        (self.starts, self.steps) = (starts, steps);
    }

    /// Replaces the ids of global states in the edges by numbers. Omits edges with [`FAULT_LABEL`].
    fn numbered(&self, edges: Vec<Vec<GraphEdge>>) -> Vec<Vec<NumberedEdge>> {
        map_in_parallel(self.threads, edges, |_, edges| {
            let edges = edges.into_iter().take_while(|_| !self.stop.must_stop_check());
            let kept = edges.filter(|edge| edge.label != FAULT_LABEL);
            // `collect` reuses the memory of `edges`.
            kept.map(|GraphEdge { from, to, label }| {
                let is_outside = to == StateId::OUT_OF_BOUNDS;
                let to = if is_outside { OUT_OF_BOUNDS } else { self.state_number(to) };
                NumberedEdge { from: self.state_number(from), step: OutEdge { to, label } }
            })
            .collect()
        })
    }

    /// Returns the number of a global state in the graph. [`Self::state_id`] is the inverse
    /// function.
    pub(crate) fn state_number(&self, id: StateId) -> u32 {
        let level = self.level_of(id);
        let begin = self.levels[id.shard()][level];
        self.bases[level][id.shard()] + (id.index() as u32 - begin)
    }

    /// Returns the distance of a global state from the initial states, in counted steps.
    pub(crate) fn level_of(&self, id: StateId) -> usize {
        self.levels[id.shard()].partition_point(|begin| *begin as usize <= id.index()) - 1
    }

    pub(crate) fn state_id(&self, number: u32) -> StateId {
        let level = self.bases.partition_point(|bases| bases[0] <= number) - 1;
        // A shard without worlds on a level shares its base with the next shard.
        let shard = self.bases[level].partition_point(|base| *base <= number) - 1;
        let index = self.levels[shard][level] + (number - self.bases[level][shard]);
        StateId::new(shard, index as usize)
    }

    #[inline]
    pub(crate) fn must_stop_analysis(&self) -> bool {
        self.stop.must_stop_check()
    }

    pub(crate) fn len(&self) -> usize {
        self.marks.len()
    }

    pub(crate) fn marks(&self, number: u32) -> u32 {
        self.marks[number as usize]
    }

    pub(crate) fn is_unexpanded(&self, number: u32) -> bool {
        self.open[number as usize]
    }

    /// Returns true if the check prescribes the step from this global state. The graph then lacks
    /// other steps that are possible.
    pub(crate) fn has_forced_step(&self, number: u32) -> bool {
        self.steps(number).iter().any(|step| step.fairness_label() == self.forced_label)
    }

    #[inline]
    pub(crate) fn steps(&self, number: u32) -> &[OutEdge] {
        let number = number as usize;
        &self.steps[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}

/// Returns the number of threads that analyse a graph, at least one. There is one thread for each
/// worker of the search, but at most one for each process. Most analyses have one job per process,
/// and each thread needs memory for its job.
pub(crate) fn analysis_thread_count(workers: &[SuccessorWorker]) -> usize {
    let size = workers.first().map_or(1, |worker| worker.rules.layout.size);
    workers.len().clamp(1, size.max(1))
}

impl StepGraph for StateGraph {
    type Step = OutEdge;
    type Steps<'g> = std::iter::Copied<std::slice::Iter<'g, OutEdge>>;

    fn state_count(&self) -> usize {
        self.len()
    }

    fn steps_from(&self, world: u32) -> Self::Steps<'_> {
        self.steps(world).iter().copied()
    }

    fn target(step: OutEdge) -> u32 {
        step.to
    }

    fn must_stop_analysis(&self) -> bool {
        StateGraph::must_stop_analysis(self)
    }
}
