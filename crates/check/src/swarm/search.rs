//! Depth-first search that marks visited global states in a table of bits.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::HASHES;
use super::table::{BitstateTable, mix_bits};
use crate::clock::Instant;
use crate::config::SearchConfig;
use crate::error::CheckError;
use crate::explore::successor::{
    DROPPED_BIT, ExceededBound, FAULT_LABEL, StepResult, Successor, WorldRef,
};
use crate::explore::successors::SuccessorWorker;
use crate::explore::{panic_message, state_annotations};
use crate::limits::{SearchProgress, StopReason, StopSignal};
use crate::model::protocol_model::NOT_FAIR_LABEL;
use crate::world::action::{Action, ProcessInput};

/// Number of expanded global states between two reports of progress. At the same time, the search
/// compares the estimated memory with its limit.
const CHECK_INTERVAL: u64 = 1 << 12;

pub(super) struct SwarmSearch<'a> {
    pub(super) config: &'a SearchConfig,
    pub(super) stop: StopSignal,
    /// Size of the table of visited states, in bytes.
    pub(super) bytes: u64,
    /// Seed of the order of the steps and of the hash functions.
    pub(super) seed: u64,
    /// Maximum number of steps of a run: see `SwarmMemberConfig::depth_max`.
    pub(super) depth_max: u32,
    /// Limit on the number of states of this search. It applies in addition to the limit of the
    /// configuration.
    pub(super) states_max: u64,
    /// Properties that the search judges in each step, as bits: one bit for each monitor and one
    /// bit for each expression.
    pub(super) judged_property_bits: u32,
    /// Marks that are forbidden at the end of a run, as bits. A run that can end in a global state
    /// with one of these marks violates a property.
    pub(super) forbidden_at_end: u32,
}

#[derive(Clone, Debug)]
pub(super) struct SwarmViolation {
    /// Index of the initial global state of the run.
    pub(super) first: usize,
    /// Steps of the run.
    pub(super) actions: Vec<Action>,
    pub(super) kind: ViolatedBits,
}

/// Violated properties, as bits. The variant tells whether a step or the end of the run violates
/// the properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViolatedBits {
    /// The last step of the run violates the monitors and expressions that have these bits.
    Step(u32),
    /// The run can end in its last global state, but a property forbids this. Contains the
    /// forbidden marks that are set in this state.
    End(u32),
}

/// A panic during the expansion of the last state of a run.
#[derive(Clone, Debug)]
pub(super) struct SwarmPanic {
    pub(super) first: usize,
    pub(super) actions: Vec<Action>,
    /// Local state and input of the handler that panicked. `None` if the panic occurred outside a
    /// handler.
    pub(super) handler: Option<(u32, ProcessInput)>,
    pub(super) message: String,
}

#[derive(Default)]
pub(super) struct SwarmResult {
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) depth: u32,
    /// Number of global states that were not expanded because they are at the maximum depth.
    pub(super) cut_states: u64,
    /// Two flags: the first is true if a link was full, the second if a term exceeded its bound.
    pub(super) exceeded: [bool; 2],
    pub(super) limit: Option<StopReason>,
    /// True if the search ended because it reached [`SwarmSearch::states_max`].
    pub(super) has_reached_states_max: bool,
    pub(super) violation: Option<SwarmViolation>,
    pub(super) panicked: Option<SwarmPanic>,
    pub(super) table: BitstateTable,
    pub(super) bytes_peak: usize,
}

/// A global state on the current run, with the steps that are still to be explored from it.
#[derive(Clone, Copy, Debug)]
struct Frame {
    action: Action,
    fingerprint: u64,
    /// Index in `steps` of the first unexplored step of this global state.
    first_step: usize,
}

struct SwarmRun<'a> {
    search: SwarmSearch<'a>,
    worker: &'a mut SuccessorWorker,
    /// State of the random numbers that decide the order of the steps.
    random: u64,
    frames: Vec<Frame>,
    /// Encoded global states of all frames, concatenated in the order of [`Self::frames`].
    worlds: Vec<u32>,
    /// Steps that are still to be explored. The steps of the first frame come first, then the steps
    /// of the second frame, and so on.
    steps: Vec<Action>,
    /// Index of the initial global state of the current run.
    first: usize,
    expanded: u64,
    result: SwarmResult,
    started: Instant,
}

