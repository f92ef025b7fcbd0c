//! Comparison of every reachable state and step of an implementation with a model.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tenure_check::{ExplorationReport, GlobalState, StateSpaceObserver, VisitedStep};

use crate::conformance::matching::{StepMatch, StepMatcher};
use crate::model::Model;
use crate::structure::evaluation::{Assignment, Evaluator};
use crate::structure::table::Structure;

/// Function that maps a state of the implementation to a structure of the model.
pub type Abstraction = fn(&GlobalState) -> Structure;

/// Difference between the implementation and the model.
#[derive(Clone, Debug)]
pub enum ConformanceMismatch {
    /// A reachable state of the implementation violates a conjunct or an axiom of the model.
    State {
        /// Name of the conjunct, or statement of the axiom.
        conjunct: &'static str,
        /// State of the implementation, as the model describes it.
        state: Vec<String>,
    },
    /// A step of the implementation that no actions of the model explain.
    Step {
        /// State before the step, as the model describes it.
        before: Vec<String>,
        /// Facts that hold after the step and not before it.
        new: Vec<String>,
        /// Facts that hold before the step and not after it.
        gone: Vec<String>,
        /// Number of the process that takes the step, counted from 1. `None` if the network takes
        /// the step, by a fault such as a lost message.
        process: Option<u32>,
    },
}

/// Results of a comparison.
#[derive(Clone, Debug, Default)]
pub struct ConformanceReport {
    /// Number of processes in the compared group.
    pub size: u32,
    /// Number of compared states.
    pub states: u64,
    /// Number of compared steps.
    pub steps: u64,
    /// Number of steps of the implementation that leave the state of the model unchanged, or only
    /// remove messages that the network may lose.
    pub unchanged: u64,
    /// For each action of the model, by name: the number of times that the action explains a step
    /// of the implementation, alone or together with other actions.
    pub actions: BTreeMap<String, u64>,
    /// First difference, which ended the comparison.
    pub mismatch: Option<ConformanceMismatch>,
    /// True if every reachable state and step was compared. False if a limit or the first
    /// difference ended the exploration.
    pub is_complete: bool,
}

impl ConformanceReport {
    /// Returns true if all compared states and steps agree with the model.
    pub fn agrees(&self) -> bool {
        self.mismatch.is_none()
    }

    /// Returns the comparison as JSON.
    pub fn to_json(&self) -> Json {
        let mismatch = self.mismatch.as_ref().map(|mismatch| match mismatch {
            ConformanceMismatch::State { conjunct, state } => {
                json!({ "conjunct": conjunct, "state": state })
            }
            ConformanceMismatch::Step { before, new, gone, process } => {
                json!({ "process": process, "before": before, "new": new, "gone": gone })
            }
        });
        json!({
            "size": self.size,
            "states": self.states,
            "steps": self.steps,
            "unchanged": self.unchanged,
            "actions": self.actions,
            "is_complete": self.is_complete,
            "agrees": self.agrees(),
            "mismatch": mismatch,
        })
    }
}

/// Compares an implementation with a model. An exploration visits the states and steps of the
/// implementation, and this observer compares each of them.
pub struct ConformanceChecker<'m> {
    model: &'m Model,
    abstraction: Abstraction,
    matcher: StepMatcher<'m>,
    comparison: ConformanceReport,
    /// Structures of all states that were compared so far, without duplicates. Many states of the
    /// implementation have the same structure.
    structures: Vec<Arc<Structure>>,
    /// Index in `structures` of each structure.
    numbers: HashMap<Arc<Structure>, usize>,
    /// Index in `structures` for each visited state of the implementation, in the order of the
    /// visits.
    states: Vec<usize>,
    /// Actions that explain each compared step, or `None` if no actions explain the step. The key
    /// consists of two indices in `structures`: the states before and after the step. Steps of
    /// different processes with the same key are examined only once.
    known: HashMap<(usize, usize), Option<StepMatch>>,
}

