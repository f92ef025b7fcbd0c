//! The graph of all states that a search has reached.

use tenure_core::ProcessId;
use tenure_core::shared_memory::LockSection;
use tenure_trace::MemoryAccess;

use crate::limits::StopSignal;
use crate::strong_components::StepGraph;

/// Number of a state. The initial state is 0. States are numbered in the order of their distance
/// from the initial state.
pub(crate) type LockStateId = u32;

/// Target of a step to a state in which a value exceeds its bound. Such states have no numbers of
/// their own.
pub(crate) const OUT_OF_BOUNDS: LockStateId = LockStateId::MAX;

#[derive(Clone, Debug)]
pub(crate) struct SharedMemoryStep {
    pub(crate) process: ProcessId,
    pub(crate) to: LockStateId,
    pub(crate) action: LockAction,
    /// True if the process enters the critical section by this step.
    pub(crate) enters: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LockAction {
    /// The user of the process requests the lock.
    Enter,
    /// The user of the process releases the lock.
    Exit,
    /// The process accesses a register.
    Access(MemoryAccess),
}

impl LockAction {
    /// Returns the memory of the texts of this action, in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        match self {
            LockAction::Enter | LockAction::Exit => 0,
            LockAction::Access(access) => access.register.capacity(),
        }
    }
}

/// States, steps, and a shortest path to each state.
#[derive(Debug, Default)]
pub(crate) struct SharedMemoryGraph {
    /// Section of the lock's code that each process executes. The list contains all processes of
    /// the first state, then all processes of the second state, and so on.
    pub(crate) sections: Vec<LockSection>,
    /// Number of processes.
    pub(crate) size: usize,
    /// For each state: its steps.
    pub(crate) edges: Vec<Vec<SharedMemoryStep>>,
    /// Number of states that the search has expanded. These are the first states. The other states
    /// have no steps in the graph.
    pub(crate) expanded_count: usize,
    /// For each state: its predecessor on a shortest path from the initial state, and the index of
    /// the step from the predecessor.
    pub(crate) origins: Vec<(LockStateId, u32)>,
    /// Distance of each state from the initial state, in steps.
    pub(crate) depths: Vec<u32>,
    /// True if a bound on values pruned states.
    pub(crate) is_pruned: bool,
    /// Signal that stops the analyses of the graph. An analysis that was stopped proves nothing.
    pub(crate) stop: StopSignal,
}

impl SharedMemoryGraph {
    pub(crate) fn len(&self) -> usize {
        self.origins.len()
    }

    /// Returns the numbers of all states, in the order of their distance from the initial state.
    pub(crate) fn states(&self) -> impl Iterator<Item = LockStateId> + use<> {
        0..u32::try_from(self.len()).expect("a search is limited to 2^32 states")
    }

    /// Returns true if analyses of the graph must stop.
    pub(crate) fn must_stop_analysis(&self) -> bool {
        self.stop.must_stop_check()
    }

    pub(crate) fn is_expanded(&self, state: LockStateId) -> bool {
        (state as usize) < self.expanded_count
    }

    /// Returns the number of steps in the graph.
    pub(crate) fn transitions(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    /// Returns the greatest distance of a state from the initial state, in steps.
    pub(crate) fn depth(&self) -> u32 {
        self.depths.last().copied().unwrap_or(0)
    }

    /// Returns the greatest *n* such that the graph contains all runs of at most *n* steps.
    pub(crate) fn complete_depth(&self) -> u32 {
        // The states are expanded in the order of their depths.
        self.depths.get(self.expanded_count).copied().unwrap_or_else(|| self.depth())
    }

    pub(crate) fn processes(&self) -> impl Iterator<Item = ProcessId> + use<> {
        (0..self.size).map(ProcessId::from_index)
    }

    pub(crate) fn sections_in(&self, state: LockStateId) -> &[LockSection] {
        &self.sections[state as usize * self.size..][..self.size]
    }

    pub(crate) fn section(&self, state: LockStateId, process: ProcessId) -> LockSection {
        self.sections_in(state)[process.index()]
    }

    pub(crate) fn processes_in_section(
        &self,
        state: LockStateId,
        is_in: impl Fn(LockSection) -> bool,
    ) -> Vec<ProcessId> {
        self.processes().filter(|process| is_in(self.section(state, *process))).collect()
    }

    /// Returns the steps from a state. Omits steps to states in which a value exceeds the bounds.
    pub(crate) fn steps(&self, state: LockStateId) -> impl Iterator<Item = &SharedMemoryStep> {
        self.edges[state as usize].iter().filter(|edge| edge.to != OUT_OF_BOUNDS)
    }

    /// Returns a shortest path from the initial state to a state.
    pub(crate) fn path_to(&self, mut state: LockStateId) -> Vec<SharedMemoryStep> {
        let mut path = Vec::new();
        while state != 0 {
            let (from, index) = self.origins[state as usize];
            path.push(self.edges[from as usize][index as usize].clone());
            state = from;
        }
        path.reverse();
        path
    }
}

impl StepGraph for SharedMemoryGraph {
    type Step = LockStateId;
    type Steps<'g> = std::iter::Map<
        std::slice::Iter<'g, SharedMemoryStep>,
        fn(&SharedMemoryStep) -> LockStateId,
    >;

    fn state_count(&self) -> usize {
        self.len()
    }

    fn steps_from(&self, state: LockStateId) -> Self::Steps<'_> {
        self.edges[state as usize].iter().map(|edge| edge.to)
    }

    fn target(step: LockStateId) -> LockStateId {
        step
    }

    fn must_stop_analysis(&self) -> bool {
        SharedMemoryGraph::must_stop_analysis(self)
    }
}
