//! Builder of a layout from records.

use std::borrow::Cow;
use std::collections::HashMap;

use tenure_core::{Layer, ProcessId};

use super::layout::{DiagramLayout, DiagramStep, MessageArrow, MessageOutcome, StepCause};
use super::options::{DiagramClock, DiagramOptions, TimeAxis};
use super::spans::SpanTracker;
use super::{events, labels};
use crate::escaping::escape_invisible;
use crate::fold::process_state::{
    ConditionGroup, ProcessCondition, ProcessStateChange, ProcessStates,
};
use crate::format::{
    ClockUnit, Header, MessageRecord, Record, RecordKind, RecordSubject, RecordedEvent,
    TraceProducer,
};
use crate::merge::MessageKey;
use crate::show::format_sides;
use crate::verify::{TraceVerifier, Verification};

/// Builds a layout from the records of a run. The layout contains the steps and messages in the
/// window, the part of the run that the diagram shows.
///
/// From the records before the window, the builder keeps only the conditions of processes that
/// still hold, such as *waiting*. Its memory therefore does not grow with the number of these
/// records. If clocks are requested, the builder also keeps one clock for each message of the whole
/// run.
#[derive(Debug)]
pub struct LayoutBuilder {
    layout: DiagramLayout,
    verifier: TraceVerifier,
    /// Time of the first record, as the layout counts it: 0 in real time.
    first: u64,
    has_ended: bool,
    /// Time that the layout displays as 0. In virtual time it is 0. In real time it is the time of
    /// the first record, and `None` before that.
    start: Option<u64>,
    /// Number of records in the window so far.
    kept: u64,
    process_states: ProcessStates,
    spans: SpanTracker,
    processes: Vec<Process>,
    /// Indices of the arrows of each message that was sent in the window, including messages that
    /// have arrived. A duplicated message has several arrows.
    in_flight: HashMap<MessageKey, Vec<usize>>,
    /// Index of each kind of message. The key is the layer and the name of the kind. Kinds are
    /// numbered from 0, in the order of their first messages in the trace.
    kinds: HashMap<(Layer, Cow<'static, str>), usize>,
    /// For each message sent so far, the clock of the step that sent it. Empty if clocks are not
    /// requested.
    carried: HashMap<MessageKey, Vec<u64>>,
    /// Position of the last network event on the time axis, in the form of
    /// [`DiagramStep::axis_order`]. All later steps are drawn after this event.
    barrier: Option<(u64, u64)>,
    /// Largest [`DiagramStep::axis_order`] of the steps added so far.
    latest: Option<(u64, u64)>,
    /// Number of the last numbered step of the run; 0 before the first.
    numbered: u64,
}

/// State that the builder keeps for one process while it reads the records.
#[derive(Clone, Debug, Default)]
struct Process {
    current: Current,
    /// Time at which the process booted or its current step began, as the layout counts it.
    time: u64,
    /// Position of the last step of the process on the time axis, in the form of
    /// [`DiagramStep::axis_order`]. `None` if no step of the process lies in the window.
    moment: Option<(u64, u64)>,
    clock: Vec<u64>,
}

/// Step that the next message or event of a process belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Current {
    /// The process takes no step now. Its next message or event begins a new step with an unknown
    /// cause.
    #[default]
    Nothing,
    /// The process has booted, and has taken no step since then. The next message or event of the
    /// process belongs to the boot, which the diagram then shows as a step.
    Booting,
    /// The process takes a step. The value is the index of the step in [`DiagramLayout::steps`].
    /// The value is `None` if the step lies outside the window.
    Step(Option<usize>),
}

impl LayoutBuilder {
    /// Creates a builder for the trace with this header.
    pub fn new(header: &Header, options: DiagramOptions) -> Self {
        let counts = match options.clock {
            DiagramClock::None => 0,
            DiagramClock::Lamport => 1,
            DiagramClock::Vector => header.n as usize,
        };
        let process = Process { clock: vec![0; counts], ..Process::default() };
        LayoutBuilder {
            verifier: TraceVerifier::new(header),
            first: 0,
            has_ended: false,
            start: (header.clock == ClockUnit::Tick).then_some(0),
            kept: 0,
            process_states: ProcessStates::default(),
            spans: SpanTracker::default(),
            processes: vec![process; header.n as usize],
            in_flight: HashMap::new(),
            kinds: HashMap::new(),
            carried: HashMap::new(),
            barrier: None,
            latest: None,
            numbered: 0,
            layout: DiagramLayout {
                header: header.clone(),
                options,
                steps: Vec::new(),
                arrows: Vec::new(),
                spans: Vec::new(),
                partition_spans: Vec::new(),
                violation_marks: Vec::new(),
                record_count: 0,
                shown_records: None,
                is_cut_off: false,
                column_positions: Vec::new(),
            },
        }
    }

