//! Exploration of all reachable states without reductions. The exploration is used to compare the
//! code of an algorithm with a separate model of the algorithm.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;
use tenure_trace::state::debug_tree;

use crate::check::Check;
use crate::error::CheckError;
use crate::explore::successor::WorldRef;
use crate::explore::successors::SuccessorWorker;
use crate::model::cache::entry_for_id;
use crate::plan::CheckPlan;
use crate::users::user::Checkable;
use crate::world::action::ActionKind;
use crate::world::rules::SearchRules;

/// State of all processes, and all messages of the protocol in flight. Messages between
/// applications are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalState {
    /// For each process, by index: its state as a tree of values. `None` for a process that is
    /// down.
    pub processes: Vec<Option<Arc<Value>>>,
    /// Messages in flight. They are grouped by link; the messages of a link are in the order of
    /// sending if the link keeps this order.
    pub messages: Vec<InFlightMessage>,
}

/// Message that was sent, and neither received nor lost yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlightMessage {
    /// Index of the sender.
    pub from: u32,
    /// Index of the receiver.
    pub to: u32,
    /// Content of the message as a tree of values.
    pub content: Arc<Value>,
}

/// A step between two reachable states. States are numbered from 0 in the order in which the
/// exploration reaches them.
#[derive(Clone, Copy, Debug)]
pub struct VisitedStep<'a> {
    /// Number of the state before the step.
    pub before: usize,
    /// Number of the state after the step.
    pub after: usize,
    /// State after the step. `None` if the exploration has reached this state before. A new state
    /// gets the next free number, and `after` is this number.
    pub new_state: Option<&'a GlobalState>,
    /// Index of the process that takes the step. `None` for a fault of the network.
    pub process: Option<u32>,
}

/// Receiver of the states and steps of an exploration. The exploration hands over each state once:
/// as an initial state, or with the step that first reaches it.
pub trait StateSpaceObserver {
    /// Receives an initial state. The first call receives state 0, the second call state 1, and so
    /// on. The exploration ends if this method returns a break.
    fn on_initial_state(&mut self, state: &GlobalState) -> ControlFlow<()>;

    /// Receives a step. The exploration ends if this method returns a break.
    fn on_step(&mut self, step: VisitedStep<'_>) -> ControlFlow<()>;
}

/// Result of an exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExplorationReport {
    /// Number of reached states.
    pub states: u64,
    /// Number of steps between reached states.
    pub steps: u64,
    /// True if the exploration visited every reachable state. False if the observer ended the
    /// exploration, a bound was exceeded, or the exploration reached more than the maximum number
    /// of states.
    pub is_complete: bool,
}

impl<P: Checkable> Check<P> {
    /// Explores all reachable states, breadth first, and hands each state and each step to the
    /// observer. No reduction is applied: states that differ only by process names or by a shift of
    /// timestamps are not merged. The exploration ends incomplete when it has reached more than
    /// `max_states` states.
    ///
    /// # Errors
    ///
    /// Returns a [`CheckError`] if the configuration is invalid, or if the boot of a process
    /// violates a property or sends too many messages.
    ///
    /// # Panics
    ///
    /// Panics if time is synchronous, if links have no room for a message, or if a handler panics.
    pub fn visit_reachable_states(
        mut self,
        max_states: u64,
        observer: &mut dyn StateSpaceObserver,
    ) -> Result<ExplorationReport, CheckError> {
        self.plan.config.search.shifts_timestamps = false;
        self.hooks.symmetry = None;
        let rules = self.build_model_and_rules()?;
        self.plan.walk(rules, max_states, observer)
    }
}

impl CheckPlan {
    fn walk(
        &self,
        rules: Arc<SearchRules>,
        max_states: u64,
        observer: &mut dyn StateSpaceObserver,
    ) -> Result<ExplorationReport, CheckError> {
        assert!(!rules.is_timed, "a walk needs asynchronous time");
        let (first, rules) = self.prepare_initial_worlds(rules)?;
        let first = first.into_iter().map(|(world, _)| world).collect();
        Ok(Walk::new(rules, max_states).run(first, observer))
    }
}

struct Walk {
    rules: Arc<SearchRules>,
    visited: HashMap<Vec<u32>, usize>,
    report: ExplorationReport,
    max_states: u64,
    /// For each local state, by id: the state of the process as a tree of values. `None` if the
    /// tree has not been computed yet. `Some(None)` if the process is down.
    states: Vec<Option<Option<Arc<Value>>>>,
    /// For each message, by id: the message as a tree of values. `None` if the tree has not been
    /// computed yet.
    messages: Vec<Option<Arc<Value>>>,
}

