//! Breadth-first search over all interleavings.

use std::collections::{BTreeMap, HashMap};

use tenure_core::shared_memory::{LockSection, Register, SharedMemory, SharedMemoryLock};
use tenure_core::{Group, ProcessId};
use tenure_trace::{MemoryAccess, MemoryOperation};

use super::SharedMemoryLockConfig;
use super::graph::{LockAction, LockStateId, OUT_OF_BOUNDS, SharedMemoryGraph, SharedMemoryStep};
use crate::clock::Instant;
use crate::limits::{SearchProgress, SignalledLimit, StopReason, StopSignal};
use crate::users::entries::RequestLimit;

/// Number of expanded states between two readings of the clock and of the memory.
const STATES_PER_READING: usize = 1024;

/// Number of entries for which a node of a [`BTreeMap`] has room.
const ENTRIES_PER_TREE_NODE: usize = 11;

/// Result of the search: the graph of all states, and the limit that stopped the search, if any.
pub(crate) struct ExploredGraph {
    pub(crate) graph: SharedMemoryGraph,
    pub(crate) limit: Option<StopReason>,
    /// Estimated memory of all states and steps, in bytes.
    pub(crate) bytes: usize,
}

/// Global state: the registers, the processes, and the requests that their users may still issue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SharedMemoryState<L> {
    /// Registers with a value other than 0. A missing register has the value 0.
    registers: BTreeMap<Register, u32>,
    pub(crate) processes: Vec<L>,
    requests: Vec<RequestLimit>,
}

impl<L: SharedMemoryLock> SharedMemoryState<L> {
    pub(crate) fn initial(config: &SharedMemoryLockConfig, lock: &L::Config) -> Self {
        let group = |me| Group::new(ProcessId(me), config.size);
        SharedMemoryState {
            registers: BTreeMap::new(),
            processes: (0..config.size).map(|me| L::boot(group(me), lock)).collect(),
            requests: config.entries.clone(),
        }
    }

    /// Executes the next step of a process. Returns `None`, and changes nothing, if the process has
    /// no step.
    pub(crate) fn step(&mut self, process: ProcessId) -> Option<LockAction> {
        let at = process.index();
        match self.processes[at].section() {
            LockSection::Remainder if !self.requests[at].has_next() => None,
            LockSection::Remainder => {
                self.requests[at] = self.requests[at].after_request();
                self.processes[at].begin_entry();
                Some(LockAction::Enter)
            }
            LockSection::Inside => {
                self.processes[at].exit();
                Some(LockAction::Exit)
            }
            LockSection::Doorway | LockSection::Waiting | LockSection::Exit => {
                let mut memory = OneAccess { registers: &mut self.registers, access: None };
                self.processes[at].step(&mut memory);
                let access = memory.access.expect("an instruction accesses one register");
                Some(LockAction::Access(access))
            }
        }
    }

    /// Returns the estimated memory of this state, in bytes.
    fn bytes(&self) -> usize {
        let registers = self.registers.len().next_multiple_of(ENTRIES_PER_TREE_NODE);
        size_of::<Self>()
            + registers * size_of::<(Register, u32)>()
            + self.processes.len() * (size_of::<L>() + size_of::<RequestLimit>())
    }

    /// Returns true if a register exceeds `bound`. The bound is a pair: the name of an array of
    /// registers, and the maximum of their values.
    fn exceeds(&self, bound: Option<(&str, u32)>) -> bool {
        bound.is_some_and(|(name, most)| {
            self.registers.iter().any(|(register, value)| register.name == name && *value > most)
        })
    }
}

/// Shared memory as a process sees it during one instruction. The instruction must access exactly
/// one register.
struct OneAccess<'a> {
    registers: &'a mut BTreeMap<Register, u32>,
    access: Option<MemoryAccess>,
}

impl OneAccess<'_> {
    fn record(&mut self, operation: MemoryOperation, register: Register, value: u32) {
        assert!(self.access.is_none(), "an instruction accesses one register only");
        let register = register.to_string();
        self.access = Some(MemoryAccess { operation, register, value: value.into() });
    }

    fn value(&self, register: Register) -> u32 {
        self.registers.get(&register).copied().unwrap_or(0)
    }

    fn set(&mut self, register: Register, value: u32) {
        match value {
            0 => self.registers.remove(&register),
            value => self.registers.insert(register, value),
        };
    }
}

impl SharedMemory for OneAccess<'_> {
    fn read(&mut self, register: Register) -> u32 {
        let value = self.value(register);
        self.record(MemoryOperation::Read, register, value);
        value
    }

    fn write(&mut self, register: Register, value: u32) {
        self.record(MemoryOperation::Write, register, value);
        self.set(register, value);
    }

    fn test_and_set(&mut self, register: Register) -> u32 {
        let value = self.value(register);
        self.record(MemoryOperation::TestAndSet, register, value);
        self.set(register, 1);
        value
    }
}

/// States that the search has numbered, and the graph of the states that it has explored.
struct Frontier<L> {
    graph: SharedMemoryGraph,
    numbers: HashMap<SharedMemoryState<L>, LockStateId>,
    states: Vec<SharedMemoryState<L>>,
    /// Estimated memory of all states and steps so far, in bytes.
    bytes: usize,
}