    /// Adds the next record of the run.
    pub fn add_record(&mut self, record: &Record) {
        self.verifier.verify_record(record);
        self.has_ended |= record.kind == RecordKind::End;
        self.layout.record_count += 1;
        let number = self.layout.record_count;
        let start = *self.start.get_or_insert(record.time);
        let time = record.time.saturating_sub(start);
        if number == 1 {
            self.first = time;
        }
        let shows = self.layout.options.window.contains_record(number, time, self.kept);
        if shows {
            self.kept += 1;
            let first = self.layout.shown_records.map_or(number, |(first, _)| first);
            self.layout.shown_records = Some((first, number));
        } else if self.kept > 0 {
            self.layout.is_cut_off = true;
            return;
        }
        let context = RecordContext { record, time, number, shows };
        match record.process {
            RecordSubject::Process(at) if at.index() < self.processes.len() => {
                self.of_process(at, context)
            }
            _ => self.read_without_process(context),
        }
    }

    /// Returns the layout of the records added so far.
    pub fn finish(self) -> DiagramLayout {
        self.finish_with_verification().0
    }

    /// Returns the layout of the records added so far, and the verification of the whole run.
    pub fn finish_with_verification(mut self) -> (DiagramLayout, Verification) {
        let all =
            matches!(self.layout.header.source, TraceProducer::Simulator | TraceProducer::Checker);
        let processes = || (0..self.processes.len()).map(ProcessId::from_index);
        let booted = |at: &ProcessId| self.process_states.state(*at).session.is_some();
        if all && processes().any(|at| booted(&at)) {
            for at in processes().filter(|at| !booted(at)) {
                self.spans.record_crash(at, None);
            }
        }
        let (spans, regions) = self.spans.finish();
        let mut layout = DiagramLayout { spans, partition_spans: regions, ..self.layout };
        layout.place_columns();
        let verification = self.verifier.finish();
        layout.place_violation_marks(&verification, self.first);
        if !self.has_ended {
            layout.mark_unknown_violation();
        }
        (layout, verification)
    }

    fn read_without_process(&mut self, context: RecordContext<'_>) {
        match &context.record.kind {
            RecordKind::Partition(sides) => {
                let description = format!("partition {}", format_sides(sides));
                let step = self.network(context, StepCause::Network(description));
                self.spans.begin_partition(sides.clone(), step);
            }
            RecordKind::Heal => {
                let step = self.network(context, StepCause::Network("whole again".to_owned()));
                self.spans.end_partition(step);
            }
            RecordKind::Note(text) => drop(self.network(context, StepCause::Note(text.clone()))),
            RecordKind::Access(access) => {
                if let Some(description) = events::rejected_access_label(access) {
                    self.step(Some(access.by), context, StepCause::Note(description), None);
                }
            }
            _ => {}
        }
    }

    /// Adds an event of the network, or a note that concerns no process. All later steps are drawn
    /// after this event.
    fn network(&mut self, context: RecordContext<'_>, cause: StepCause) -> Option<usize> {
        let after = self.latest;
        let step = self.step(None, context, cause, after);
        self.barrier = self.latest;
        step
    }

