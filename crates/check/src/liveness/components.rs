//! Strongly connected components of a part of the graph, without recursion.

use crate::liveness::graph::{Graph, OUT_OF_BOUNDS, OutEdge};

/// Component of a world that is not assigned to one yet.
pub(crate) const UNASSIGNED: u32 = u32::MAX;

const UNVISITED: u32 = 0;

/// Tarjan's algorithm, without recursion. It visits a component after all components that are
/// reachable from it.
pub(crate) struct Components<'g, B, S> {
    graph: &'g Graph,
    belongs: B,
    /// Returns true for an edge that the analysis follows. The edge leads to an included world.
    stays: S,
    /// Sequence number of the first visit of each world, from 1; [`UNVISITED`] before that.
    visited_at: Vec<u32>,
    lowest: Vec<u32>,
    /// Component of each world. Components are numbered in the order of the visits.
    of: Vec<u32>,
    stack: Vec<u32>,
    calls: Vec<(u32, u32)>,
    count: u32,
    clock: u32,
}

/// One component, with the component numbers of all worlds visited so far.
pub(crate) struct Component<'c> {
    pub(crate) number: u32,
    pub(crate) members: &'c [u32],
    pub(crate) of: &'c [u32],
}

impl Component<'_> {
    /// Returns true if the world belongs to this component.
    pub(crate) fn contains(&self, world: u32) -> bool {
        world != OUT_OF_BOUNDS && self.of[world as usize] == self.number
    }
}

impl<'g, B: Fn(u32) -> bool, S: Fn(u32, OutEdge) -> bool> Components<'g, B, S> {
    pub(crate) fn new(graph: &'g Graph, belongs: B, stays: S) -> Self {
        let worlds = graph.len();
        Components {
            graph,
            belongs,
            stays,
            visited_at: vec![UNVISITED; worlds],
            lowest: vec![0; worlds],
            of: vec![UNASSIGNED; worlds],
            stack: Vec::new(),
            calls: Vec::new(),
            count: 0,
            clock: 0,
        }
    }

    /// Calls `show` for every component. Stops early if the analysis is stopped.
    pub(crate) fn for_each(mut self, mut show: impl FnMut(Component<'_>)) {
        for root in 0..self.graph.len() as u32 {
            if self.graph.is_stopped() {
                return;
            }
            if self.visited_at[root as usize] == UNVISITED && (self.belongs)(root) {
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
            let (world, index) = (*world, *next as usize);
            let Some(step) = self.graph.steps(world).get(index) else {
                self.calls.pop();
                self.leave(world, show);
                continue;
            };
            *next += 1;
            if !(self.stays)(world, *step) {
                continue;
            }
            let to = step.to as usize;
            if self.visited_at[to] == UNVISITED {
                self.enter(step.to);
            } else if self.of[to] == UNASSIGNED {
                let lowest = &mut self.lowest[world as usize];
                *lowest = (*lowest).min(self.visited_at[to]);
            }
        }
    }

    fn enter(&mut self, world: u32) {
        self.clock += 1;
        self.visited_at[world as usize] = self.clock;
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
        if lowest != self.visited_at[world as usize] {
            return;
        }
        let begin = self.stack.iter().rposition(|member| *member == world);
        let begin = begin.expect("a world stays on the stack until its component is visited");
        for member in &self.stack[begin..] {
            self.of[*member as usize] = self.count;
        }
        let members = &self.stack[begin..];
        show(Component { number: self.count, members, of: &self.of });
        self.stack.truncate(begin);
        self.count += 1;
    }
}