impl<'a> SwarmSearch<'a> {
    /// Searches from the initial global states until it finds a violation, reaches a limit, or has
    /// explored all states. Returns an error if the system does not provide the memory for the
    /// table.
    pub(super) fn run(
        self,
        worker: &'a mut SuccessorWorker,
        first: &[(Vec<u32>, u64)],
    ) -> Result<SwarmResult, CheckError> {
        let table = BitstateTable::new(self.bytes, HASHES, self.seed)?;
        let result = SwarmResult { table, ..SwarmResult::default() };
        let random = mix_bits(self.seed);
        let mut run = SwarmRun {
            search: self,
            worker,
            random,
            frames: Vec::new(),
            worlds: Vec::new(),
            steps: Vec::new(),
            first: 0,
            expanded: 0,
            result,
            started: Instant::now(),
        };
        // A panic may leave the state of the search inconsistent. The only use of this state is the
        // run to the panic.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| run.explore(first))) {
            run.result.panicked = Some(SwarmPanic {
                first: run.first,
                actions: run.actions(),
                handler: run.worker.cache.last_handler,
                message: panic_message(payload.as_ref()),
            });
        }
        run.result.bytes_peak = run.result.bytes_peak.max(run.bytes());
        Ok(run.result)
    }
}

impl SwarmRun<'_> {
    fn explore(&mut self, first: &[(Vec<u32>, u64)]) {
        for (index, (world, fingerprint)) in first.iter().enumerate() {
            self.first = index;
            self.worker.cache.last_handler = None;
            self.result.transitions += 1;
            let violated =
                self.worker.initial_custom_violations(world) & self.search.judged_property_bits;
            if violated != 0 {
                self.found(None, ViolatedBits::Step(violated));
            } else if self.insert_first(world, *fingerprint) {
                self.worlds.extend_from_slice(world);
                self.expand(Action(0), *fingerprint);
                self.descend();
            }
            if self.is_ended() {
                return;
            }
        }
    }

    /// Inserts an initial global state into the table. Returns true if the table did not contain
    /// it.
    fn insert_first(&mut self, world: &[u32], fingerprint: u64) -> bool {
        let key = self.worker.canonical_key(world, fingerprint);
        let is_new = self.result.table.insert(key);
        self.result.states += u64::from(is_new);
        is_new
    }

    /// Explores the steps of the frames, beginning with the last frame, until no step is left or
    /// the search must end.
    fn descend(&mut self) {
        let stride = self.worker.rules.layout.stride();
        while let Some(frame) = self.frames.last().copied() {
            if self.is_ended() {
                return;
            }
            if self.steps.len() == frame.first_step {
                self.frames.pop();
                self.worlds.truncate(self.frames.len() * stride);
                continue;
            }
            let action = self.steps.pop().expect("a frame has unexplored steps");
            let begin = self.worlds.len();
            self.worlds.extend_from_within(begin - stride..);
            let world = &mut self.worlds[begin..];
            let stepped = self.worker.perform_without_undo(world, frame.fingerprint, action);
            let StepResult { key, fingerprint, .. } = stepped.expect("the step was possible");
            if !self.result.table.insert(key) {
                self.worlds.truncate(begin);
                continue;
            }
            self.result.states += 1;
            self.result.depth = self.result.depth.max(self.frames.len() as u32);
            if self.frames.len() >= self.search.depth_max as usize {
                self.result.cut_states += 1;
                self.worlds.truncate(begin);
                continue;
            }
            self.expand(action, fingerprint);
        }
    }

    /// Adds a frame for the last global state in `worlds`, and the steps of this state in random
    /// order. `action` is the step that led to the state.
    fn expand(&mut self, action: Action, fingerprint: u64) {
        let first_step = self.steps.len();
        self.frames.push(Frame { action, fingerprint, first_step });
        self.check_limits();
        let stride = self.worker.rules.layout.stride();
        let world = &self.worlds[self.worlds.len() - stride..];
        let (result, steps, wanted) =
            (&mut self.result, &mut self.steps, self.search.judged_property_bits);
        let (mut violation, mut must_continue) = (None, false);
        let mut visit = |successor: Successor<'_>| {
            result.transitions += 1;
            let (outcome, label) = (successor.result, successor.label);
            must_continue |= label != FAULT_LABEL && label & !DROPPED_BIT != NOT_FAIR_LABEL;
            if outcome.violated & wanted != 0 && violation.is_none() {
                violation = Some((successor.action, outcome.violated & wanted));
            }
            if let Some(bound) = outcome.exceeded_bound {
                result.exceeded[usize::from(bound == ExceededBound::Term)] = true;
                return;
            }
            result.exceeded[0] |= outcome.has_dropped_message;
            if !result.table.contains(outcome.key) {
                steps.push(successor.action);
            }
        };
        let seed = WorldRef { world, fingerprint };
        self.worker.cache.last_handler = None;
        self.worker.visit_successors(seed, &mut visit);
        self.worker.visit_time_steps(seed, &mut visit);
        result.exceeded[0] |= std::mem::take(&mut self.worker.has_blocked_duplicate);
        if let Some((action, violated)) = violation {
            return self.found(Some(action), ViolatedBits::Step(violated));
        }
        if !must_continue && self.search.forbidden_at_end != 0 {
            let world = &self.worlds[self.worlds.len() - stride..];
            let marks =
                state_annotations(self.worker, world, None).marks & self.search.forbidden_at_end;
            if marks != 0 {
                return self.found(None, ViolatedBits::End(marks));
            }
        }
        self.shuffle(first_step);
    }

    fn shuffle(&mut self, first_step: usize) {
        let steps = &mut self.steps[first_step..];
        for place in (1..steps.len()).rev() {
            self.random = mix_bits(self.random);
            let other = (u128::from(self.random) * (place as u128 + 1)) >> u64::BITS;
            steps.swap(place, other as usize);
        }
    }

    /// Records a violation by the current run. If `last` is a step, this step extends the run and
    /// causes the violation.
    fn found(&mut self, last: Option<Action>, kind: ViolatedBits) {
        let mut actions = self.actions();
        actions.extend(last);
        self.result.violation = Some(SwarmViolation { first: self.first, actions, kind });
    }

    /// Returns the steps of the current run.
    fn actions(&self) -> Vec<Action> {
        self.frames.iter().skip(1).map(|frame| frame.action).collect()
    }

    fn is_ended(&self) -> bool {
        let SwarmResult { violation, limit, has_reached_states_max, .. } = &self.result;
        violation.is_some() || limit.is_some() || *has_reached_states_max
    }

    /// Counts an expanded global state, and compares the search with its limits. Records a limit
    /// that is reached in the result.
    fn check_limits(&mut self) {
        self.expanded += 1;
        let (states, limits) = (self.result.states, self.search.config.limits);
        self.result.has_reached_states_max = states >= self.search.states_max;
        if limits.states.is_some_and(|most| states >= most) {
            self.result.limit = Some(StopReason::States);
        } else if self.search.stop.must_stop_search() {
            self.result.limit = self.search.stop.reached_limit();
        }
        if !self.expanded.is_multiple_of(CHECK_INTERVAL) {
            return;
        }
        let bytes = self.bytes();
        self.result.bytes_peak = self.result.bytes_peak.max(bytes);
        let memory = limits.bytes.is_some_and(|most| bytes as u64 >= most);
        self.result.limit = self.result.limit.or(memory.then_some(StopReason::Memory));
        if let Some(report) = &self.search.config.on_progress {
            let (depth, waiting) = (self.frames.len() as u32, self.steps.len() as u64);
            report(&SearchProgress {
                states,
                depth,
                waiting,
                bytes,
                elapsed: self.started.elapsed(),
            });
        }
    }

    fn bytes(&self) -> usize {
        let rules = &self.worker.rules;
        let run = self.frames.capacity() * size_of::<Frame>()
            + (self.worlds.capacity() + self.steps.capacity()) * size_of::<u32>();
        let caches = self.worker.cache.bytes() + rules.model.bytes() + rules.network.bytes();
        (self.result.table.bit_count() / u64::from(u8::BITS)) as usize + run + caches
    }
}