    fn of_process(&mut self, at: ProcessId, context: RecordContext<'_>) {
        let changes = self.process_states.apply_record(context.record);
        let kind = &context.record.kind;
        let step = match kind {
            RecordKind::Event(event) => {
                let step = self.effect(at, context);
                if let RecordedEvent::Agreement(event) = event {
                    self.change(step, |step| step.agreement_events.push(event.to_string()));
                }
                step
            }
            RecordKind::Send(message_record) => return self.send(at, context, message_record),
            RecordKind::Receive(message_record) => {
                return self.receive(at, context, message_record);
            }
            RecordKind::Drop(message_record) => return self.lose(at, context, message_record),
            RecordKind::Duplicate(message_record) => {
                return self.duplicate(at, context, message_record);
            }
            RecordKind::Boot if changes.contains(&ProcessStateChange::Boots) => {
                let process = &mut self.processes[at.index()];
                (process.current, process.time) = (Current::Booting, context.time);
                return;
            }
            RecordKind::Boot | RecordKind::Recover => return self.starts(at, context, &changes),
            // A boot and a crash at the same time mean that the process was down from the start.
            RecordKind::Crash if self.is_booting(at, context.time) => {
                self.processes[at.index()].current = Current::Nothing;
                return self.spans.record_crash(at, None);
            }
            RecordKind::Crash => {
                let step = self.begin(at, context, StepCause::Crashes, None);
                return self.spans.record_crash(at, step);
            }
            RecordKind::Note(text) => {
                let after = self.processes[at.index()].moment;
                let step = self.step(Some(at), context, StepCause::Note(text.clone()), after);
                // In virtual time, a note explains the effects that happen at the same time at its
                // process. These effects therefore belong to the step of the note.
                if self.layout.header.clock == ClockUnit::Tick {
                    let process = &mut self.processes[at.index()];
                    (process.current, process.time) = (Current::Step(step), context.time);
                    process.moment =
                        step.map(|place| self.layout.steps[place].axis_order).max(after);
                }
                step
            }
            _ => match events::step_label(kind) {
                Some(words) => self.begin(at, context, StepCause::OtherCause(words), None),
                None => return,
            },
        };
        for change in changes {
            self.spans.apply_change(at, change, step);
            self.change(step, |step| match change {
                ProcessStateChange::ConditionBegins(ProcessCondition::Inside) => step.enters = true,
                ProcessStateChange::ConditionEnds(ProcessCondition::Inside, _) => step.exits = true,
                ProcessStateChange::LeaderChanges(leader) => step.leader = leader.or(step.leader),
                _ => {}
            });
        }
    }

    /// Handles a record that reports a boot or a recovery of the process `at`. Adds a step if the
    /// record has changed the state of the process. If several records report the same recovery,
    /// only the first of them adds a step.
    fn starts(
        &mut self,
        at: ProcessId,
        context: RecordContext<'_>,
        changes: &[ProcessStateChange],
    ) {
        if changes.iter().any(|change| {
            matches!(change, ProcessStateChange::Boots | ProcessStateChange::Recovers)
        }) {
            let step = self.begin(at, context, StepCause::Recovers, None);
            if !self.spans.is_down(at) {
                self.spans.record_crash(at, step);
            }
            self.spans.end_condition(at, ConditionGroup::Down, step);
        }
    }

    fn send(&mut self, at: ProcessId, context: RecordContext<'_>, message_record: &MessageRecord) {
        let step = if message_record.is_between_users() {
            let cause = format!("tells {}", message_record.peer);
            self.begin(at, context, StepCause::OtherCause(cause), None)
        } else {
            self.effect(at, context)
        };
        let key = MessageKey::of_sent(at, context.record.session, message_record);
        if self.layout.options.clock != DiagramClock::None {
            self.carried.insert(key, self.processes[at.index()].clock.clone());
        }
        let token = events::carries_token(message_record);
        if token {
            self.spans.end_token_span(at, step);
        }
        if step.is_none() {
            self.kind(message_record);
        } else {
            let arrow = self.arrow((at, message_record.peer), message_record, step);
            self.in_flight.entry(key).or_default().push(arrow);
        }
    }

    fn receive(
        &mut self,
        at: ProcessId,
        context: RecordContext<'_>,
        message_record: &MessageRecord,
    ) {
        let key = MessageKey::of_received(at, message_record);
        let arrow = context.shows.then(|| self.arriving(key, at, message_record));
        let sent = arrow.and_then(|arrow| self.layout.arrows[arrow].sent_in_step);
        if let Some(carried) = self.carried.get(&key) {
            let mine = &mut self.processes[at.index()].clock;
            mine.iter_mut().zip(carried).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        }
        let after = sent.map(|sent| self.layout.steps[sent].axis_order);
        let step = self.begin(at, context, StepCause::Receives, after);
        if let (Some(arrow), Some(place)) = (arrow, step) {
            let arrived = &mut self.layout.arrows[arrow];
            (arrived.ended_in_step, arrived.outcome) = (step, MessageOutcome::Arrives);
            self.layout.steps[place].received = Some(arrow);
        }
        if events::carries_token(message_record) {
            self.spans.begin_token_span(at, step);
        }
    }

