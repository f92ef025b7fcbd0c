//! Verdicts about all states of a system.

use std::collections::BTreeSet;

use tenure_core::stabilization::SystemStep;

use crate::shortest_walk::shortest_walk;
use crate::stabilization::space::{StateSpace, SystemSuccessor};
use crate::strong_components::{NO_COMPONENT, StrongComponent, StrongComponentSearch};

/// Approximate number of states that the search for a shortest cycle may visit.
const CYCLE_BUDGET: usize = 1_000_000;

pub(super) struct StabilizationAnalysis<'s> {
    pub(super) space: StateSpace<'s>,
    pub(super) is_legitimate: Vec<bool>,
    /// Total number of steps that are possible in all states.
    pub(super) transitions: u64,
    /// A legitimate state, and a step from it to a state that is not legitimate. Such a step
    /// violates closure. `None` if there is no such step.
    pub(super) closure_violation: Option<(u32, SystemSuccessor)>,
    /// For each state, the number of the strongly connected component that contains the state. Only
    /// states that are not legitimate form components. The number for a legitimate state is
    /// [`NO_COMPONENT`].
    component: Vec<u32>,
    /// For each component: the greatest number of moves from one of its states to a legitimate
    /// state.
    moves: Vec<u32>,
    /// A state that is not legitimate and has no step, if any.
    pub(super) dead_end: Option<u32>,
    /// States of the smallest component in which a schedule can stay for ever, if any.
    trap: Option<Vec<u32>>,
    /// True if there is no bound on the number of moves to a legitimate state.
    pub(super) is_unbounded: bool,
}

/// A path through the states: the first state, and the steps.
pub(super) struct SystemPath {
    pub(super) first: u32,
    pub(super) steps: Vec<SystemSuccessor>,
}

impl<'s> StabilizationAnalysis<'s> {
    pub(super) fn new(space: StateSpace<'s>) -> Self {
        let is_legitimate: Vec<bool> = (0..space.state_count)
            .map(|state| space.system.is_legitimate(&space.decode_state(state)))
            .collect();
        let mut analysis = StabilizationAnalysis {
            space,
            is_legitimate,
            transitions: 0,
            closure_violation: None,
            component: Vec::new(),
            moves: Vec::new(),
            dead_end: None,
            trap: None,
            is_unbounded: false,
        };
        analysis.judge_steps();
        analysis.judge_components();
        analysis
    }

    /// Counts all steps of the system. Looks for a violation of closure: a step from a legitimate
    /// state to a state that is not legitimate. Also looks for a state that is not legitimate and
    /// has no step.
    fn judge_steps(&mut self) {
        for state in 0..self.space.state_count {
            let successors = self.space.successors(state);
            self.transitions += successors.len() as u64;
            if self.is_legitimate[state as usize] {
                let leaves = |it: &&SystemSuccessor| !self.is_legitimate[it.to as usize];
                let leaving = successors.iter().find(leaves).map(|it| (state, *it));
                self.closure_violation = self.closure_violation.or(leaving);
            } else if successors.is_empty() {
                self.dead_end = self.dead_end.or(Some(state));
            }
        }
    }

    fn judge_components(&mut self) {
        let (mut moves, mut trap, mut is_unbounded) = (Vec::new(), None, false);
        let belongs = |state: u32| !self.is_legitimate[state as usize];
        let components =
            StrongComponentSearch::new(&self.space, belongs, |_, step: SystemSuccessor| {
                belongs(step.to)
            });
        let component = components.visit_components(|component| {
            let verdict = ComponentVerdict::of(&self.space, &component, &moves);
            moves.push(verdict.moves);
            is_unbounded |= verdict.has_inner_move;
            let smallest = trap.as_ref().map_or(usize::MAX, |trap: &Vec<u32>| trap.len());
            if verdict.is_trap && component.members.len() < smallest {
                trap = Some(component.members.to_vec());
            }
        });
        self.component = component;
        (self.moves, self.trap, self.is_unbounded) = (moves, trap, is_unbounded);
    }

    /// Returns true if every schedule reaches a legitimate state, from every state.
    pub(super) fn converges(&self) -> bool {
        self.dead_end.is_none() && self.trap.is_none()
    }

    /// Returns the greatest number of moves from this state until a legitimate state is reached.
    fn moves_from(&self, state: u32) -> u32 {
        match self.component[state as usize] {
            NO_COMPONENT => 0,
            component => self.moves[component as usize],
        }
    }

    /// Returns the greatest number of moves over all states, and a schedule with this number of
    /// moves. If the number of moves has no bound, both results are meaningless.
    pub(super) fn worst_schedule(&self) -> (u32, SystemPath) {
        let all = (0..self.space.state_count).rev();
        let first = all.max_by_key(|state| self.moves_from(*state)).unwrap_or(0);
        let mut path = SystemPath { first, steps: Vec::new() };
        let mut at = first;
        while !self.is_legitimate[at as usize] {
            let wanted = self.moves_from(at);
            let leads_on = |it: &SystemSuccessor| {
                !self.is_inner(at, it.to)
                    && u32::from(it.step.is_move) + self.moves_from(it.to) == wanted
            };
            let steps = self.search(at, &leads_on);
            // A state without a step ends the schedule.
            let Some(steps) = steps else { break };
            at = steps.last().map_or(at, |step| step.to);
            path.steps.extend(steps);
        }
        (self.moves_from(first), path)
    }

