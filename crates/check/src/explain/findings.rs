//! Judgements and counterexamples from a finished search.

use std::sync::Arc;

use tenure_core::{ProcessId, Property};
use tenure_trace::{Header, Trace, TraceProducer};

use crate::config::CheckConfig;
use crate::error::CheckError;
use crate::explain::description::StepwiseDescription;
use crate::explain::recorder::ReplayRecorder;
use crate::explain::replay::{Replay, RunPath, path_to};
use crate::explore::SearchResult;
use crate::liveness::Fairness;
use crate::liveness::cycle::fair_cycle;
use crate::liveness::fairness::{
    ProgressViolation, TransientCondition, find_lasting_states, find_progress_violation,
    waiting_conditions_by_process,
};
use crate::liveness::graph::{OutEdge, StateGraph};
use crate::plan::{PropertyCheckKind, SelectedProperty};
use crate::report::{Counterexample, ViolationKind};
use crate::world::action::ProcessInput;
use crate::world::rules::SearchRules;

/// A finished search, with the configuration and the rules that are needed to explain its findings.
pub(crate) struct FinishedSearch {
    pub(crate) config: CheckConfig,
    pub(crate) rules: Arc<SearchRules>,
    pub(crate) explored: SearchResult,
}

impl FinishedSearch {
    /// Returns true if the ample-set reduction was used and its assumption held: every process sent
    /// to its successor only.
    pub(crate) fn is_ample_reduction_valid(&self) -> bool {
        let has_sent_off_ring =
            self.explored.workers.iter().any(|worker| worker.cache.has_sent_off_ring);
        let layout = self.rules.layout;
        let mut first = self.explored.initial_worlds.iter().map(|(_, world, _)| world);
        let begins_on_the_ring = first.all(|world| {
            let mut used = layout.link_slots().filter(|slot| world[*slot] != 0);
            used.all(|slot| layout.is_ring_link(slot))
        });
        self.rules.uses_ample_sets && !has_sent_off_ring && begins_on_the_ring
    }

    /// Judges a property after the search. Returns a counterexample if the property is violated.
    /// Without the graph, judges only single steps.
    pub(crate) fn judge(
        &self,
        selected_property: &SelectedProperty,
        graph: Option<&StateGraph>,
    ) -> Option<Counterexample> {
        let property = selected_property.property;
        match (selected_property.kind, graph) {
            (PropertyCheckKind::Always(index), _) => self.shortest_step_violation(property, index),
            (PropertyCheckKind::AlwaysAndAtEnd(index), Some(graph)) => self
                .shortest_step_violation(property, index)
                .or_else(|| self.some_end_violation(property, index, graph)),
            (PropertyCheckKind::Progress, Some(graph)) => {
                self.progress_violation(property, graph, true)
            }
            (PropertyCheckKind::StarvationFreedom, Some(graph)) => {
                self.progress_violation(property, graph, false)
            }
            (PropertyCheckKind::DeadlockFreedom, Some(graph)) => self.deadlock(property, graph),
            (PropertyCheckKind::CustomSafety(index), _) => {
                self.shortest_custom_violation(property, index)
            }
            (PropertyCheckKind::CustomLiveness(index), Some(graph)) => {
                self.custom_liveness_violation(property, index, graph)
            }
            // Without a complete graph, only single steps can be judged.
            (PropertyCheckKind::AlwaysAndAtEnd(index), None) => {
                self.shortest_step_violation(property, index)
            }
            (_, None) => None,
        }
    }

    /// Returns a counterexample with a shortest run whose last step violates the property of the
    /// monitor at `index`. `None` if the search found no such step.
    fn shortest_step_violation(&self, property: Property, index: usize) -> Option<Counterexample> {
        let violated = self.explored.violations[index]?;
        let mut path = path_to(&self.explored, violated.from);
        path.actions.push(violated.action);
        let found = self.step_violation(property, index, &path);
        assert_eq!(
            found.step_count(),
            violated.length as usize,
            "all steps of the path are described"
        );
        Some(found)
    }