impl<L: SharedMemoryLock> Frontier<L> {
    /// Returns the number of a state. A new state gets the next number, and the graph stores
    /// `origin` and `depth` for it. `origin` contains the number of the predecessor, and the index
    /// of the step from there.
    fn number(
        &mut self,
        state: SharedMemoryState<L>,
        origin: (LockStateId, u32),
        depth: u32,
    ) -> LockStateId {
        if let Some(number) = self.numbers.get(&state) {
            return *number;
        }
        let number = u32::try_from(self.states.len()).expect("fewer than 2^32 states");
        self.graph.sections.extend(state.processes.iter().map(L::section));
        self.graph.origins.push(origin);
        self.graph.depths.push(depth);
        // The search stores each state twice. For each state, the graph stores the section of each
        // process, the origin, the depth, and the list of steps.
        self.bytes += 2 * state.bytes()
            + size_of::<LockStateId>()
            + state.processes.len() * size_of::<LockSection>()
            + size_of::<((LockStateId, u32), u32, Vec<SharedMemoryStep>)>();
        self.numbers.insert(state.clone(), number);
        self.states.push(state);
        number
    }

    /// Returns the steps that are possible in the state with this number, and numbers the states
    /// that they reach.
    fn steps(
        &mut self,
        from: LockStateId,
        config: &SharedMemoryLockConfig,
    ) -> Vec<SharedMemoryStep> {
        let mut edges = Vec::new();
        let depth = self.graph.depths[from as usize] + 1;
        for process in self.graph.processes() {
            let mut next = self.states[from as usize].clone();
            let was_inside = next.processes[process.index()].section() == LockSection::Inside;
            let Some(action) = next.step(process) else { continue };
            let is_inside = next.processes[process.index()].section() == LockSection::Inside;
            let to = match next.exceeds(config.register_bound) {
                true => OUT_OF_BOUNDS,
                false => self.number(next, (from, edges.len() as u32), depth),
            };
            self.graph.is_pruned |= to == OUT_OF_BOUNDS;
            edges.push(SharedMemoryStep { process, to, action, enters: is_inside && !was_inside });
        }
        self.bytes += edges.capacity() * size_of::<SharedMemoryStep>();
        self.bytes += edges.iter().map(|edge| edge.action.text_bytes()).sum::<usize>();
        edges
    }

    /// Returns the limit that the search has reached, or `None` if it may continue. The search is
    /// about to expand the state with the index `next`. At intervals, reports the progress first.
    fn reached_limit(
        &self,
        config: &SharedMemoryLockConfig,
        started: Instant,
        next: usize,
    ) -> Option<StopReason> {
        let (limits, stop, states) = (config.limits, &self.graph.stop, self.states.len() as u64);
        if next.is_multiple_of(STATES_PER_READING) {
            if let Some(report) = &config.on_progress {
                report(&self.progress(started, next));
            }
            let time = limits.search_time_limit(true);
            if time.is_some_and(|most| started.elapsed() >= most) {
                stop.raise(SignalledLimit::SearchTime);
            }
            // The analyses need memory, too, so this limit also stops them.
            if limits.reached_limit(states, self.bytes, 0) == Some(StopReason::Memory) {
                stop.raise(SignalledLimit::Memory);
            }
        }
        if stop.must_stop_search() {
            return stop.reached_limit();
        }
        limits.states.is_some_and(|most| states >= most).then_some(StopReason::States)
    }

    /// Returns the figures of the search, which is about to expand the state with the index `next`.
    fn progress(&self, started: Instant, next: usize) -> SearchProgress {
        // The states are numbered in the order of their depths.
        let (depth, later) = (self.graph.depths[next], &self.graph.depths[next..]);
        SearchProgress {
            states: self.states.len() as u64,
            depth,
            waiting: later.partition_point(|it| *it == depth) as u64,
            bytes: self.bytes,
            elapsed: started.elapsed(),
        }
    }
}

/// Builds the graph of all states, until a limit is reached or `stop` is raised. `started` is the
/// moment at which the check began.
pub(crate) fn build_state_graph<L: SharedMemoryLock>(
    config: &SharedMemoryLockConfig,
    lock: &L::Config,
    stop: StopSignal,
    started: Instant,
) -> ExploredGraph {
    let size = config.size as usize;
    let graph = SharedMemoryGraph { size, stop, ..SharedMemoryGraph::default() };
    let mut frontier = Frontier { graph, numbers: HashMap::new(), states: Vec::new(), bytes: 0 };
    frontier.number(SharedMemoryState::<L>::initial(config, lock), (0, 0), 0);
    let mut limit = None;
    let mut next = 0;
    while next < frontier.states.len() {
        limit = frontier.reached_limit(config, started, next);
        if limit.is_some() {
            break;
        }
        let edges = frontier.steps(next as LockStateId, config);
        frontier.graph.edges.push(edges);
        next += 1;
    }
    frontier.graph.expanded_count = next;
    // States that were not expanded have no steps.
    frontier.graph.edges.resize_with(frontier.states.len(), Vec::new);
    ExploredGraph { graph: frontier.graph, limit, bytes: frontier.bytes }
}
