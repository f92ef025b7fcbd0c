//! A run that is paused after each step. The caller may inspect it and intervene.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::str::FromStr;

use tenure_core::{Labelled, ProcessId, Protocol, TICKS_PER_TIME_UNIT};
use tenure_trace::{
    ActionError, MessageSelector, RecordableProtocol, Schedule, ScheduleReplayError, ScriptAction,
    ScriptRunner, WriteError,
};

use crate::engine::controls::RunControls;
use crate::results::report::{EndReason, RunReport};
use crate::settings::error::SettingsError;
use crate::sim::{RunError, Simulation};
use crate::steer::next::NextStep;
use crate::steer::recorder::TraceRecorder;
use crate::steer::steered_run::SteeredRun;

/// An intervention: an action that the caller adds to a run, after a certain step.
///
/// As text, `12 lose p2→p1 request` means: after step 12, lose the oldest request from P2 to P1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervention {
    /// Number of steps of the run that precede the intervention. Interventions do not count as
    /// steps.
    pub after_step: u64,
    /// Action of the intervention.
    pub action: ScriptAction,
}

impl FromStr for Intervention {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "invalid intervention '{text}': expected a step and an action, \
                 such as '12 lose p2→p1 request'"
            )
        };
        let (step, action) = text.trim().split_once(' ').ok_or_else(form)?;
        let after_step = step.parse().map_err(|_| form())?;
        Ok(Intervention { after_step, action: action.parse()? })
    }
}

impl std::fmt::Display for Intervention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.after_step, self.action)
    }
}

/// Returns the command-line options that repeat the interventions and limit the number of steps. An
/// example is `--steer '12 crash p3' --steps 20`.
pub fn steering_command_line_options(
    interventions: &[Intervention],
    max_steps: Option<u64>,
) -> String {
    let interventions = interventions.iter().map(|it| format!(" --steer '{it}'"));
    let max = max_steps.map(|max| format!(" --steps {max}"));
    interventions.chain(max).collect()
}

/// Error of a run with interventions. After this error, the trace of the run is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum PlannedRunError {
    /// The settings are invalid and nothing was run, or the trace could not be written.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The run has reached the step of this intervention, but its action is impossible in this
    /// state.
    #[error("'{0}' is not possible after that step")]
    Impossible(Intervention),
    /// The text of the action is unknown: it is neither a command of the protocol nor another
    /// action. The field is an [`ActionError::UnknownCommand`].
    #[error(transparent)]
    UnknownCommand(ActionError),
    /// The run ended before the step of the intervention.
    #[error("'{intervention}' comes too late: the run ended after step {steps}")]
    RunEnded {
        /// Intervention whose step was never reached.
        intervention: Intervention,
        /// Number of steps after which the run ended.
        steps: u64,
    },
    /// The interventions are not in the order of their steps. The field contains the first
    /// intervention with an earlier step than the intervention before it.
    #[error("'{0}' follows an intervention with a later step: order them by step")]
    OutOfOrder(Intervention),
}

/// Reason why an interactive run took no step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InteractiveStepError {
    /// The run has ended.
    Ended(EndReason),
    /// The next action of the schedule is impossible.
    Impossible(ActionError),
}

/// A message in flight.
#[derive(Debug)]
pub struct InFlightMessage<'s, M> {
    /// Identifier of this copy of the message. The copy that arrives first has the number of the
    /// message in the trace as its identifier. Each further copy has another identifier.
    pub id: u64,
    /// Number of the message in the trace. All copies of the message have the same number.
    pub number: u64,
    /// Sender of the message.
    pub from: ProcessId,
    /// Receiver of the message.
    pub to: ProcessId,
    /// Content of the message.
    pub message: &'s M,
    /// Time at which the message arrives if no intervention changes it, in ticks.
    pub due: u64,
    /// Selector with which a [`ScriptAction`] selects this message.
    pub selector: MessageSelector,
}

