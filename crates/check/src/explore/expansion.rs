//! Expansion of global states: a thread computes the successors of all states in a chunk of a
//! level.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::frontier::UnpackedStates;
use crate::explore::successor::{ExceededBound, Successor, WorldRef};
use crate::explore::successors::SuccessorWorker;
use crate::explore::visited::{SHARD_COUNT, StateId, shard_of};
use crate::world::action::{Action, ProcessInput};

/// Successor of a global state under expansion. The visited set may contain it already.
#[derive(Clone, Copy, Debug)]
pub(super) struct CandidateSuccessor {
    /// Key of the successor in the visited set: see
    /// [`StepResult::key`](super::successor::StepResult::key).
    pub(super) key: u64,
    /// Parent of the candidate: the global state in which the step to the candidate starts. The
    /// number is the index of the parent in the block of states that the search currently expands.
    pub(super) parent: u32,
    pub(super) action: Action,
    /// Label of the step in the graph: see [`Successor::stored_label`].
    pub(super) label: u32,
}

/// A step that violates a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViolatingStep {
    /// State in which the step starts.
    pub(crate) from: StateId,
    pub(crate) action: Action,
    /// Number of steps of the run that ends with this step. If it is 0, the initial state `from`
    /// violates the property itself, and `action` has no meaning.
    pub(crate) length: u32,
}

/// A panic during the expansion of a global state.
#[derive(Clone, Debug)]
pub(crate) struct HandlerPanic {
    /// State under expansion.
    pub(crate) from: StateId,
    /// Local state and input of the handler that panicked. `None` if the panic occurred outside a
    /// handler.
    pub(crate) handler: Option<(u32, ProcessInput)>,
    pub(crate) message: String,
}

/// Result of the expansion of all global states in a chunk: their successors, and facts about their
/// steps.
#[derive(Default)]
pub(super) struct ChunkExpansion {
    /// Global states of the chunk.
    pub(super) parents: UnpackedStates,
    /// Successors within the declared bounds, by shard.
    pub(super) candidates: Vec<Vec<CandidateSuccessor>>,
    /// Content of the global states in `candidates`, by shard. Empty unless the search stores whole
    /// states.
    pub(super) worlds: Vec<Vec<u32>>,
    /// Steps that lead beyond a declared bound. Each is a pair: the state in which the step starts,
    /// and the label of the step. The state is given by its index in the block of states that the
    /// search currently expands.
    pub(super) out_of_bounds: Vec<(u32, u32)>,
    pub(super) transitions: u64,
    /// Steps that violate properties. Each is paired with the index of the property: monitors come
    /// first, then properties written as expressions.
    pub(super) violations: Vec<(u32, ViolatingStep)>,
    /// Two flags: the first is true if a link was full, the second if a term exceeded its bound.
    pub(super) exceeded: [bool; 2],
    pub(super) panicked: Option<HandlerPanic>,
}

impl ChunkExpansion {
    pub(super) fn new() -> Self {
        ChunkExpansion {
            candidates: vec![Vec::new(); SHARD_COUNT],
            worlds: vec![Vec::new(); SHARD_COUNT],
            ..ChunkExpansion::default()
        }
    }

    /// Empties the expansion, and keeps its allocated memory for reuse.
    pub(super) fn cleared(mut self) -> Self {
        self.parents.clear();
        self.candidates.iter_mut().for_each(Vec::clear);
        self.worlds.iter_mut().for_each(Vec::clear);
        self.out_of_bounds.clear();
        self.violations.clear();
        ChunkExpansion { transitions: 0, exceeded: [false; 2], panicked: None, ..self }
    }

    pub(super) fn bytes(&self) -> usize {
        let candidates: usize = self.candidates.iter().map(Vec::capacity).sum();
        let worlds: usize = self.worlds.iter().map(Vec::capacity).sum();
        self.parents.bytes() + candidates * size_of::<CandidateSuccessor>() + worlds * 4
    }

    /// Adds successors of one global state. If a handler panics, records the panic and stops.
    /// `parent`, `exact` and `time` have the same meaning as in [`Self::expand`].
    pub(super) fn expand_catching_panics(
        &mut self,
        worker: &mut SuccessorWorker,
        world: WorldRef<'_>,
        from: StateId,
        parent: u32,
        (exact, time): (bool, bool),
    ) {
        worker.cache.last_handler = None;
        // State left inconsistent by a panic is never read again, because the search ends.
        let expanded = catch_unwind(AssertUnwindSafe(|| {
            self.expand(worker, world, from, parent, (exact, time));
        }));
        if let Err(payload) = expanded {
            let message = panic_message(payload.as_ref());
            self.panicked =
                Some(HandlerPanic { from, handler: worker.cache.last_handler, message });
        }
    }

    /// Adds successors of one global state. `parent` is the index of this state in the block that
    /// the search currently expands. If `exact` is true, also stores the contents of the
    /// successors. If `time` is true, expands only two kinds of steps: time passes, or a step that
    /// takes time ends. If `time` is false, expands all other steps.
    fn expand(
        &mut self,
        worker: &mut SuccessorWorker,
        world: WorldRef<'_>,
        from: StateId,
        parent: u32,
        (exact, time): (bool, bool),
    ) {
        let weighs = worker.rules.stores_weights;
        let mut visit = |successor: Successor<'_>| {
            self.transitions += 1;
            let (result, action) = (successor.result, successor.action);
            let label = successor.stored_label(weighs);
            if result.violated != 0 {
                let indices = (0..u32::BITS).filter(|index| result.violated & 1 << index != 0);
                let violated = ViolatingStep { from, action, length: 0 };
                self.violations.extend(indices.map(|index| (index, violated)));
            }
            if let Some(cut) = result.exceeded_bound {
                self.exceeded[usize::from(cut == ExceededBound::Term)] = true;
                self.out_of_bounds.push((parent, label));
                return;
            }
            self.exceeded[0] |= result.has_dropped_message;
            let (key, shard) = (result.key, shard_of(result.key));
            self.candidates[shard].push(CandidateSuccessor { key, parent, action, label });
            if exact {
                self.worlds[shard].extend_from_slice(successor.world);
            }
        };
        if time {
            worker.visit_time_steps(world, &mut visit);
        } else {
            worker.visit_successors(world, &mut visit);
        }
        self.exceeded[0] |= std::mem::take(&mut worker.has_blocked_duplicate);
    }
}

pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "panic without a message".to_owned())
}
