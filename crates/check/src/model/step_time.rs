//! Time in the model of a protocol: delays of timers, and the durations of steps.

use tenure_core::{Delay, ProcessId, TimerChange};

use crate::config::ModelConfig;
use crate::model::handler_run::HandlerRun;
use crate::model::protocol_model::ProtocolModel;
use crate::model::timer_units::timer_units;
use crate::users::user::Checkable;
use crate::world::local::{ArmedTimer, LocalState, arm_timer, disarm_timer};
use crate::world::step_queue::UnfinishedStep;

impl<P: Checkable> ProtocolModel<P> {
    /// Converts the delay of a timer to whole units of synchronous time: the first and the last
    /// unit after the start of the timer at which it may fire. Returns zeros in asynchronous time,
    /// in which a timer may fire at any moment.
    fn units(&self, after: Delay) -> (u32, u32) {
        let ModelConfig { latency, drift_ppm, .. } = &self.config.model;
        latency.as_ref().map_or((0, 0), |_| timer_units(after, *drift_ppm))
    }

    /// Applies the changes that a step makes to the timers of its process. If steps take time,
    /// returns the timers that start only at the end of the step, sorted by name. If steps take no
    /// time, starts all timers at once and returns none.
    pub(super) fn change_timers(
        &self,
        local: &mut LocalState<P>,
        changes: Vec<TimerChange<P::Timer>>,
    ) -> Vec<ArmedTimer<P::Timer>> {
        let is_timed = self.config.model.steps_take_time();
        let mut starting: Vec<ArmedTimer<P::Timer>> = Vec::new();
        for change in changes {
            match change {
                TimerChange::Set(timer, after) => {
                    let (min_delay, max_delay) = self.units(after);
                    let armed = ArmedTimer { timer, min_delay, max_delay };
                    if is_timed {
                        local.disarm_timer(&armed.timer);
                        arm_timer(&mut starting, armed);
                    } else {
                        local.arm_timer(armed);
                    }
                }
                TimerChange::Cancel(timer) => {
                    disarm_timer(&mut starting, &timer);
                    local.disarm_timer(&timer);
                }
            }
        }
        starting
    }

    /// Returns the messages that leave the process at once. If steps take no time, these are all
    /// messages of the step. If steps take time, returns no messages: the messages and timers of
    /// the step wait until the step ends.
    pub(super) fn begin_step(
        &self,
        local: &mut LocalState<P>,
        messages: Vec<(ProcessId, P::Message)>,
        timers: Vec<ArmedTimer<P::Timer>>,
    ) -> Vec<(ProcessId, P::Message)> {
        let model = &self.config.model;
        if !model.steps_take_time() {
            return messages;
        }
        let (min_duration, max_duration) =
            (*model.step_duration.start(), *model.step_duration.end());
        let past = local.past.clone();
        local.unfinished_steps.push(UnfinishedStep {
            min_duration,
            max_duration,
            messages,
            timers,
            past,
        });
        Vec::new()
    }

    /// Returns the run that ends the step in progress: its messages leave, and its timers start.
    pub(super) fn step_end_run(&self, local: &LocalState<P>) -> HandlerRun<P> {
        let mut local = local.clone();
        let ended = local.unfinished_steps.pop();
        let ended = ended.unwrap_or_else(|| panic!("{} has no step in progress", local.at));
        for armed in ended.timers {
            local.arm_timer(armed);
        }
        HandlerRun {
            messages: ended.messages,
            past: Some(ended.past),
            ..HandlerRun::without_effects(local)
        }
    }

    /// If the step in progress may end now, returns the fairness label of the action that ends this
    /// step. Otherwise returns `None`.
    pub(super) fn step_end_label(&self, local: &LocalState<P>) -> Option<u32> {
        let first = local.unfinished_steps.first()?;
        let label = || self.network.intern_label(7 << 40, u64::from(local.at.0));
        (first.min_duration == 0).then(label)
    }

    /// Returns true if a timer must fire, or the step in progress must end, before time passes.
    pub(super) fn is_urgent(&self, local: &LocalState<P>) -> bool {
        let is_due = |armed: &ArmedTimer<P::Timer>| armed.max_delay == 0;
        let must_end = || local.unfinished_steps.first().is_some_and(|step| step.max_duration == 0);
        self.config.model.latency.is_some() && (local.timers.iter().any(is_due) || must_end())
    }
}