    /// Returns the index of the arrow of a message that arrives: the oldest arrow of the message
    /// that has no outcome yet. If all arrows of the message have an outcome, adds a copy of the
    /// last one. If the message was not sent in the window, adds an arrow without a start.
    fn arriving(
        &mut self,
        key: MessageKey,
        at: ProcessId,
        message_record: &MessageRecord,
    ) -> usize {
        let arrows = &self.layout.arrows;
        let known = self.in_flight.get(&key).map_or(&[][..], Vec::as_slice);
        let open = known.iter().find(|place| arrows[**place].outcome == MessageOutcome::UnderWay);
        match (open, known.last()) {
            (Some(open), _) => *open,
            (None, Some(last)) => {
                let copy = arrows[*last].clone();
                self.layout.arrows.push(copy);
                self.layout.arrows.len() - 1
            }
            (None, None) => self.arrow((message_record.peer, at), message_record, None),
        }
    }

    /// Returns the number of the message's kind, from 0. A new kind gets the next number.
    fn kind(&mut self, message_record: &MessageRecord) -> usize {
        let next = self.kinds.len();
        *self.kinds.entry((message_record.layer, message_record.message.clone())).or_insert(next)
    }

    fn arrow(
        &mut self,
        (from, to): (ProcessId, ProcessId),
        message_record: &MessageRecord,
        sent: Option<usize>,
    ) -> usize {
        let kind = self.kind(message_record);
        let content = message_record.content.as_deref();
        let fields = &self.layout.options.fields;
        let description = content
            .map_or_else(String::new, |content| labels::format_selected_fields(content, fields));
        self.layout.arrows.push(MessageArrow {
            from,
            to,
            message: escape_invisible(&message_record.message).into_owned().into(),
            layer: message_record.layer,
            kind_index: kind,
            selected_fields: escape_invisible(&description).into_owned(),
            sent_in_step: sent,
            ended_in_step: None,
            outcome: MessageOutcome::UnderWay,
            carries_token: events::carries_token(message_record),
        });
        self.layout.arrows.len() - 1
    }

    fn lose(&mut self, at: ProcessId, context: RecordContext<'_>, message_record: &MessageRecord) {
        if !context.shows {
            self.numbered += 1;
            return;
        }
        let key = MessageKey::of_sent(at, message_record.session, message_record);
        let known = self.in_flight.get(&key).map_or(&[][..], Vec::as_slice);
        // Chooses the newest arrow without an outcome. If a step sends a message, and a copy of the
        // message is lost in the same step, then this copy is the newest arrow.
        let mut open = known.iter().rev();
        let open = open
            .find(|place| self.layout.arrows[**place].outcome == MessageOutcome::UnderWay)
            .copied();
        let place =
            open.unwrap_or_else(|| self.arrow((at, message_record.peer), message_record, None));
        let sent = self.layout.arrows[place].sent_in_step;
        let after = sent.map(|sent| self.layout.steps[sent].axis_order);
        let step = self.step(Some(at), context, StepCause::Loses(place), after);
        let lost = &mut self.layout.arrows[place];
        (lost.ended_in_step, lost.outcome) = (step, MessageOutcome::Lost);
    }

    fn duplicate(
        &mut self,
        at: ProcessId,
        context: RecordContext<'_>,
        message_record: &MessageRecord,
    ) {
        if !context.shows {
            self.numbered += 1;
            return;
        }
        let key = MessageKey::of_sent(at, message_record.session, message_record);
        let original = self.in_flight.get(&key).and_then(|known| known.first()).copied();
        let sent = original.and_then(|place| self.layout.arrows[place].sent_in_step);
        let copy = self.arrow((at, message_record.peer), message_record, sent);
        self.in_flight.entry(key).or_default().push(copy);
        let after = sent.map(|sent| self.layout.steps[sent].axis_order);
        self.step(Some(at), context, StepCause::Duplicates(copy), after);
    }

    /// Returns true if the process booted at the time `time` and has taken no step since then. If
    /// the trace contains no boot of the process, returns true until the first step of the process.
    fn is_booting(&self, at: ProcessId, time: u64) -> bool {
        let process = &self.processes[at.index()];
        match process.current {
            Current::Nothing => self.process_states.state(at).session.is_none(),
            Current::Booting => process.time == time,
            Current::Step(_) => false,
        }
    }

    /// Returns true if a record of the process `at` at the time `time` belongs to the current step
    /// of the process. In virtual time, all records of a step have the same time. In real time, a
    /// step lasts until the next step of the process begins.
    fn is_at_work(&self, at: ProcessId, time: u64) -> bool {
        let process = &self.processes[at.index()];
        let at_once = self.layout.header.clock == ClockUnit::Nanosecond || process.time == time;
        matches!(process.current, Current::Step(_)) && at_once
    }