/// A simulation run that is paused between two events. The caller takes each step.
///
/// Without interventions, its trace equals that of [`Simulation::run_traced`], to the byte.
/// [`InteractiveRun::intervene`] performs actions that would not have happened by themselves.
pub struct InteractiveRun<'a, P: Protocol> {
    simulation: &'a Simulation<P>,
    pub(crate) steered: SteeredRun<'a, P>,
    /// Remaining actions of the schedule. Until the last action is performed, the events that the
    /// simulator has scheduled do not happen. `None` if the run follows no schedule, or no longer
    /// follows it.
    schedule: Option<VecDeque<ScriptAction>>,
    /// True if the workload has started, or if the run began with a schedule, which replaces the
    /// workload.
    pub(crate) started: bool,
    /// True if an intervention or a schedule has changed the run. Its cost is then not judged.
    has_interventions: bool,
    /// Number of steps taken. Interventions do not count.
    steps: u64,
    /// Number of events that the run handles before it checks its limits again.
    events_until_check: u64,
    /// True if the last step only issued the next request of a sequential workload. The next step
    /// must then handle an event before it may issue another request.
    drawn: bool,
    ended: Option<EndReason>,
}

impl<P: RecordableProtocol> Simulation<P> {
    /// Boots the processes of a run and pauses before its first step. The trace is written to `to`.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run_traced`].
    pub fn interactive_run(
        &self,
        to: impl Write + Send + 'static,
    ) -> Result<InteractiveRun<'_, P>, RunError> {
        let mut steered = SteeredRun::new(self.build_recorded_world(to)?);
        steered.world.boot();
        Ok(InteractiveRun::new(self, steered, None))
    }

    /// Boots the processes of a schedule, and pauses before the first action of the schedule. Each
    /// of the following steps performs one action. After the last action, or after an intervention,
    /// the run continues with the events that the simulator has scheduled. The run has no workload.
    ///
    /// # Errors
    ///
    /// [`ScheduleReplayError::Size`] if the schedule is for a group of another size.
    /// [`ScheduleReplayError::Engine`] if the settings are invalid, or if the header of the trace
    /// could not be written. If an action is impossible, the step that attempts the action returns
    /// the error.
    pub fn interactive_run_of_schedule(
        &self,
        schedule: &Schedule,
        to: impl Write + Send + 'static,
    ) -> Result<InteractiveRun<'_, P>, ScheduleReplayError<RunError>> {
        let steered = self.boot_for_schedule(schedule, to)?;
        Ok(InteractiveRun::new(self, steered, Some(schedule.actions.iter().cloned().collect())))
    }

    /// Performs one run with interventions, and writes the trace of the run to `to`. After the last
    /// intervention, the run continues until it ends. If `max_steps` is given, the run stops when
    /// it has taken `max_steps` steps in total, but not before the last intervention.
    ///
    /// # Errors
    ///
    /// [`PlannedRunError::Run`] if the settings are invalid, or if the trace could not be
    /// written. Any other [`PlannedRunError`] at the first intervention that cannot be performed.
    /// After an error, the trace is incomplete.
    pub fn run_with_interventions(
        &self,
        interventions: &[Intervention],
        max_steps: Option<u64>,
        to: impl Write + Send + 'static,
        mut controls: RunControls<'_>,
    ) -> Result<RunReport, PlannedRunError> {
        let mut interactive_run = self.interactive_run(to)?;
        for intervention in interventions {
            if intervention.after_step < interactive_run.steps {
                return Err(PlannedRunError::OutOfOrder(intervention.clone()));
            }
            while interactive_run.steps < intervention.after_step {
                if interactive_run.step_with(&mut controls).is_err() {
                    let steps = interactive_run.steps;
                    return Err(PlannedRunError::RunEnded {
                        intervention: intervention.clone(),
                        steps,
                    });
                }
            }
            let done = interactive_run.intervene(&intervention.action);
            done.map_err(|error| match error {
                ActionError::UnknownCommand(_) => PlannedRunError::UnknownCommand(error),
                _ => PlannedRunError::Impossible(intervention.clone()),
            })?;
        }
        let max = max_steps.unwrap_or(u64::MAX);
        while interactive_run.steps < max && interactive_run.step_with(&mut controls).is_ok() {}
        interactive_run.stop().map_err(|error| PlannedRunError::Run(error.into()))
    }
}

