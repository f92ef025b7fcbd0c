//! Replays a run found by the search, with the full content of each step.

use std::sync::Arc;

use tenure_core::{ChannelOrder, ProcessId};

use crate::explore::SearchResult;
use crate::explore::successor::{TIME_LABEL, WorldRef};
use crate::explore::successors::SuccessorWorker;
use crate::explore::visited::StateId;
use crate::model::SearchModel;
use crate::model::cache::SlotKind;
use crate::model::step_content::{DebugText, StepEffects, StepInput};
use crate::reduce::canonical::smallest_timestamp;
use crate::world::action::{Action, ActionKind, ProcessInput};
use crate::world::rules::SearchRules;

/// Path to a global state: an initial state, and the actions that lead from it to the global state.
#[derive(Clone, Debug)]
pub(crate) struct RunPath {
    pub(crate) first: StateId,
    pub(crate) actions: Vec<Action>,
}

/// Returns the path by which the search first reached a state.
pub(crate) fn path_to(explored: &SearchResult, id: StateId) -> RunPath {
    let mut actions = Vec::new();
    let mut first = id;
    loop {
        let origin = explored.shards[first.shard()].origin(first.index());
        if origin.parent == StateId::OUT_OF_BOUNDS {
            break;
        }
        actions.push(origin.action);
        first = origin.parent;
    }
    actions.reverse();
    RunPath { first, actions }
}

pub(crate) struct ReplayedStep {
    pub(crate) kind: ActionKind,
    /// Process that receives the input. If the step loses or duplicates a message, this is the
    /// sender of the message. If time passes or a partition begins, this is the first process, and
    /// has no meaning.
    pub(crate) at: ProcessId,
    pub(crate) content: StepInput,
    pub(crate) effects: StepEffects,
}

/// A run under replay. The replay keeps two forms of the current global state: `world` is the form
/// that the search stores, and `unreduced` is the form in which timestamps are not shifted.
pub(crate) struct Replay {
    pub(crate) reduced_worker: SuccessorWorker,
    plain_worker: SuccessorWorker,
    pub(crate) world: Vec<u32>,
    pub(crate) fingerprint: u64,
    unreduced: Vec<u32>,
    /// Number by which each timestamp in `world` is lower than the same timestamp in `unreduced`.
    shift: u64,
}

impl Replay {
    pub(crate) fn new(rules: &Arc<SearchRules>, explored: &SearchResult, first: StateId) -> Self {
        let begin = explored.initial_worlds.iter().find(|(id, ..)| *id == first);
        let (_, world, fingerprint) = begin.expect("a path begins in an initial world");
        Replay::starting_at(rules, world, *fingerprint)
    }

    pub(crate) fn starting_at(rules: &Arc<SearchRules>, world: &[u32], fingerprint: u64) -> Self {
        let plain_worker = SearchRules { shifts_timestamps: false, ..SearchRules::clone(rules) };
        Replay {
            reduced_worker: SuccessorWorker::new(Arc::clone(rules)),
            plain_worker: SuccessorWorker::new(Arc::new(plain_worker)),
            world: world.to_vec(),
            fingerprint,
            unreduced: world.to_vec(),
            shift: 0,
        }
    }

    /// Takes a step, and returns its content. `action` is an action of the search in `world`.
    pub(crate) fn apply(&mut self, action: Action) -> ReplayedStep {
        let unreduced_action = self.translate(action);
        let taken = self.describe_step(unreduced_action);
        let result =
            self.reduced_worker.perform_without_undo(&mut self.world, self.fingerprint, action);
        self.fingerprint = result.expect("the search took this step").fingerprint;
        let result =
            self.plain_worker.perform_without_undo(&mut self.unreduced, 0, unreduced_action);
        assert!(result.is_some(), "a step is possible without reductions too");
        if self.reduced_worker.rules.shifts_timestamps {
            let layout = self.plain_worker.rules.layout;
            self.shift = smallest_timestamp(&mut self.plain_worker.cache, layout, &self.unreduced)
                .unwrap_or(0);
        }
        taken
    }

    /// Returns an action that leads from the current global state to the state `to`, which the
    /// search has found. In the graph, the step has the label `label`. `None` if there is no such
    /// action. If the label is [`TIME_LABEL`] and no action is found, returns the passing of time.
    pub(crate) fn find_action_to(
        &mut self,
        search: &SearchResult,
        to: StateId,
        label: u32,
    ) -> Option<Action> {
        let world = self.world.clone();
        let from = WorldRef { world: &world, fingerprint: self.fingerprint };
        let found = self.reduced_worker.find_action_to(from, search, to, label);
        if found.is_some() || label != TIME_LABEL {
            return found;
        }
        Some(Action::new(ActionKind::Tick, 0, 0, 0))
    }

    /// Returns the id of the state that the monitor at `slot` has before the next step.
    pub(crate) fn monitor_state_id(&self, slot: usize) -> u32 {
        self.unreduced[slot]
    }

    /// Returns the id of the observation that the monitors would receive if `action` were the next
    /// step. Returns 0 if they would observe nothing.
    pub(crate) fn observation_id(&mut self, action: Action) -> u32 {
        let action = self.translate(action);
        let Some(cause) = self.plain_worker.process_input(&self.unreduced, action) else {
            return 0;
        };
        let process = self.plain_worker.process_of(action);
        let memory = &mut self.plain_worker.cache;
        memory.outcome_at(self.unreduced[process], cause, action.outcome()).observation
    }