impl<'m> ConformanceChecker<'m> {
    /// Creates an observer that compares a group of `size` processes with `model`. The observer
    /// must be passed to an exploration, which visits the states of the implementation and reports
    /// them to the observer.
    pub fn new(model: &'m Model, abstraction: Abstraction, size: u32) -> Self {
        ConformanceChecker {
            model,
            abstraction,
            matcher: StepMatcher::new(model),
            comparison: ConformanceReport { size, ..ConformanceReport::default() },
            structures: Vec::new(),
            numbers: HashMap::new(),
            states: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Returns the results of the comparison. `walk` is the report of the exploration over the
    /// states of the implementation.
    pub fn finish(mut self, walk: ExplorationReport) -> ConformanceReport {
        self.comparison.is_complete = walk.is_complete;
        self.comparison
    }
}

impl ConformanceChecker<'_> {
    /// Maps a new state of the implementation to its structure. Returns the violated conjunct or
    /// axiom, if there is one. Evaluates each structure only once, and returns `None` for a
    /// structure that was evaluated before.
    fn add_state(&mut self, state: &GlobalState) -> Option<ConformanceMismatch> {
        self.comparison.states += 1;
        let structure = (self.abstraction)(state);
        if let Some(number) = self.numbers.get(&structure) {
            self.states.push(*number);
            return None;
        }
        let evaluation = Evaluator::new(&structure);
        let conjuncts = self.model.invariant.iter().map(|it| (it.name, &it.formula));
        let axioms = self.model.axioms.iter().map(|it| (it.statement, &it.formula));
        let violated = axioms
            .chain(conjuncts)
            .find(|(_, formula)| !evaluation.holds(formula, &Assignment::new()));
        let mismatch = violated.map(|(conjunct, _)| {
            let state = structure.facts(self.model.symbols());
            ConformanceMismatch::State { conjunct, state }
        });
        let (structure, number) = (Arc::new(structure), self.structures.len());
        self.states.push(number);
        self.structures.push(Arc::clone(&structure));
        self.numbers.insert(structure, number);
        mismatch
    }

    /// Counts the actions of the model that explain a step of the implementation. Returns a
    /// mismatch if no actions explain this step.
    fn compare_step(&mut self, step: VisitedStep<'_>) -> Option<ConformanceMismatch> {
        self.comparison.steps += 1;
        let [before, after] = [step.before, step.after].map(|state| self.states[state]);
        let [from, to] = [before, after].map(|number| &self.structures[number]);
        let matcher = &mut self.matcher;
        let found = self
            .known
            .entry((before, after))
            .or_insert_with(|| matcher.find_matching_actions(from, to, step.process));
        match found {
            Some(StepMatch::Unchanged) => self.comparison.unchanged += 1,
            Some(StepMatch::Actions(names)) => {
                for name in names {
                    *self.comparison.actions.entry(name.clone()).or_default() += 1;
                }
            }
            None => {
                let symbols = || self.model.state_symbols.iter().copied();
                let (before, after) = (from.facts(symbols()), to.facts(symbols()));
                let new = after.iter().filter(|fact| !before.contains(fact)).cloned().collect();
                let gone = before.iter().filter(|fact| !after.contains(fact)).cloned().collect();
                let process = step.process.map(|process| process + 1);
                return Some(ConformanceMismatch::Step { before, new, gone, process });
            }
        }
        None
    }

    /// Stores `mismatch` in the report. Ends the exploration if there is a mismatch.
    fn end_at(&mut self, mismatch: Option<ConformanceMismatch>) -> ControlFlow<()> {
        let has_ended = mismatch.is_some();
        self.comparison.mismatch = mismatch;
        if has_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl StateSpaceObserver for ConformanceChecker<'_> {
    fn on_initial_state(&mut self, state: &GlobalState) -> ControlFlow<()> {
        let mismatch = self.add_state(state);
        self.end_at(mismatch)
    }

    fn on_step(&mut self, step: VisitedStep<'_>) -> ControlFlow<()> {
        // If both the step and the state after it mismatch, reports the step. The step is the
        // cause: a step of the model would preserve the invariant.
        let violated = step.new_state.and_then(|state| self.add_state(state));
        let mismatch = self.compare_step(step).or(violated);
        self.end_at(mismatch)
    }
}
