//! Strongly connected components of a part of the graph.

use super::graph::{Edge, Graph, StateId};

const UNVISITED: u32 = 0;

/// Tarjan's algorithm, without recursion.
struct Tarjan<'g, B> {
    graph: &'g Graph,
    belongs: B,
    /// Sequence number of the first visit of each state, from 1.
    visited_at: Vec<u32>,
    lowest: Vec<u32>,
    is_on_stack: Vec<bool>,
    stack: Vec<StateId>,
    clock: u32,
    found: Vec<Vec<StateId>>,
}

/// Returns the components of the states for which `belongs` is true, connected by steps between
/// them. The members of a component are in ascending order.
pub(crate) fn components(graph: &Graph, belongs: impl Fn(StateId) -> bool) -> Vec<Vec<StateId>> {
    let mut tarjan = Tarjan {
        graph,
        belongs,
        visited_at: vec![UNVISITED; graph.len()],
        lowest: vec![0; graph.len()],
        is_on_stack: vec![false; graph.len()],
        stack: Vec::new(),
        clock: 0,
        found: Vec::new(),
    };
    for state in graph.states() {
        if (tarjan.belongs)(state) && tarjan.visited_at[state as usize] == UNVISITED {
            tarjan.visit(state);
        }
    }
    tarjan.found
}

impl<B: Fn(StateId) -> bool> Tarjan<'_, B> {
    fn visit(&mut self, root: StateId) {
        let mut calls: Vec<(StateId, usize)> = Vec::new();
        self.open(root, &mut calls);
        while let Some((state, index)) = calls.pop() {
            let Some(to) = self.graph.edges[state as usize].get(index).map(|edge| edge.to) else {
                self.close(state, calls.last().map(|(caller, _)| *caller));
                continue;
            };
            calls.push((state, index + 1));
            if to == super::graph::OUT_OF_BOUNDS || !(self.belongs)(to) {
                continue;
            }
            if self.visited_at[to as usize] == UNVISITED {
                self.open(to, &mut calls);
            } else if self.is_on_stack[to as usize] {
                let lowest = self.lowest[state as usize].min(self.visited_at[to as usize]);
                self.lowest[state as usize] = lowest;
            }
        }
    }

    fn open(&mut self, state: StateId, calls: &mut Vec<(StateId, usize)>) {
        self.clock += 1;
        self.visited_at[state as usize] = self.clock;
        self.lowest[state as usize] = self.clock;
        self.is_on_stack[state as usize] = true;
        self.stack.push(state);
        calls.push((state, 0));
    }

    fn close(&mut self, state: StateId, caller: Option<StateId>) {
        let lowest = self.lowest[state as usize];
        if let Some(caller) = caller {
            let callers = &mut self.lowest[caller as usize];
            *callers = (*callers).min(lowest);
        }
        if lowest != self.visited_at[state as usize] {
            return;
        }
        let begin = self.stack.iter().rposition(|member| *member == state);
        let mut members = self.stack.split_off(begin.expect("a state stays until it is closed"));
        members.iter().for_each(|member| self.is_on_stack[*member as usize] = false);
        members.sort_unstable();
        self.found.push(members);
    }
}

/// Returns the steps of a member that stay within the component.
pub(crate) fn inner_steps<'g>(
    graph: &'g Graph,
    members: &'g [StateId],
    state: StateId,
) -> impl Iterator<Item = &'g Edge> {
    graph.steps(state).filter(|edge| members.binary_search(&edge.to).is_ok())
}
