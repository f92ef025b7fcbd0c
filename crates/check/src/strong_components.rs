//! Strongly connected components of a subgraph, without recursion.

/// Component number of a state that is not assigned to a component yet, or is outside the subgraph.
pub(crate) const NO_COMPONENT: u32 = u32::MAX;

/// Value in `visited_at` for a state that the search has not visited.
const UNVISITED: u32 = 0;

/// A graph of states and steps. States are numbered from 0.
pub(crate) trait StepGraph {
    type Step: Copy;
    type Steps<'g>: Iterator<Item = Self::Step>
    where
        Self: 'g;

    fn state_count(&self) -> usize;

    /// Returns the steps from a state, in the same order at each call.
    fn steps_from(&self, state: u32) -> Self::Steps<'_>;

    /// Returns the state to which a step leads. A step may lead to a number that is no state.
    fn target(step: Self::Step) -> u32;

    /// Returns true if an analysis of the graph must stop. The default is false.
    fn must_stop_analysis(&self) -> bool {
        false
    }
}

/// Tarjan's algorithm for strongly connected components, without recursion. If one component can be
/// reached from another one, the algorithm finds the reachable component first.
pub(crate) struct StrongComponentSearch<'g, G: StepGraph, B, S> {
    graph: &'g G,
    /// Predicate over states: true for each state of the subgraph.
    belongs: B,
    /// Predicate over steps and the states in which they start. The analysis follows only the steps
    /// that the predicate accepts. The predicate must reject every step that leaves the subgraph.
    stays: S,
    /// Sequence number of the first visit of each state, from 1; [`UNVISITED`] before that.
    visited_at: Vec<u32>,
    /// Lowest `visited_at` of a state on the stack that is known to be reachable from each state.
    lowest: Vec<u32>,
    /// Component of each state. Components are numbered in the order in which they are found.
    of: Vec<u32>,
    /// Visited states whose component is not complete yet.
    stack: Vec<u32>,
    /// States whose visit has begun but not ended, each with its remaining steps.
    calls: Vec<(u32, G::Steps<'g>)>,
    count: u32,
    clock: u32,
}

/// One component: its number and its states. `component_numbers` contains the component number of
/// each state, or [`NO_COMPONENT`] if the component of a state is not complete yet.
pub(crate) struct StrongComponent<'c> {
    pub(crate) number: u32,
    pub(crate) members: &'c [u32],
    pub(crate) component_numbers: &'c [u32],
}

impl StrongComponent<'_> {
    pub(crate) fn contains(&self, state: u32) -> bool {
        self.component_numbers.get(state as usize) == Some(&self.number)
    }
}

impl<'g, G, B, S> StrongComponentSearch<'g, G, B, S>
where
    G: StepGraph,
    B: Fn(u32) -> bool,
    S: Fn(u32, G::Step) -> bool,
{
    pub(crate) fn new(graph: &'g G, belongs: B, stays: S) -> Self {
        let states = graph.state_count();
        StrongComponentSearch {
            graph,
            belongs,
            stays,
            visited_at: vec![UNVISITED; states],
            lowest: vec![0; states],
            of: vec![NO_COMPONENT; states],
            stack: Vec::new(),
            calls: Vec::new(),
            count: 0,
            clock: 0,
        }
    }

    /// Calls `visit` for every component, in the order of their numbers. Returns the component of
    /// each state, or [`NO_COMPONENT`] for a state outside the subgraph. If the analysis is
    /// stopped, returns early. States whose component was not found then have [`NO_COMPONENT`],
    /// too.
    pub(crate) fn visit_components(
        mut self,
        mut visit: impl FnMut(StrongComponent<'_>),
    ) -> Vec<u32> {
        for root in 0..self.graph.state_count() as u32 {
            if self.graph.must_stop_analysis() {
                break;
            }
            if self.visited_at[root as usize] == UNVISITED && (self.belongs)(root) {
                self.walk(root, &mut visit);
            }
        }
        self.of
    }

    fn walk(&mut self, root: u32, visit: &mut impl FnMut(StrongComponent<'_>)) {
        self.enter(root);
        while let Some((state, steps)) = self.calls.last_mut() {
            if self.graph.must_stop_analysis() {
                return;
            }
            let state = *state;
            let Some(step) = steps.next() else {
                self.calls.pop();
                self.leave(state, visit);
                continue;
            };
            if !(self.stays)(state, step) {
                continue;
            }
            let to = G::target(step);
            let index = to as usize;
            if self.visited_at[index] == UNVISITED {
                self.enter(to);
            } else if self.of[index] == NO_COMPONENT {
                let lowest = &mut self.lowest[state as usize];
                *lowest = (*lowest).min(self.visited_at[index]);
            }
        }
    }

    fn enter(&mut self, state: u32) {
        self.clock += 1;
        self.visited_at[state as usize] = self.clock;
        self.lowest[state as usize] = self.clock;
        self.stack.push(state);
        self.calls.push((state, self.graph.steps_from(state)));
    }

    fn leave(&mut self, state: u32, show: &mut impl FnMut(StrongComponent<'_>)) {
        let lowest = self.lowest[state as usize];
        if let Some((caller, _)) = self.calls.last() {
            let callers = &mut self.lowest[*caller as usize];
            *callers = (*callers).min(lowest);
        }
        if lowest != self.visited_at[state as usize] {
            return;
        }
        let begin = self.stack.iter().rposition(|member| *member == state);
        let begin = begin.expect("a state stays on the stack until its component is visited");
        for member in &self.stack[begin..] {
            self.of[*member as usize] = self.count;
        }
        let members = &self.stack[begin..];
        show(StrongComponent { number: self.count, members, component_numbers: &self.of });
        self.stack.truncate(begin);
        self.count += 1;
    }
}