impl<'a, P: RecordableProtocol> InteractiveRun<'a, P> {
    fn new(
        simulation: &'a Simulation<P>,
        steered: SteeredRun<'a, P>,
        schedule: Option<VecDeque<ScriptAction>>,
    ) -> Self {
        let started = schedule.is_some();
        InteractiveRun {
            simulation,
            steered,
            schedule,
            started,
            has_interventions: started,
            steps: 0,
            events_until_check: 0,
            drawn: false,
            ended: None,
        }
    }

    /// Takes the next step. A step handles the next event that has an effect, or issues the next
    /// request of a sequential workload. The first step of a run without a schedule starts the
    /// workload. While the run follows a schedule, a step performs the next action of the schedule.
    ///
    /// # Errors
    ///
    /// [`InteractiveStepError::Ended`] if the run has ended or ends now.
    /// [`InteractiveStepError::Impossible`] if the next action of the schedule is impossible. The
    /// action is then skipped.
    pub fn step(&mut self) -> Result<(), InteractiveStepError> {
        self.step_with(&mut RunControls::new())
    }

    fn step_with(&mut self, controls: &mut RunControls<'_>) -> Result<(), InteractiveStepError> {
        if let Some(schedule) = &mut self.schedule {
            while let Some(action) = schedule.pop_front() {
                let is_last = schedule.is_empty();
                self.steered.perform(&action).map_err(InteractiveStepError::Impossible)?;
                if !action.is_step() {
                    continue;
                }
                self.steps += 1;
                if is_last {
                    self.drop_schedule();
                }
                return Ok(());
            }
            self.drop_schedule();
        }
        if let Some(ended) = self.ended {
            return Err(InteractiveStepError::Ended(ended));
        }
        if !self.started {
            self.started = true;
            self.steps += 1;
            self.steered.world.start_workload(&RunControls::new());
            return Ok(());
        }
        loop {
            let idle = self.is_next_event_idle();
            if let Some(ended) = self.handle_event(controls) {
                self.ended = Some(ended);
                return Err(InteractiveStepError::Ended(ended));
            }
            if self.drawn || !idle {
                self.steps += 1;
                return Ok(());
            }
        }
    }

    /// Handles one event. Returns the reason if the run ends. Checks the limits as often as a
    /// normal run does. If the next request of a sequential workload is due, this call handles no
    /// event: it selects a user at random and issues the request of this user. The next call then
    /// handles the event.
    fn handle_event(&mut self, controls: &mut RunControls<'_>) -> Option<EndReason> {
        let world = &mut self.steered.world;
        if std::mem::take(&mut self.drawn) {
            return world.handle_earliest_event();
        }
        if self.events_until_check == 0 {
            if let Some(ended) = world.report_progress_and_check_end(controls) {
                return Some(ended);
            }
            self.events_until_check = world.events_until_check();
        }
        self.events_until_check -= 1;
        if world.will_issue_sequential_request() {
            self.drawn = world.issue_sequential_request();
            return None;
        }
        world.handle_event_or_end()
    }

    /// Performs an intervention at the present time. Scheduled events of the run happen after the
    /// intervention. If the run follows a schedule, the method drops the remaining actions of the
    /// schedule. If the run has ended, it can continue after the intervention.
    ///
    /// # Errors
    ///
    /// [`ActionError`] if the action is impossible now, or possible only in a schedule. The run is
    /// then unchanged.
    pub fn intervene(&mut self, action: &ScriptAction) -> Result<(), ActionError> {
        let is_schedule_only = matches!(
            action,
            ScriptAction::Tell { .. }
                | ScriptAction::Hear(_)
                | ScriptAction::Split(_)
                | ScriptAction::Heal
        );
        if is_schedule_only || self.steered.perform_now(action).is_none() {
            return Err(ActionError::for_impossible_action::<P::Command>(action));
        }
        self.drop_schedule();
        self.has_interventions = true;
        (self.ended, self.drawn) = (None, false);
        Ok(())
    }

    /// Ends the schedule, if the run follows one. The events that the simulator has scheduled can
    /// then happen.
    fn drop_schedule(&mut self) {
        if self.schedule.take().is_some() {
            self.steered.resume_scheduled_events(TICKS_PER_TIME_UNIT);
        }
    }