    /// Returns a counterexample for the run `path`. The last step of this run violates the property
    /// of the monitor at `index`.
    pub(crate) fn step_violation(
        &self,
        property: Property,
        index: usize,
        path: &RunPath,
    ) -> Counterexample {
        let explanation = self.violation(path, index);
        self.counterexample(property, ViolationKind::Step, explanation, path, None)
    }

    /// Looks for a state in which a run can end although the monitor at `index` forbids this end.
    /// Returns a counterexample with a run to this state, or `None` if there is no such state.
    fn some_end_violation(
        &self,
        property: Property,
        index: usize,
        graph: &StateGraph,
    ) -> Option<Counterexample> {
        let refused =
            TransientCondition::until_all_cleared(self.rules.layout.end_violation_mask(index));
        // A run that ends is fair under every assumption, so weak fairness suffices.
        let world = find_lasting_states(graph, refused, Fairness::Weak).first()?;
        let path = path_to(&self.explored, graph.state_id(world));
        Some(self.end_violation(property, index, &path))
    }

    /// Returns a counterexample for the run `path`. The monitor at `index` forbids that a run ends
    /// in the last state of `path`.
    pub(crate) fn end_violation(
        &self,
        property: Property,
        index: usize,
        path: &RunPath,
    ) -> Counterexample {
        let replay = self.replay_path(path);
        let state = replay.monitor_state_id(self.rules.layout.monitor_slot(index));
        let verdict = self.rules.model.judge_end(index, state);
        let explanation = verdict.err().map_or_else(String::new, |violation| violation.message);
        self.counterexample(property, ViolationKind::End, explanation, path, None)
    }

    /// Returns the counterexample for a run that violates a property because it ends too early.
    /// `marks` are the marks of the last global state of the run. They show which users still wait,
    /// or which events are still due.
    pub(crate) fn early_end_violation(
        &self,
        selected: &SelectedProperty,
        marks: u32,
        path: &RunPath,
    ) -> Counterexample {
        let layout = self.rules.layout;
        let explanation = if let PropertyCheckKind::CustomLiveness(index) = selected.kind {
            self.explain_missing_event(index, marks)
        } else {
            let waits =
                |at: &usize| marks & (layout.waiting_mask(*at) | layout.uninformed_mask(*at)) != 0;
            let waiting: Vec<_> =
                (0..layout.size).filter(waits).map(ProcessId::from_index).collect();
            format!("{}, and the run can end here", waits_in_words(&waiting))
        };
        self.counterexample(selected.property, ViolationKind::End, explanation, path, None)
    }

    /// Looks for a process that may wait forever to be served. If `all` is true, also looks for a
    /// process that may wait forever to be informed of a result. Returns a counterexample, or
    /// `None` if there is no such process.
    fn progress_violation(
        &self,
        property: Property,
        graph: &StateGraph,
        all: bool,
    ) -> Option<Counterexample> {
        let waits = waiting_conditions_by_process(self.rules.layout, all);
        let fairness = self.config.fairness;
        Some(match find_progress_violation(graph, &waits, fairness)? {
            ProgressViolation::Doomed { conditions: waiting, world } => {
                let waiting: Vec<_> = waiting.into_iter().map(ProcessId).collect();
                let is_alone = waiting.len() == 1;
                let kind = if is_alone { ViolationKind::Blocked } else { ViolationKind::Deadlock };
                let explanation = format!("{} can never be served from here", join_names(&waiting));
                self.counterexample_ending_at(graph, world, property, kind, explanation)
            }
            ProgressViolation::Stopped { condition: process, world } => {
                let explanation = format!("{} waits if the run stops here", ProcessId(process));
                self.counterexample_ending_at(
                    graph,
                    world,
                    property,
                    ViolationKind::End,
                    explanation,
                )
            }
            ProgressViolation::Starving { condition: process, cycle } => {
                let explanation =
                    format!("{} can wait for ever although it could be served", ProcessId(process));
                self.counterexample_with_cycle(
                    graph,
                    &cycle,
                    property,
                    ViolationKind::Starvation,
                    explanation,
                )
            }
        })
    }

