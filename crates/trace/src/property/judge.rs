//! Evaluation of properties from recorded events.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tenure_core::{Finding, FirstViolation, Judgement, ProcessId, Service};

use super::custom::{ExpressionProperty, VariableAssignment};
use super::evaluate::StateView;
use super::facts::{FactSelection, ServiceFacts, StepFacts};
use super::steps::{begins_real_step, begins_step};
use crate::fold::process_state::{ProcessStateChange, ProcessStates, ProcessStatus};
use crate::format::{ClockUnit, Record, RecordKind};

/// Checks properties against the records of a run, one record after another.
///
/// The judge evaluates the properties after each step. A step consists of the records of one input
/// at one process. The first state that it evaluates is the state after all processes have booted.
#[derive(Clone, Debug)]
pub struct PropertyJudge {
    runs: Vec<PropertyRun>,
    view: RecordedView,
    /// Unit of the times of the records.
    clock: ClockUnit,
    /// Time and process of the last record of a process.
    last: Option<(u64, ProcessId)>,
    /// True once all processes have booted, or the run has ended. The judge evaluates no state
    /// before that.
    has_started: bool,
}

/// Check of one property during a run, with its results so far.
#[derive(Clone, Debug)]
struct PropertyRun {
    property: Arc<ExpressionProperty>,
    violation: Option<FirstViolation>,
    /// One element for each assignment of values to the free variables of a liveness property. The
    /// flag is true if the property is pending: it demands a state that has not occurred yet.
    pending: Vec<(VariableAssignment, bool)>,
}

impl PropertyJudge {
    /// Creates the judge for a run of `size` processes that has no records yet. The processes in
    /// `down` are down from the start.
    pub fn new(
        properties: &[Arc<ExpressionProperty>],
        size: u32,
        service: Service,
        down: &[ProcessId],
    ) -> Self {
        let run = |property: &Arc<ExpressionProperty>| {
            let property = Arc::new(property.with_group_size(size));
            let bindings =
                if property.operator().is_liveness() { property.assignments() } else { vec![] };
            let first = property.is_pending_initially();
            let pending = bindings.into_iter().map(|binding| (binding, first)).collect();
            PropertyRun { property, violation: None, pending }
        };
        PropertyJudge {
            runs: properties.iter().map(run).collect(),
            view: RecordedView {
                services: ServiceFacts::new(size, FactSelection::all(service)),
                step: StepFacts::default(),
                processes: ProcessStates::default(),
                down: down.to_vec(),
                in_flight: BTreeMap::new(),
                sent: Vec::new(),
                states: vec![None; size as usize],
            },
            clock: ClockUnit::Tick,
            last: None,
            has_started: false,
        }
    }

    /// Sets the unit of the times of the records; initially, times are virtual. In real time, the
    /// records of a step have different times, and must be in the order of
    /// [`order_by_step`](super::order_by_step).
    #[must_use]
    pub const fn with_clock_unit(mut self, clock: ClockUnit) -> Self {
        self.clock = clock;
        self
    }

    /// Applies the next record of the run. If the record begins a new step, first evaluates the
    /// state after the previous step.
    pub fn apply_record(&mut self, record: &Record) {
        let size = self.view.states.len();
        let at = record.process.process().filter(|at| at.index() < size);
        if self.begins_step(record, at) {
            // The first evaluated state is the state after all boots. If a process is down from the
            // start, the trace contains its boot and its crash before this state.
            let is_boot = matches!(record.kind, RecordKind::Boot | RecordKind::Crash);
            self.has_started |= self.last.is_some() && !is_boot;
            self.end_step();
            self.view.step = StepFacts { at, ..StepFacts::default() };
            self.view.sent.clear();
        }
        if let Some(at) = at {
            self.last = Some((record.time, at));
            self.view.apply(at, record);
        }
    }

    fn begins_step(&self, record: &Record, at: Option<ProcessId>) -> bool {
        let Some((time, before)) = self.last else { return true };
        let continues = at.is_none_or(|at| at == before);
        match self.clock {
            ClockUnit::Tick => begins_step(&record.kind) || !continues || record.time != time,
            ClockUnit::Nanosecond => begins_real_step(&record.kind) || !continues,
        }
    }

    /// Evaluates the properties in the state after the last step. Does nothing until all processes
    /// have booted.
    fn end_step(&mut self) {
        let Some((time, at)) = self.last.filter(|_| self.has_started) else { return };
        for run in &mut self.runs {
            run.judge(&mut self.view, time, at);
        }
    }

    /// Returns a property that has been violated so far, with its first violation. If there are
    /// several, returns the first in the list given to [`PropertyJudge::new`]. Returns `None` if
    /// there is none.
    pub fn violated_property(&self) -> Option<(&ExpressionProperty, &FirstViolation)> {
        self.runs.iter().find_map(|run| Some((&*run.property, run.violation.as_ref()?)))
    }

    /// Evaluates the properties after the last step and returns one finding for each property.
    /// `has_ended` is false if the run was cut short. In that case, a property that still demands a
    /// later state is incomplete, not violated.
    pub fn finish(mut self, has_ended: bool) -> Vec<Finding> {
        self.has_started = true;
        self.end_step();
        let last = self.last.unwrap_or((0, ProcessId(0)));
        self.runs.into_iter().map(|run| run.finding(last, has_ended)).collect()
    }
}