    /// Returns the number of steps taken.
    pub fn step_count(&self) -> u64 {
        self.steps
    }

    /// Returns the present time of the run, in ticks.
    pub fn now(&self) -> u64 {
        self.steered.world.run.now
    }

    /// Returns the number of records in the trace so far.
    pub fn record_count(&self) -> u64 {
        self.steered.world.run.tracer.recorder.as_ref().map_or(0, TraceRecorder::record_count)
    }

    /// Returns the number of events that the processes have emitted for their users so far.
    pub fn emitted_event_count(&self) -> u64 {
        self.steered
            .world
            .run
            .tracer
            .recorder
            .as_ref()
            .map_or(0, TraceRecorder::emitted_event_count)
    }

    /// Returns all processes. If a process is down, the result contains its state before the crash.
    pub fn processes(&self) -> &[P] {
        &self.steered.world.processes
    }

    /// Returns true if a process is up. Returns false if it is down or not in the group.
    pub fn is_up(&self, process: ProcessId) -> bool {
        self.steered.world.run.live_processes.up_state(process).unwrap_or(false)
    }

    /// Returns the armed timers of all processes, the earliest first. Each element contains the
    /// process, the timer, and the time at which the timer fires, in ticks.
    pub fn timers(&self) -> Vec<(ProcessId, &P::Timer, u64)> {
        let world = &self.steered.world;
        let acts = world.run.event_queue.in_pop_order().into_iter();
        acts.filter_map(|(due, act)| match act {
            crate::engine::scheduled_event::ScheduledEvent::Timer { slot, generation } => {
                let (at, timer) = world.timers.armed_in_slot(*slot, *generation)?;
                Some((at, timer, due))
            }
            _ => None,
        })
        .collect()
    }

    /// Returns the messages in flight, oldest first.
    pub fn in_flight(&self) -> Vec<InFlightMessage<'_, P::Message>> {
        let mut all: Vec<InFlightMessage<'_, P::Message>> = Vec::new();
        let (mut alike, mut copies) = (BTreeMap::new(), BTreeMap::new());
        for sent in self.steered.in_flight() {
            let (envelope, number) = (sent.envelope, sent.number);
            let kind = envelope.message.label().kind;
            let ordinal = alike.entry((envelope.from, envelope.to, kind)).or_insert(0);
            *ordinal += 1;
            let mut pick = MessageSelector::oldest(envelope.from, envelope.to);
            (pick.kind, pick.ordinal) = (Some(kind.to_owned()), *ordinal);
            let copy: &mut u64 = copies.entry(number).or_default();
            all.push(InFlightMessage {
                id: number + (*copy << 32),
                number,
                from: envelope.from,
                to: envelope.to,
                message: &envelope.message,
                due: sent.due,
                selector: pick,
            });
            *copy += 1;
        }
        all
    }

    /// Returns a description of the next step. Returns `None` if no step is left.
    pub fn describe_next_step(&self) -> Option<NextStep> {
        match &self.schedule {
            Some(schedule) if !schedule.is_empty() => schedule
                .iter()
                .find(|it| it.is_step())
                .and_then(|it| self.preview_scheduled_action(it)),
            _ if self.ended.is_some() => None,
            _ => self.preview_unscheduled_step(),
        }
    }

    /// Ends the run after its last step and returns the report. If the run has not ended by itself,
    /// the report has the reason [`EndReason::Stopped`].
    ///
    /// # Errors
    ///
    /// [`WriteError`] if the trace could not be written. There is then no report.
    pub fn stop(self) -> Result<RunReport, WriteError> {
        let ended = self.ended.unwrap_or(EndReason::Stopped);
        let (mut report, _, recorder) = self.simulation.finish_run(self.steered.world, ended);
        if !self.has_interventions {
            self.simulation.judge_cost(&mut report);
        }
        recorder.map_or(Ok(()), TraceRecorder::finish)?;
        Ok(report)
    }
}

impl From<SettingsError> for PlannedRunError {
    fn from(error: SettingsError) -> Self {
        PlannedRunError::Run(error.into())
    }
}