    /// Looks for a run that leads to a state from which processes may wait forever while no process
    /// enters. Returns `None` if there is no such run.
    fn deadlock(&self, property: Property, graph: &StateGraph) -> Option<Counterexample> {
        let layout = self.rules.layout;
        let marks = (0..layout.size).fold(0, |marks, process| marks | layout.waiting_mask(process));
        let fairness = self.config.fairness;
        let lasting =
            find_lasting_states(graph, TransientCondition::until_any_cleared(marks), fairness);
        let waiting = |world: u32| {
            let waits = |process: &usize| graph.marks(world) & layout.waiting_mask(*process) != 0;
            let waiting = (0..layout.size).filter(waits).map(ProcessId::from_index);
            waits_in_words(&waiting.collect::<Vec<_>>())
        };
        if let Some(world) = lasting.stopped {
            let explanation = format!("{} if the run stops here", waiting(world));
            return Some(self.counterexample_ending_at(
                graph,
                world,
                property,
                ViolationKind::End,
                explanation,
            ));
        }
        if let Some(world) = lasting.first_doomed {
            let explanation = format!("{}, and no process can ever enter again", waiting(world));
            let kind = ViolationKind::Deadlock;
            return Some(self.counterexample_ending_at(graph, world, property, kind, explanation));
        }
        let cycle = lasting.cycle?;
        let explanation = format!("no process need ever enter again while {}", waiting(cycle[0]));
        Some(self.counterexample_with_cycle(
            graph,
            &cycle,
            property,
            ViolationKind::Livelock,
            explanation,
        ))
    }

    pub(super) fn counterexample_ending_at(
        &self,
        graph: &StateGraph,
        world: u32,
        property: Property,
        kind: ViolationKind,
        explanation: String,
    ) -> Counterexample {
        let path = path_to(&self.explored, graph.state_id(world));
        self.counterexample(property, kind, explanation, &path, None)
    }

    /// Returns a counterexample with a run that ends in a fair cycle. The cycle begins in the first
    /// state of `cycle`, and contains only states of `cycle`. If no steps lead from the first state
    /// back to it within `cycle`, the run ends in the first state.
    pub(super) fn counterexample_with_cycle(
        &self,
        graph: &StateGraph,
        cycle: &[u32],
        property: Property,
        kind: ViolationKind,
        explanation: String,
    ) -> Counterexample {
        let mut path = path_to(&self.explored, graph.state_id(cycle[0]));
        let repeats_from = Some(path.actions.len());
        let steps = fair_cycle(graph, cycle, cycle[0], self.config.fairness);
        if steps.is_empty() && !graph.must_stop_analysis() {
            let reason = "requests, faults and recoveries need not happen";
            let explanation = format!("{explanation}: the run may stay in this state, as {reason}");
            return self.counterexample(property, ViolationKind::End, explanation, &path, None);
        }
        let explanation = format!("{explanation}: the end of the run repeats");
        self.extend_path(graph, &mut path, steps);
        self.counterexample(property, kind, explanation, &path, repeats_from)
    }

    /// Appends the actions of `steps` to a path that leads to the start of the first step.
    pub(crate) fn extend_path(
        &self,
        graph: &StateGraph,
        path: &mut RunPath,
        steps: impl IntoIterator<Item = (u32, OutEdge)>,
    ) {
        let mut replay = self.replay_path(path);
        for (from, step) in steps {
            let to = graph.state_id(step.to);
            let action = replay.find_action_to(&self.explored, to, step.label);
            let action = action.unwrap_or_else(|| panic!("world {from} leads to {to:?}"));
            path.actions.push(action);
            replay.apply(action);
        }
    }

    /// Creates a replay in the first global state of a path.
    pub(crate) fn start_replay(&self, path: &RunPath) -> Replay {
        Replay::new(&self.rules, &self.explored, path.first)
    }

