//! Strongly connected components of a part of the graph, without recursion.

use crate::liveness::graph::{Arc, BEYOND, Graph};

/// The component of a world that belongs to none (yet).
pub(crate) const NOWHERE: u32 = u32::MAX;

const NEW: u32 = 0;

/// Tarjan's algorithm, iterative: shows the components of the worlds that belong, each when all
/// that it leads to have been shown.
pub(crate) struct Components<'g, B, S> {
    graph: &'g Graph,
    belongs: B,
    /// True of a step that leads to a world that belongs, and counts.
    stays: S,
    /// When each world was met, from 1.
    met: Vec<u32>,
    lowest: Vec<u32>,
    /// Which component each world belongs to, numbered in the order in which they are shown.
    of: Vec<u32>,
    stack: Vec<u32>,
    calls: Vec<(u32, u32)>,
    count: u32,
    clock: u32,
}

/// One component, and where everything shown so far belongs.
pub(crate) struct Component<'c> {
    pub(crate) number: u32,
    pub(crate) members: &'c [u32],
    pub(crate) of: &'c [u32],
}

impl Component<'_> {
    /// Whether a step leads to a world of this component.
    pub(crate) fn contains(&self, world: u32) -> bool {
        world != BEYOND && self.of[world as usize] == self.number
    }
}

impl<'g, B: Fn(u32) -> bool, S: Fn(u32, Arc) -> bool> Components<'g, B, S> {
    pub(crate) fn new(graph: &'g Graph, belongs: B, stays: S) -> Self {
        let worlds = graph.len();
        Components {
            graph,
            belongs,
            stays,
            met: vec![NEW; worlds],
            lowest: vec![0; worlds],
            of: vec![NOWHERE; worlds],
            stack: Vec::new(),
            calls: Vec::new(),
            count: 0,
            clock: 0,
        }
    }

    /// Shows every component, until the graph is stopped.
    pub(crate) fn each(mut self, mut show: impl FnMut(Component<'_>)) {
        for root in 0..self.graph.len() as u32 {
            if self.graph.is_stopped() {
                return;
            }
            if self.met[root as usize] == NEW && (self.belongs)(root) {
                self.walk(root, &mut show);
            }
        }
    }

    fn walk(&mut self, root: u32, show: &mut impl FnMut(Component<'_>)) {
        self.enter(root);
        while let Some((world, next)) = self.calls.last_mut() {
            if self.graph.is_stopped() {
                return;
            }
            let (world, place) = (*world, *next as usize);
            let Some(step) = self.graph.steps(world).get(place) else {
                self.calls.pop();
                self.leave(world, show);
                continue;
            };
            *next += 1;
            if !(self.stays)(world, *step) {
                continue;
            }
            let to = step.to as usize;
            if self.met[to] == NEW {
                self.enter(step.to);
            } else if self.of[to] == NOWHERE {
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

    fn leave(&mut self, world: u32, show: &mut impl FnMut(Component<'_>)) {
        let lowest = self.lowest[world as usize];
        if let Some((caller, _)) = self.calls.last() {
            let callers = &mut self.lowest[*caller as usize];
            *callers = (*callers).min(lowest);
        }
        if lowest != self.met[world as usize] {
            return;
        }
        let begin = self.stack.iter().rposition(|member| *member == world);
        let begin = begin.expect("a world is on the stack until its component is shown");
        for member in &self.stack[begin..] {
            self.of[*member as usize] = self.count;
        }
        let members = &self.stack[begin..];
        show(Component { number: self.count, members, of: &self.of });
        self.stack.truncate(begin);
        self.count += 1;
    }
}