    /// Returns a cycle that a schedule can repeat for ever, and that contains no legitimate state.
    /// `None` if there is no such cycle. The last step leads back to the first state.
    pub(super) fn illegitimate_cycle(&self) -> Option<SystemPath> {
        let trap = self.trap.as_ref()?;
        if self.space.system.assumes_weak_fairness() {
            return Some(self.fair_cycle(trap));
        }
        let starts = trap.iter().take(1 + CYCLE_BUDGET / trap.len());
        let cycles = starts.filter_map(|first| {
            let steps = self.search(*first, &|it: &SystemSuccessor| it.to == *first)?;
            Some(SystemPath { first: *first, steps })
        });
        cycles.min_by_key(|cycle| cycle.steps.len())
    }

    /// Returns a cycle in the component `trap` that a fair schedule can repeat. Every rule of every
    /// machine is applied somewhere in the cycle, or is not applicable in some state of the cycle.
    fn fair_cycle(&self, trap: &[u32]) -> SystemPath {
        let first = *trap.iter().min().expect("a component has a state");
        let mut path = SystemPath { first, steps: Vec::new() };
        let (mut at, mut pending) = (first, steps_of(&self.space.successors(first)));
        while let Some(step) = pending.first().copied() {
            let settles = |it: &SystemSuccessor| {
                let is_inner = self.is_inner(at, it.to);
                is_inner && (it.step == step || !self.is_possible(it.to, step))
            };
            let steps = self.search(at, &settles).expect("the component is a trap");
            for taken in steps {
                at = taken.to;
                pending.remove(&taken.step);
                pending.retain(|step| self.is_possible(at, *step));
                path.steps.push(taken);
            }
        }
        if at != first || path.steps.is_empty() {
            let back = self.search(at, &|it: &SystemSuccessor| it.to == first);
            path.steps.extend(back.expect("a component is strongly connected"));
        }
        path
    }

    fn is_possible(&self, state: u32, step: SystemStep) -> bool {
        steps_of(&self.space.successors(state)).contains(&step)
    }

    /// Returns true if both states are in the same component of states that are not legitimate.
    fn is_inner(&self, from: u32, to: u32) -> bool {
        let component = self.component[to as usize];
        component != NO_COMPONENT && component == self.component[from as usize]
    }

    /// Returns the steps of a shortest walk that begins at `from` and ends with a step that
    /// `is_goal` accepts. Returns `None` if there is no such walk. All steps except the last one
    /// must stay in the component of `from`.
    fn search(
        &self,
        from: u32,
        is_goal: &dyn Fn(&SystemSuccessor) -> bool,
    ) -> Option<Vec<SystemSuccessor>> {
        let steps = |state| {
            let next = move |it: &SystemSuccessor| self.is_inner(from, it.to).then_some(it.to);
            Some(self.space.successors(state).into_iter().map(move |it| (it, next(&it))))
        };
        shortest_walk(from, steps, |it, _| is_goal(it))
    }
}

fn steps_of(successors: &[SystemSuccessor]) -> BTreeSet<SystemStep> {
    successors.iter().map(|successor| successor.step).collect()
}

struct ComponentVerdict {
    /// Greatest number of moves from the component to a legitimate state. Includes the move that
    /// leaves the component, but no moves inside the component.
    moves: u32,
    /// True if a schedule can stay in the component for ever. If the system assumes fairness, only
    /// fair schedules count.
    is_trap: bool,
    /// True if a move leads from one state of the component to another state of the component.
    has_inner_move: bool,
}

impl ComponentVerdict {
    /// Judges a component. All other components that can be reached from this component must have
    /// been judged before. For each judged component, `moves` contains the greatest number of moves
    /// from the component to a legitimate state.
    fn of(space: &StateSpace<'_>, component: &StrongComponent<'_>, moves: &[u32]) -> Self {
        let mut verdict = ComponentVerdict { moves: 0, is_trap: false, has_inner_move: false };
        let (mut taken, mut has_inner_step) = (BTreeSet::new(), false);
        // Steps that are possible in all states of the component.
        let mut lasting: Option<BTreeSet<SystemStep>> = None;
        for member in component.members {
            let successors = space.successors(*member);
            for SystemSuccessor { step, to } in &successors {
                let number = component.component_numbers[*to as usize];
                let is_move = u32::from(step.is_move);
                if number == component.number {
                    has_inner_step = true;
                    verdict.has_inner_move |= step.is_move;
                    taken.insert(*step);
                } else {
                    let rest = moves.get(number as usize).copied().unwrap_or(0);
                    verdict.moves = verdict.moves.max(is_move + rest);
                }
            }
            if space.system.assumes_weak_fairness() {
                let possible = steps_of(&successors);
                match &mut lasting {
                    Some(lasting) => lasting.retain(|step| possible.contains(step)),
                    None => lasting = Some(possible),
                }
            }
        }
        let is_fair = lasting.unwrap_or_default().is_subset(&taken);
        verdict.is_trap = has_inner_step && is_fair;
        verdict
    }
}