    /// Replays a path. The returned replay is in the last global state of the path.
    pub(super) fn replay_path(&self, path: &RunPath) -> Replay {
        let mut replay = self.start_replay(path);
        for action in &path.actions {
            replay.apply(*action);
        }
        replay
    }

    /// Returns [`CheckError::Panicked`] with the run to the panic if a handler panicked in the
    /// search.
    pub(crate) fn ensure_no_panic(&self) -> Result<(), CheckError> {
        let Some(panicked) = &self.explored.panicked else { return Ok(()) };
        let path = path_to(&self.explored, panicked.from);
        let run = self.describe_run_to_panic(&path, panicked.handler);
        Err(CheckError::Panicked { message: panicked.message.clone(), run })
    }

    /// Describes a run whose last step caused a panic. `path` leads to the state before this step.
    /// `handler` contains the local state and the input of the handler that panicked, if they are
    /// known.
    pub(crate) fn describe_run_to_panic(
        &self,
        path: &RunPath,
        handler: Option<(u32, ProcessInput)>,
    ) -> StepwiseDescription {
        let (header, mut recorder) = self.recorded(path);
        if let Some((local, cause)) = handler {
            recorder
                .record_step(self.start_replay(path).describe_panicked_step(local, cause), false);
        }
        StepwiseDescription::from_checker_trace(&Trace {
            header,
            records: recorder.finish(false),
            torn: None,
        })
    }

    /// Returns the message of the violation that the monitor at `index` finds in the last step of a
    /// path.
    fn violation(&self, path: &RunPath, index: usize) -> String {
        let (last, before) = path.actions.split_last().expect("a violation takes a step");
        let mut replay = self.start_replay(path);
        for action in before {
            replay.apply(*action);
        }
        let state = replay.monitor_state_id(self.rules.layout.monitor_slot(index));
        let observation = replay.observation_id(*last);
        let verdict = self.rules.model.judge(index, state, observation);
        verdict.err().map_or_else(String::new, |violation| violation.message)
    }

    pub(super) fn counterexample(
        &self,
        property: Property,
        kind: ViolationKind,
        explanation: String,
        path: &RunPath,
        repeats_from: Option<usize>,
    ) -> Counterexample {
        let mut trace = self.trace_of_path(path, kind != ViolationKind::Step);
        trace.header.violates = Some(property.name().to_owned());
        let run =
            StepwiseDescription { repeats_from, ..StepwiseDescription::from_checker_trace(&trace) };
        trace.header.repeats = run.repeated_step_count();
        Counterexample { property, kind, explanation, run, trace }
    }

    /// Replays a path and returns it as a trace. If `has_ended`, a last record states that the run
    /// ends.
    pub(crate) fn trace_of_path(&self, path: &RunPath, has_ended: bool) -> Trace {
        let (header, recorder) = self.recorded(path);
        Trace { header, records: recorder.finish(has_ended), torn: None }
    }

    fn recorded(&self, path: &RunPath) -> (Header, ReplayRecorder) {
        let mut replay = self.start_replay(path);
        let mut recorder = ReplayRecorder::new(&self.rules);
        recorder.record_boots(&replay);
        for action in &path.actions {
            recorder.record_action(&mut replay, *action);
        }
        (trace_header(&self.config), recorder)
    }
}

pub(crate) fn trace_header(config: &CheckConfig) -> Header {
    Header::new(&config.name, config.service, config.size, TraceProducer::Checker)
}

/// Returns the text `P1 waits` for one process, and a text such as `P1 and P2 wait` for several
/// processes.
pub(crate) fn waits_in_words(processes: &[ProcessId]) -> String {
    let verb = if processes.len() == 1 { "waits" } else { "wait" };
    format!("{} {verb}", join_names(processes))
}

/// Formats processes as `P1, P2 and P3`.
pub(crate) fn join_names(processes: &[ProcessId]) -> String {
    let names: Vec<String> = processes.iter().map(ToString::to_string).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}