impl Walk {
    fn new(rules: Arc<SearchRules>, max_states: u64) -> Self {
        Walk {
            rules,
            visited: HashMap::new(),
            report: ExplorationReport { is_complete: true, ..ExplorationReport::default() },
            max_states,
            states: Vec::new(),
            messages: Vec::new(),
        }
    }

    fn run(
        mut self,
        first: Vec<Vec<u32>>,
        observer: &mut dyn StateSpaceObserver,
    ) -> ExplorationReport {
        let mut worker = SuccessorWorker::new(Arc::clone(&self.rules));
        let mut frontier = Vec::new();
        for world in first {
            if self.visited.contains_key(&world) {
                continue;
            }
            let state = self.global_state(&world);
            let observed = observer.on_initial_state(&state);
            self.number(world.clone());
            frontier.push(world);
            if observed.is_break() || self.report.states > self.max_states {
                return self.ended();
            }
        }
        let mut number = 0;
        while !frontier.is_empty() {
            for world in std::mem::take(&mut frontier) {
                if self.expand(&mut worker, (number, &world), &mut frontier, observer).is_break() {
                    return self.ended();
                }
                number += 1;
            }
        }
        self.report
    }

    fn ended(mut self) -> ExplorationReport {
        self.report.is_complete = false;
        self.report
    }

    /// Returns the number of a state, and true if the state is new. A new state gets the next
    /// number.
    fn number(&mut self, world: Vec<u32>) -> (usize, bool) {
        let next = self.visited.len();
        match self.visited.entry(world) {
            Entry::Occupied(known) => (*known.get(), false),
            Entry::Vacant(entry) => {
                self.report.states += 1;
                (*entry.insert(next), true)
            }
        }
    }

    /// Hands the steps of a state to the observer, and adds the new states to the next level.
    fn expand(
        &mut self,
        worker: &mut SuccessorWorker,
        (before, world): (usize, &[u32]),
        frontier: &mut Vec<Vec<u32>>,
        observer: &mut dyn StateSpaceObserver,
    ) -> ControlFlow<()> {
        let mut successors = Vec::new();
        let layout = self.rules.layout;
        let mut exceeded = false;
        worker.visit_successors(WorldRef { world, fingerprint: 0 }, &mut |successor| {
            exceeded |=
                successor.result.exceeded_bound.is_some() || successor.result.has_dropped_message;
            // A state that exceeds a bound is not visited, because it may lack a message.
            if successor.result.exceeded_bound.is_some() {
                return;
            }
            let process = match successor.action.kind() {
                ActionKind::Lose | ActionKind::Duplicate | ActionKind::Partition => None,
                ActionKind::Deliver => Some(layout.receiver(successor.action.slot()) as u32),
                _ => Some(successor.action.slot() as u32),
            };
            successors.push((process, successor.world.to_vec()));
        });
        exceeded |= std::mem::take(&mut worker.has_blocked_duplicate);
        self.report.is_complete &= !exceeded;
        for (process, world) in successors {
            self.report.steps += 1;
            let (after, is_new) = self.number(world.clone());
            let state = is_new.then(|| self.global_state(&world));
            observer.on_step(VisitedStep { before, after, new_state: state.as_ref(), process })?;
            if is_new {
                if self.report.states > self.max_states {
                    return ControlFlow::Break(());
                }
                frontier.push(world);
            }
        }
        ControlFlow::Continue(())
    }

    fn global_state(&mut self, world: &[u32]) -> GlobalState {
        let layout = self.rules.layout;
        let processes = (0..layout.size).map(|process| self.state(world[process])).collect();
        let mut messages = Vec::new();
        for slot in layout.link_slots().filter(|slot| world[*slot] != 0) {
            for packet in self.rules.network.packets_in(world[slot]) {
                let message = self.rules.network.packet_by_id(packet).message;
                // A message between applications has the id 0 and no content.
                if message != 0 {
                    let (from, to) = (layout.sender(slot) as u32, layout.receiver(slot) as u32);
                    messages.push(InFlightMessage { from, to, content: self.message(message) });
                }
            }
        }
        GlobalState { processes, messages }
    }

    fn state(&mut self, id: u32) -> Option<Arc<Value>> {
        let compute = || self.rules.model.state_text(id).map(|text| Arc::new(debug_tree(&text)));
        entry_for_id(&mut self.states, id).get_or_insert_with(compute).clone()
    }

    fn message(&mut self, id: u32) -> Arc<Value> {
        let compute = || Arc::new(self.rules.model.message_tree(id));
        Arc::clone(entry_for_id(&mut self.messages, id).get_or_insert_with(compute))
    }
}
