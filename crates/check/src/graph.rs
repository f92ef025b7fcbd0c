//! The graph of a finished search, as liveness reads it.

use crate::explore::Explored;
use crate::successors::FAULT;
use crate::visited::{Edge, StateId};

/// Worlds by dense number, and the steps between them that are no faults.
#[derive(Debug)]
pub(crate) struct Graph {
    /// For each shard, the number of its first world.
    bases: Vec<u32>,
    /// For each world, where its steps begin.
    starts: Vec<u32>,
    steps: Vec<Arc>,
    marks: Vec<u32>,
    /// Worlds that were not expanded.
    open: Vec<bool>,
}

/// A step to a world, and what fairness calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    /// The number of the world; [`BEYOND`] for one beyond a declared bound.
    pub(crate) to: u32,
    pub(crate) label: u32,
}

/// Stands for every world beyond a declared bound.
pub(crate) const BEYOND: u32 = u32::MAX;

impl Graph {
    /// Takes the edges and marks out of a search.
    pub(crate) fn of(explored: &mut Explored) -> Self {
        let mut bases = Vec::new();
        let mut marks = Vec::new();
        let mut edges: Vec<Vec<Edge>> = Vec::new();
        for shard in &mut explored.shards {
            bases.push(marks.len() as u32);
            marks.append(&mut std::mem::take(&mut shard.marks));
            edges.push(std::mem::take(&mut shard.edges));
        }
        let mut graph = Graph {
            bases,
            starts: vec![0; marks.len() + 1],
            steps: Vec::new(),
            open: vec![false; marks.len()],
            marks,
        };
        for id in &explored.open {
            let number = graph.number(*id) as usize;
            graph.open[number] = true;
        }
        graph.sort_in(edges);
        graph
    }

    /// Sorts edges by where they begin, counting first.
    fn sort_in(&mut self, edges: Vec<Vec<Edge>>) {
        let kept = |edge: &&Edge| edge.label != FAULT;
        for edge in edges.iter().flatten().filter(kept) {
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
                let from = self.number(edge.from) as usize;
                let to = if edge.to == StateId::OUTSIDE { BEYOND } else { self.number(edge.to) };
                self.steps[next[from] as usize] = Arc { to, label: edge.label };
                next[from] += 1;
            }
        }
    }

    /// The dense number of a world.
    pub(crate) fn number(&self, id: StateId) -> u32 {
        self.bases[id.shard()] + id.place() as u32
    }

    /// The world of a dense number.
    pub(crate) fn id(&self, number: u32) -> StateId {
        let shard = self.bases.partition_point(|base| *base <= number) - 1;
        // Empty shards share a base with the next: the last one of them holds the world.
        StateId::new(shard, (number - self.bases[shard]) as usize)
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