    /// Returns the step to which a message or an event of a process belongs. If the process takes a
    /// step now, returns this step. Otherwise begins a new step. If the process has just booted,
    /// the cause of the new step is the boot. Otherwise the cause is unknown. Returns `None` if the
    /// record lies outside the window.
    fn effect(&mut self, at: ProcessId, context: RecordContext<'_>) -> Option<usize> {
        let process = &self.processes[at.index()];
        let cause = match process.current {
            Current::Step(step) if self.is_at_work(at, context.time) => {
                // A step that began before the window continues inside the window as a new step.
                if step.is_some() || !context.shows {
                    self.change(step, |step| step.descriptions.push(context.record.describe()));
                    return step;
                }
                return self.continue_step(at, context);
            }
            Current::Booting => description(&RecordKind::Boot),
            _ => StepCause::UnknownCause,
        };
        self.begin(at, context, cause, None)
    }

    /// Adds a step for the rest of a step that began before the window. The added step has the
    /// clock of the whole step, and no number.
    fn continue_step(&mut self, at: ProcessId, context: RecordContext<'_>) -> Option<usize> {
        let numbered = self.numbered;
        let step = self.begin_without_tick(at, context, StepCause::UnknownCause, None);
        self.numbered = numbered;
        self.change(step, |step| step.number = None);
        step
    }

    /// Begins a step of the process `at`: advances its clock, and adds the step as
    /// [`LayoutBuilder::step`] does.
    fn begin(
        &mut self,
        at: ProcessId,
        context: RecordContext<'_>,
        cause: StepCause,
        after: Option<(u64, u64)>,
    ) -> Option<usize> {
        let process = &mut self.processes[at.index()];
        match self.layout.options.clock {
            DiagramClock::None => {}
            DiagramClock::Lamport => process.clock[0] += 1,
            DiagramClock::Vector => process.clock[at.index()] += 1,
        }
        self.begin_without_tick(at, context, cause, after)
    }

    fn begin_without_tick(
        &mut self,
        at: ProcessId,
        context: RecordContext<'_>,
        cause: StepCause,
        after: Option<(u64, u64)>,
    ) -> Option<usize> {
        let after = after.max(self.processes[at.index()].moment);
        let step = self.step(Some(at), context, cause, after);
        let process = &mut self.processes[at.index()];
        process.current = Current::Step(step);
        process.time = context.time;
        if let Some(place) = step {
            let step = &mut self.layout.steps[place];
            process.moment = Some(step.axis_order);
            step.clock.clone_from(&process.clock);
        }
        step
    }

    /// Adds a step and returns the index of the step. Returns `None` if the record of the step lies
    /// outside the window. `after` is the [`DiagramStep::axis_order`] of an earlier step. The new
    /// step must be drawn after this position.
    fn step(
        &mut self,
        at: Option<ProcessId>,
        context: RecordContext<'_>,
        cause: StepCause,
        after: Option<(u64, u64)>,
    ) -> Option<usize> {
        let counts =
            !matches!(cause, StepCause::Note(_)) && context.record.kind != RecordKind::Boot;
        let counts = counts && cause != description(&RecordKind::Boot);
        self.numbered += u64::from(counts);
        if !context.shows {
            return None;
        }
        let causal = self.layout.options.scale == TimeAxis::Causal;
        let moment = (if causal { 0 } else { context.time }, 0);
        let next = |(time, chain): (u64, u64)| (time, chain + 1);
        let moment = after.map_or(moment, |after| moment.max(next(after)));
        let moment = self.barrier.map_or(moment, |barrier| moment.max(next(barrier)));
        self.latest = self.latest.max(Some(moment));
        self.layout.steps.push(DiagramStep {
            at,
            time: context.time,
            first_record_number: context.number,
            cause: cause.with_escaped_text(),
            descriptions: vec![context.record.describe()],
            leader: None,
            enters: false,
            exits: false,
            agreement_events: Vec::new(),
            received: None,
            number: counts.then_some(self.numbered),
            axis_order: moment,
            column: 0,
            clock: Vec::new(),
        });
        Some(self.layout.steps.len() - 1)
    }

    fn change(&mut self, step: Option<usize>, change: impl FnOnce(&mut DiagramStep)) {
        if let Some(step) = step {
            change(&mut self.layout.steps[step]);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct RecordContext<'r> {
    record: &'r Record,
    /// Time of the record, as the layout counts it.
    time: u64,
    /// Number of the record in the run, from 1.
    number: u64,
    /// True if the record lies in the window.
    shows: bool,
}

fn description(kind: &RecordKind) -> StepCause {
    events::step_label(kind).map_or(StepCause::UnknownCause, StepCause::OtherCause)
}
