//! Strongly connected components of the states that are not legitimate.

use crate::stabilization::space::Space;

/// Component of a state that is legitimate, or not assigned to a component yet.
pub(super) const UNASSIGNED: u32 = u32::MAX;

const UNVISITED: u32 = 0;

/// A component, with the components of all states that were assigned so far.
pub(super) struct Component<'c> {
    pub(super) number: u32,
    pub(super) members: &'c [u32],
    pub(super) of: &'c [u32],
}

/// Tarjan's algorithm, without recursion. It reports a component after all components that are
/// reachable from it.
pub(super) struct Components<'a> {
    space: &'a Space<'a>,
    is_legitimate: &'a [bool],
    /// Sequence number of the first visit of each state, from 1.
    visited_at: Vec<u32>,
    lowest: Vec<u32>,
    of: Vec<u32>,
    stack: Vec<u32>,
    calls: Vec<Call>,
    count: u32,
    clock: u32,
}

/// A state whose successors are being visited.
struct Call {
    state: u32,
    /// Successors that are not visited yet.
    targets: Vec<u32>,
}

impl<'a> Components<'a> {
    pub(super) fn new(space: &'a Space<'a>, is_legitimate: &'a [bool]) -> Self {
        let states = space.states as usize;
        Components {
            space,
            is_legitimate,
            visited_at: vec![UNVISITED; states],
            lowest: vec![0; states],
            of: vec![UNASSIGNED; states],
            stack: Vec::new(),
            calls: Vec::new(),
            count: 0,
            clock: 0,
        }
    }

    /// Calls `report` for every component, and returns the component of each state.
    pub(super) fn for_each(mut self, mut report: impl FnMut(Component<'_>)) -> Vec<u32> {
        for root in 0..self.space.states {
            let index = root as usize;
            if !self.is_legitimate[index] && self.visited_at[index] == UNVISITED {
                self.enter(root);
                self.visit(&mut report);
            }
        }
        self.of
    }

    fn enter(&mut self, state: u32) {
        self.clock += 1;
        self.visited_at[state as usize] = self.clock;
        self.lowest[state as usize] = self.clock;
        self.stack.push(state);
        let all = self.space.successors(state).into_iter().map(|successor| successor.to);
        let targets = all.filter(|to| !self.is_legitimate[*to as usize]).collect();
        self.calls.push(Call { state, targets });
    }

    fn visit(&mut self, report: &mut impl FnMut(Component<'_>)) {
        while let Some(call) = self.calls.last_mut() {
            let state = call.state;
            match call.targets.pop() {
                Some(to) if self.visited_at[to as usize] == UNVISITED => self.enter(to),
                Some(to) if self.of[to as usize] == UNASSIGNED => {
                    self.lower(state, self.visited_at[to as usize]);
                }
                Some(_) => {}
                None => {
                    self.calls.pop();
                    let lowest = self.lowest[state as usize];
                    if let Some(parent) = self.calls.last().map(|call| call.state) {
                        self.lower(parent, lowest);
                    }
                    if lowest == self.visited_at[state as usize] {
                        self.close(state, report);
                    }
                }
            }
        }
    }

    fn lower(&mut self, state: u32, to: u32) {
        let lowest = &mut self.lowest[state as usize];
        *lowest = (*lowest).min(to);
    }

    fn close(&mut self, first: u32, report: &mut impl FnMut(Component<'_>)) {
        let from = self.stack.iter().rposition(|state| *state == first);
        let members = self.stack.split_off(from.expect("an open state is on the stack"));
        let number = self.count;
        self.count += 1;
        for member in &members {
            self.of[*member as usize] = number;
        }
        report(Component { number, members: &members, of: &self.of });
    }
}