    /// Converts an action in the global state `world` to the same action in the global state
    /// `unreduced`. The timestamps of the two states differ. A reordering link sorts its messages
    /// by content, so a message may have another position in `unreduced` than in `world`.
    fn translate(&mut self, action: Action) -> Action {
        let about_a_link =
            matches!(action.kind(), ActionKind::Deliver | ActionKind::Lose | ActionKind::Duplicate);
        let rules = Arc::clone(&self.reduced_worker.rules);
        if !rules.shifts_timestamps || rules.order == ChannelOrder::Fifo || !about_a_link {
            return action;
        }
        let slot = action.slot();
        let wanted = {
            let queue = self.reduced_worker.cache.cached_queue(self.world[slot]);
            self.reduced_worker.cache.item_of(queue, action.item()).packet
        };
        let queue = self.plain_worker.cache.cached_queue(self.unreduced[slot]);
        let indices = 0..self.plain_worker.cache.item_indices(queue).len();
        let item = indices
            .into_iter()
            .find(|item| {
                let packet = self.plain_worker.cache.item_of(queue, *item).packet;
                let alone =
                    rules.network.queue_with_appended(0, packet).expect("a link holds one").id;
                let shifted = self.plain_worker.cache.shift(SlotKind::Queue, alone, self.shift).id;
                rules.network.packets_in(shifted) == [wanted]
            })
            .expect("a message in flight is in flight without reductions, too");
        Action::new(action.kind(), slot, item, action.outcome())
    }

    /// Returns the kind, the process, the input and the effects of a step, without taking the step.
    /// `action` is an action in the state `world`.
    pub(crate) fn describe_action(&mut self, action: Action) -> ReplayedStep {
        let unreduced_action = self.translate(action);
        self.describe_step(unreduced_action)
    }

    /// Does the same as [`Replay::describe_action`] for an action in the state `unreduced`.
    fn describe_step(&mut self, action: Action) -> ReplayedStep {
        let kind = action.kind();
        let Some(cause) = self.plain_worker.process_input(&self.unreduced, action) else {
            let content = self.describe_environment(action);
            let at = match &content {
                StepInput::Message(from, ..) => *from,
                _ => ProcessId(0),
            };
            return ReplayedStep { kind, at, content, effects: StepEffects::default() };
        };
        let process = self.plain_worker.process_of(action);
        let (local, outcome) = (self.unreduced[process], action.outcome());
        let (at, content) = self.model().step_input(local, cause, Some(outcome));
        ReplayedStep { kind, at, content, effects: self.model().effects(local, cause, outcome) }
    }

    fn model(&self) -> &dyn SearchModel {
        &*self.plain_worker.rules.model
    }

    fn describe_environment(&mut self, action: Action) -> StepInput {
        if action.kind() == ActionKind::Tick {
            return StepInput::Nothing;
        }
        if action.kind() == ActionKind::Partition {
            return StepInput::Split(self.plain_worker.rules.partition_side);
        }
        let queue = self.plain_worker.cache.cached_queue(self.unreduced[action.slot()]);
        let packet = self.plain_worker.cache.item_of(queue, action.item()).packet;
        let packet = self.plain_worker.rules.network.packet_by_id(packet);
        StepInput::Message(ProcessId(packet.from), ProcessId(packet.to), packet.message)
    }

    /// Returns the id of the local state of a process in `unreduced`, the current global state
    /// without reductions.
    pub(crate) fn local_state_id(&self, at: ProcessId) -> u32 {
        self.unreduced[at.index()]
    }

    /// Returns the state of a process as text, or `None` if the process is down.
    pub(crate) fn state(&self, at: ProcessId) -> Option<DebugText> {
        self.model().state_text(self.local_state_id(at))
    }

    /// Returns the names of the armed timers of a process.
    pub(crate) fn armed_timers(&self, at: ProcessId) -> Vec<DebugText> {
        self.model().armed_timers(self.local_state_id(at))
    }

    /// Returns the actions that are possible now, except the passing of time and the ends of steps.
    pub(crate) fn possible_actions(&mut self) -> Vec<Action> {
        let world = self.world.clone();
        self.reduced_worker
            .possible_actions(WorldRef { world: &world, fingerprint: self.fingerprint })
    }

    /// Returns the content of a step whose handler panicked. The handler ran in the local state
    /// `local` with the input `cause`. The content lists no effects.
    pub(crate) fn describe_panicked_step(&self, local: u32, cause: ProcessInput) -> ReplayedStep {
        let (at, content) = self.model().step_input(local, cause, None);
        let kind = match cause {
            ProcessInput::Command(_) | ProcessInput::Timer(_) | ProcessInput::Notify => {
                ActionKind::Internal
            }
            ProcessInput::Deliver(_) => ActionKind::Deliver,
            ProcessInput::Suspect(_) => ActionKind::Suspect,
            ProcessInput::Trust(_) => ActionKind::Trust,
            ProcessInput::Crash => ActionKind::Crash,
            ProcessInput::Recover => ActionKind::Recover,
            ProcessInput::Send(_) => ActionKind::Send,
            ProcessInput::RestartSuspect(_) => ActionKind::RestartSuspect,
            ProcessInput::RestartTrust(_) => ActionKind::RestartTrust,
            ProcessInput::Mute => ActionKind::Mute,
            ProcessInput::StepEnd => ActionKind::StepEnd,
        };
        ReplayedStep { kind, at, content, effects: StepEffects::default() }
    }

    pub(crate) fn is_down(&self, at: ProcessId) -> bool {
        self.model().local_facts_and_inputs(self.local_state_id(at)).0.down
    }
}

pub(crate) const TIME_PASSES_TEXT: &str = "a unit of time passes";

pub(crate) const STEP_ENDS_TEXT: &str = "end of a step";
