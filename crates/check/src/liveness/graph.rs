//! The graph of a finished search, as liveness reads it.

use crate::explore::Explored;
use crate::explore::successors::{DROPPED, FAULT};
use crate::explore::visited::{Edge, SHARDS, StateId};
use crate::limits::Stop;

/// Worlds by dense number, and the steps between them that are no faults.
#[derive(Debug)]
pub(crate) struct Graph {
    /// By level and shard: the number of the first world there. Worlds are numbered level by
    /// level, because most steps lead to the next one.
    bases: Vec<[u32; SHARDS]>,
    /// By shard: the place of the first world of each level.
    levels: Vec<Vec<u32>>,
    /// For each world, where its steps begin.
    starts: Vec<u32>,
    steps: Vec<Arc>,
    marks: Vec<u32>,
    /// Worlds that were not expanded.
    open: Vec<bool>,
    stop: Stop,
}

/// A step to a world, and what fairness calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    /// The number of the world; [`BEYOND`] for one beyond a declared bound.
    pub(crate) to: u32,
    pub(crate) label: u32,
}

impl Arc {
    /// What fairness calls the step, whether or not it dropped a message.
    pub(crate) fn name(self) -> u32 {
        self.label & !DROPPED
    }

    /// Whether a message was dropped because a link was full.
    pub(crate) fn drops(self) -> bool {
        self.label & DROPPED != 0
    }
}

/// Stands for every world beyond a declared bound.
pub(crate) const BEYOND: u32 = u32::MAX;

impl Graph {
    /// Takes the edges and marks out of a search. Once it is stopped, it is not whole, and whatever
    /// was seen in it no evidence.
    pub(crate) fn of(explored: &mut Explored, stop: Stop) -> Self {
        let mut graph = Graph {
            bases: Vec::new(),
            levels: explored.levels.clone(),
            starts: Vec::new(),
            steps: Vec::new(),
            marks: Vec::new(),
            open: Vec::new(),
            stop,
        };
        let deepest = graph.levels.iter().map(Vec::len).max().unwrap_or(0);
        for level in 0..deepest {
            let mut bases = [0; SHARDS];
            for (number, shard) in explored.shards.iter().enumerate() {
                bases[number] = graph.marks.len() as u32;
                let places = graph.places(number, level, shard.len());
                graph.marks.extend(&shard.marks[places]);
            }
            graph.bases.push(bases);
        }
        let edges = explored.shards.iter_mut().map(|shard| {
            shard.marks = Vec::new();
            std::mem::take(&mut shard.edges)
        });
        let edges: Vec<Vec<Edge>> = edges.collect();
        graph.starts = vec![0; graph.marks.len() + 1];
        graph.open = vec![false; graph.marks.len()];
        for id in explored.open.iter().take_while(|_| !graph.stop.is_raised()) {
            let number = graph.number(*id) as usize;
            graph.open[number] = true;
        }
        graph.sort_in(edges);
        graph
    }

    /// Memory that a graph and its analysis take beside the search, at most, in bytes.
    pub(crate) fn bytes_needed(worlds: usize, edges: usize) -> usize {
        // Where steps begin, twice while they are sorted; marks; for components when a world was
        // met, the lowest on the stack, its component, the stack, and the calls.
        const PER_WORLD: usize = 2 * 4 + 4 + 1 + 3 * 4 + 4 + 8;
        worlds * PER_WORLD + edges * size_of::<Arc>()
    }

    /// The places of one level in a shard of so many worlds.
    fn places(&self, shard: usize, level: usize, len: usize) -> std::ops::Range<usize> {
        let begin = |level: usize| {
            self.levels[shard].get(level).map_or(len, |begin| (*begin as usize).min(len))
        };
        begin(level)..begin(level + 1)
    }

    /// Sorts edges by where they begin, counting first.
    fn sort_in(&mut self, edges: Vec<Vec<Edge>>) {
        let kept = |edge: &&Edge| edge.label != FAULT;
        let goes_on = |_: &&Edge| !self.stop.is_raised();
        for edge in edges.iter().flatten().take_while(goes_on).filter(kept) {
            let from = self.number(edge.from) as usize;
            self.starts[from + 1] += 1;
        }
        for place in 1..self.starts.len() {
            self.starts[place] += self.starts[place - 1];
        }
        let total = self.starts.last().copied().unwrap_or(0) as usize;
        self.steps = vec![Arc { to: BEYOND, label: 0 }; total];
        let mut next = self.starts.clone();
        for list in edges {
            for edge in list.iter().filter(kept) {
                if self.stop.is_raised() {
                    return;
                }
                let from = self.number(edge.from) as usize;
                let to = if edge.to == StateId::OUTSIDE { BEYOND } else { self.number(edge.to) };
                self.steps[next[from] as usize] = Arc { to, label: edge.label };
                next[from] += 1;
            }
        }
    }

    /// The dense number of a world.
    pub(crate) fn number(&self, id: StateId) -> u32 {
        let level = self.level_of(id);
        let begin = self.levels[id.shard()][level];
        self.bases[level][id.shard()] + (id.place() as u32 - begin)
    }

    /// How many steps a world is away from the first.
    pub(crate) fn level_of(&self, id: StateId) -> usize {
        self.levels[id.shard()].partition_point(|begin| *begin as usize <= id.place()) - 1
    }

    /// The world of a dense number.
    pub(crate) fn id(&self, number: u32) -> StateId {
        let level = self.bases.partition_point(|bases| bases[0] <= number) - 1;
        // Where a shard has no world on a level, it shares its base with the next one.
        let shard = self.bases[level].partition_point(|base| *base <= number) - 1;
        let place = self.levels[shard][level] + (number - self.bases[level][shard]);
        StateId::new(shard, place as usize)
    }

    /// Whether whoever wanted to know has gone.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_raised()
    }

    pub(crate) fn len(&self) -> usize {
        self.marks.len()
    }

    pub(crate) fn marks(&self, number: u32) -> u32 {
        self.marks[number as usize]
    }

    pub(crate) fn is_open(&self, number: u32) -> bool {
        self.open[number as usize]
    }

    /// The steps of a world.
    #[inline]
    pub(crate) fn steps(&self, number: u32) -> &[Arc] {
        let number = number as usize;
        &self.steps[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}
