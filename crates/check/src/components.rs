//! Strongly connected components of a part of the graph, without recursion.

use crate::graph::{BEYOND, Graph};

/// Which component each world of the part belongs to, in reverse topological order: a step
/// between components always leads to one with a smaller number.
#[derive(Debug)]
pub(crate) struct Components {
    /// By world; [`NOWHERE`] for those that do not belong to the part.
    pub(crate) of: Vec<u32>,
    pub(crate) count: usize,
}

/// The component of a world that does not belong to the part.
pub(crate) const NOWHERE: u32 = u32::MAX;

const NEW: u32 = 0;

/// Tarjan's algorithm, iterative.
struct Walk<'g, B> {
    graph: &'g Graph,
    belongs: B,
    /// When each world was met, from 1.
    met: Vec<u32>,
    lowest: Vec<u32>,
    stack: Vec<u32>,
    calls: Vec<(u32, u32)>,
    components: Components,
    clock: u32,
}

/// The components of the worlds that belong.
pub(crate) fn components(graph: &Graph, belongs: impl Fn(u32) -> bool) -> Components {
    let worlds = graph.len();
    let mut walk = Walk {
        graph,
        belongs,
        met: vec![NEW; worlds],
        lowest: vec![0; worlds],
        stack: Vec::new(),
        calls: Vec::new(),
        components: Components { of: vec![NOWHERE; worlds], count: 0 },
        clock: 0,
    };
    for root in 0..worlds as u32 {
        if (walk.belongs)(root) && walk.met[root as usize] == NEW {
            walk.from(root);
        }
    }
    walk.components
}

impl<B: Fn(u32) -> bool> Walk<'_, B> {
    fn from(&mut self, root: u32) {
        self.enter(root);
        while let Some((world, next)) = self.calls.pop() {
            let steps = self.graph.steps(world);
            let Some(step) = steps.get(next as usize) else {
                self.leave(world);
                continue;
            };
            self.calls.push((world, next + 1));
            if step.to == BEYOND || !(self.belongs)(step.to) {
                continue;
            }
            let to = step.to as usize;
            if self.met[to] == NEW {
                self.enter(step.to);
            } else if self.components.of[to] == NOWHERE {
                let lowest = &mut self.lowest[world as usize];
                *lowest = (*lowest).min(self.met[to]);
            }
        }
    }

    fn enter(&mut self, world: u32) {
        self.clock += 1;
        self.met[world as usize] = self.clock;
        self.lowest[world as usize] = self.clock;
        self.stack.push(world);
        self.calls.push((world, 0));
    }

    fn leave(&mut self, world: u32) {
        let lowest = self.lowest[world as usize];
        if let Some((caller, _)) = self.calls.last() {
            let callers = &mut self.lowest[*caller as usize];
            *callers = (*callers).min(lowest);
        }
        if lowest != self.met[world as usize] {
            return;
        }
        let number = self.components.count as u32;
        self.components.count += 1;
        while let Some(member) = self.stack.pop() {
            self.components.of[member as usize] = number;
            if member == world {
                return;
            }
        }
    }
}
