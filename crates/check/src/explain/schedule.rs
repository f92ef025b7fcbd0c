//! Execution of a given schedule by the checker, without a search.

use std::sync::Arc;

use tenure_core::service::agreement;
use tenure_core::{ChannelOrder, ProcessId};
use tenure_trace::{
    ActionError, MessageSelector, Schedule, ScheduleReplayError, ScriptAction, ScriptRunner,
    ServiceCommand, Trace, find_timer,
};

use crate::check::Check;
use crate::config::{CheckConfig, FaultConfig};
use crate::error::CheckError;
use crate::explain::findings::trace_header;
use crate::explain::recorder::ReplayRecorder;
use crate::explain::replay::{Replay, ReplayedStep};
use crate::model::step_content::StepInput;
use crate::plan::CheckPlan;
use crate::users::crashes::SaveTiming;
use crate::users::entries::{RequestLimit, RequestLimits};
use crate::users::user::Checkable;
use crate::world::MAX_FAULTS;
use crate::world::action::{Action as Step, ActionKind};
use crate::world::initial::initial_worlds;
use crate::world::rules::SearchRules;

/// Bound on the messages in flight per link. It is so high that schedules do not reach it in
/// practice.
const IN_FLIGHT: usize = 200;

impl<P: Checkable> Check<P> {
    /// Executes a schedule and returns its trace. Replaces settings of the configuration that could
    /// forbid an action of the schedule. With the new settings, the run may contain up to 31 faults
    /// of each kind, and each user may issue as many requests as the schedule has commands for its
    /// process. Links may reorder messages, and time is asynchronous. Partitions are recorded in
    /// the trace, but have no effect.
    ///
    /// # Errors
    ///
    /// Returns a [`ScheduleReplayError`] if the schedule is for a group of another size, if the
    /// configuration is invalid, or at the first action that is not possible.
    pub fn run_schedule(
        mut self,
        schedule: &Schedule,
    ) -> Result<Trace, ScheduleReplayError<CheckError>> {
        schedule.ensure_same_group_size(self.plan.config.size)?;
        self.plan.size_for_schedule(schedule);
        let commands = schedule.actions.iter().filter_map(agreement_command::<P>).collect();
        self.plan.agreement_schedule = Some(commands);
        self.hooks.shifts = None;
        self.hooks.symmetry = None;
        self.monitors.clear();
        let rules = self.build_model_and_rules()?;
        self.plan.follow(schedule, &rules)
    }
}

impl CheckPlan {
    /// Executes a schedule in the model of these rules, and returns its trace.
    fn follow(
        &self,
        schedule: &Schedule,
        rules: &Arc<SearchRules>,
    ) -> Result<Trace, ScheduleReplayError<CheckError>> {
        let first = initial_worlds(rules, &self.config.faults.initially_down)?;
        let (world, fingerprint) = first.first().expect("there is an initial world");
        let mut follower = ScheduleRunner::starting_at(rules, (world, *fingerprint));
        ScriptRunner::replay(&mut follower, schedule)?;
        let records = follower.recorder.finish(true);
        Ok(Trace { header: trace_header(&self.config), records, torn: None })
    }

    /// Replaces the settings that could forbid an action of the schedule.
    fn size_for_schedule(&mut self, schedule: &Schedule) {
        let requests = |at: &ProcessId| {
            let is_own = |action: &&ScriptAction| match action {
                ScriptAction::Command(command) => command.at == *at,
                _ => false,
            };
            let times = schedule.actions.iter().filter(is_own).count();
            RequestLimit::AtMost(u32::try_from(times).unwrap_or(u32::MAX))
        };
        let any = |is: fn(&ScriptAction) -> bool| schedule.actions.iter().any(is);
        let CheckConfig { size, model, faults, bounds, .. } = &mut self.config;
        let all_processes: Vec<ProcessId> = (0..*size).map(ProcessId).collect();
        model.request_limits =
            RequestLimits::PerProcess(all_processes.iter().map(requests).collect());
        model.initiators = Some(all_processes);
        model.order = ChannelOrder::Reordered;
        model.latency = None;
        model.has_rounds = false;
        model.step_duration = 0..=0;
        model.has_detectors = true;
        model.detects_restarts = true;
        model.application_messages = MAX_FAULTS;
        *faults = FaultConfig {
            losses: MAX_FAULTS,
            duplicates: MAX_FAULTS,
            crashes: MAX_FAULTS,
            crash_filter: std::mem::take(&mut faults.crash_filter),
            saving: match () {
                () if any(|action| matches!(action, ScriptAction::Mute(_))) => {
                    SaveTiming::BeforeRelease
                }
                () if any(|action| matches!(action, ScriptAction::Unsaved(_))) => {
                    SaveTiming::AfterRelease
                }
                () => SaveTiming::Atomic,
            },
            recoveries: MAX_FAULTS,
            false_suspicions: MAX_FAULTS,
            partition_side: None,
            initially_down: schedule.down_at_start.clone(),
        };
        bounds.in_flight = IN_FLIGHT;
        self.selected.clear();
    }
}