impl PropertyRun {
    fn judge(&mut self, view: &mut RecordedView, time: u64, at: ProcessId) {
        if self.violation.is_some() {
            return;
        }
        for (binding, pending) in &mut self.pending {
            *pending = self.property.is_pending(binding, *pending, view);
        }
        if self.property.operator().is_liveness() {
            return;
        }
        if let Some(binding) = self.property.violating_assignment(view) {
            let message = self.property.explain_violation(&binding);
            self.violation = Some(FirstViolation { time, at, message });
        }
    }

    fn finding(self, (time, at): (u64, ProcessId), ended: bool) -> Finding {
        let PropertyRun { property, violation, pending } = self;
        let missing = pending.into_iter().find(|(_, pending)| *pending);
        let name = property.reported_property();
        match (violation, missing) {
            (Some(violation), _) => {
                let (judgement, violation) = (Judgement::Violated, Some(violation));
                Finding { property: name, judgement, violation }
            }
            (None, Some(_)) if !ended => Finding::without_violation(name, Judgement::Incomplete),
            (None, Some((binding, _))) => {
                let message = format!("{} by the end", property.explain_pending(&binding));
                Finding::violated(name, time, at, message)
            }
            (None, None) => Finding::without_violation(name, Judgement::Holds),
        }
    }
}

/// State of a recorded run, up to the last record that the judge has read.
#[derive(Clone, Debug)]
struct RecordedView {
    services: ServiceFacts,
    step: StepFacts,
    processes: ProcessStates,
    /// Processes that are down from the start.
    down: Vec<ProcessId>,
    /// Number of messages in flight, by name, sender and receiver.
    in_flight: BTreeMap<(String, u32, u32), u64>,
    /// Messages that the last step sent, each with its name and receiver.
    sent: Vec<(String, u32)>,
    states: Vec<Option<Arc<Value>>>,
}

impl RecordedView {
    fn apply(&mut self, at: ProcessId, record: &Record) {
        for change in self.processes.apply_record(record) {
            if matches!(change, ProcessStateChange::Crashes) {
                self.services.on_crash(at);
            }
        }
        match &record.kind {
            RecordKind::Command(command) => {
                self.step.on_command(command);
                self.services.on_command(at, command);
            }
            RecordKind::Event(event) if !self.processes.state(at).is_crashed_or_ended() => {
                self.step.on_event(event);
                self.services.on_event(at, event);
            }
            RecordKind::Send(message) => {
                let name = message.message.to_string();
                self.sent.push((name.clone(), message.peer.0));
                *self.in_flight.entry((name, at.0, message.peer.0)).or_default() += 1;
            }
            RecordKind::Duplicate(message) => {
                let key = (message.message.to_string(), at.0, message.peer.0);
                *self.in_flight.entry(key).or_default() += 1;
            }
            RecordKind::Drop(message) => self.take(&message.message, at.0, message.peer.0),
            RecordKind::Receive(message) => self.take(&message.message, message.peer.0, at.0),
            RecordKind::State(state) => self.states[at.index()] = Some(Arc::new(state.clone())),
            _ => {}
        }
    }

    /// Removes one message in flight. If the trace records the receipt of the message before its
    /// sending, the message is not in flight, and this method does nothing.
    fn take(&mut self, message: &str, from: u32, to: u32) {
        let key = (message.to_owned(), from, to);
        if let Some(count) = self.in_flight.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.in_flight.remove(&key);
            }
        }
    }
}

impl StateView for RecordedView {
    fn services(&self) -> &ServiceFacts {
        &self.services
    }

    fn step(&self) -> &StepFacts {
        &self.step
    }

    fn is_crashed(&mut self, at: u32) -> bool {
        match self.processes.state(ProcessId(at)).status {
            ProcessStatus::Down => true,
            ProcessStatus::Unknown => self.down.contains(&ProcessId(at)),
            ProcessStatus::Up | ProcessStatus::Ended => false,
        }
    }

    fn suspects(&mut self, at: u32, peer: u32) -> bool {
        self.processes.state(ProcessId(at)).suspects.contains(&ProcessId(peer))
    }

    fn in_flight(&mut self, message: &str, from: Option<u32>, to: Option<u32>) -> u64 {
        let matches = |sent: &(String, u32, u32)| {
            sent.0 == message
                && from.is_none_or(|from| from == sent.1)
                && to.is_none_or(|to| to == sent.2)
        };
        self.in_flight.iter().filter(|(sent, _)| matches(sent)).map(|(_, count)| count).sum()
    }

    fn sent_in_step(&mut self, message: &str, from: Option<u32>, to: Option<u32>) -> u64 {
        let by = self.step.at.is_some_and(|at| from.is_none_or(|from| from == at.0));
        let matches = |sent: &&(String, u32)| sent.0 == message && to.is_none_or(|to| to == sent.1);
        if by { self.sent.iter().filter(matches).count() as u64 } else { 0 }
    }

    fn state(&mut self, at: u32) -> Option<Arc<Value>> {
        if self.is_crashed(at) { None } else { self.states[at as usize].clone() }
    }
}