fn agreement_command<P: Checkable>(
    action: &ScriptAction,
) -> Option<(ProcessId, agreement::Command)> {
    let ScriptAction::Command(asking) = action else { return None };
    Some((asking.at, P::Command::from_script_command(asking)?.to_agreement()?))
}

/// Performs the actions of a schedule one after the other, and records the run.
pub(crate) struct ScheduleRunner {
    replay: Replay,
    recorder: ReplayRecorder,
    /// Steps taken so far.
    pub(crate) steps: Vec<Step>,
    /// Values that the handler must choose in the next step. Empty if the schedule prescribes none.
    choices: Vec<u32>,
    /// Processes whose next crash must undo their last step, because this step was not saved.
    unsaved: Vec<ProcessId>,
}

impl ScriptRunner for ScheduleRunner {
    fn perform(&mut self, action: &ScriptAction) -> Result<(), ActionError> {
        if let Some(kind) = action.partition_change_record() {
            self.recorder.record_run_event(kind);
            return Ok(());
        }
        match action {
            ScriptAction::Choose { value, .. } => {
                self.choices.push(*value);
                return Ok(());
            }
            ScriptAction::Unsaved(at) => {
                self.unsaved.push(*at);
                return Ok(());
            }
            _ => {}
        }
        let found =
            self.replay.possible_actions().into_iter().find(|step| self.matches(action, *step));
        self.choices.clear();
        let step = found.ok_or_else(|| {
            let model = &self.recorder.model;
            ActionError::for_impossible_action_with_commands(action, |command| {
                model.command_from_script(command).is_some()
            })
        })?;
        match action {
            ScriptAction::Crash(at) => self.unsaved.retain(|unsaved| unsaved != at),
            ScriptAction::Deliver(pick)
            | ScriptAction::Lose(pick)
            | ScriptAction::Duplicate(pick) => {
                self.recorder.set_next_message(pick, false);
            }
            ScriptAction::Hear(pick) => self.recorder.set_next_message(pick, true),
            _ => {}
        }
        self.steps.push(step);
        self.recorder.record_action(&mut self.replay, step);
        Ok(())
    }
}

impl ScheduleRunner {
    pub(crate) fn starting_at(
        rules: &Arc<SearchRules>,
        (world, fingerprint): (&[u32], u64),
    ) -> Self {
        let replay = Replay::starting_at(rules, world, fingerprint);
        let mut recorder = ReplayRecorder::new(rules);
        recorder.record_boots(&replay);
        let (steps, choices, unsaved) = (Vec::new(), Vec::new(), Vec::new());
        ScheduleRunner { replay, recorder, steps, choices, unsaved }
    }

    /// Returns true if the possible step `step` is the step that `action` requests, with the
    /// prescribed choices.
    fn matches(&mut self, action: &ScriptAction, step: Step) -> bool {
        use StepInput::{Message, Suspicion};
        let ReplayedStep { kind, at, content, effects } = self.replay.describe_action(step);
        let made = effects.choices.iter().map(|choice| choice.value);
        if self.choices.iter().zip(made).any(|(expected, made)| *expected != made) {
            return false;
        }
        match (action, content, kind) {
            (ScriptAction::Command(asking), StepInput::Command(command), _) => {
                asking.at == at
                    && self.recorder.model.command_from_script(asking).as_ref() == Some(&command)
            }
            (ScriptAction::Fire { at: whose, timer: name }, StepInput::Timer(timer), _) => {
                let armed = self.replay.armed_timers(at);
                *whose == at && find_timer(armed.iter(), name) == Some(&timer)
            }
            (ScriptAction::Deliver(pick), Message(from, to, sent), ActionKind::Deliver)
            | (ScriptAction::Lose(pick), Message(from, to, sent), ActionKind::Lose)
            | (ScriptAction::Duplicate(pick), Message(from, to, sent), ActionKind::Duplicate) => {
                self.picks(pick, (from, to), sent, false)
            }
            (ScriptAction::Hear(pick), Message(from, to, 0), ActionKind::Deliver) => {
                self.picks(pick, (from, to), 0, true)
            }
            (ScriptAction::Tell { from, to }, Message(sender, receiver, 0), ActionKind::Send) => {
                (*from, *to) == (sender, receiver)
            }
            (ScriptAction::Crash(whose), content, ActionKind::Crash) => {
                let is_unsaved = matches!(content, StepInput::CrashBeforeSave);
                *whose == at && is_unsaved == self.unsaved.contains(whose)
            }
            (ScriptAction::Mute(whose), _, ActionKind::Mute)
            | (ScriptAction::Recover(whose), _, ActionKind::Recover) => *whose == at,
            (ScriptAction::Suspicion { at: whose, peer, verdict }, Suspicion(of, reported), _) => {
                (*whose, *peer, *verdict) == (at, of, reported)
            }
            _ => false,
        }
    }

    fn picks(
        &self,
        pick: &MessageSelector,
        link: (ProcessId, ProcessId),
        message: u32,
        applications: bool,
    ) -> bool {
        (pick.from, pick.to) == link
            && self.recorder.find_message_id(pick, applications) == Some(message)
    }
}
