//! Runs in which every step is scripted, independent of latency, seeds and timers.

use std::io::Write;

use tenure_core::ChannelOrder;
use tenure_trace::{RecordableProtocol, Schedule, ScheduleReplayError, ScriptRunner};

use crate::engine::run_context::RunContext;
use crate::engine::world::World;
use crate::results::report::{EndReason, RunReport};
use crate::settings::{NetworkSettings, Settings};
use crate::sim::{RunError, Simulation};
use crate::steer::recorder::TraceRecorder;
use crate::steer::steered_run::SteeredRun;

impl<P: RecordableProtocol> Simulation<P> {
    /// Performs exactly the steps of a schedule, and writes the trace to `to`. From the settings of
    /// the simulation, the run uses only the ranks and the monitoring settings. Monitors
    /// of [`Simulation::with_monitor`] do not judge the run.
    ///
    /// # Errors
    ///
    /// [`ScheduleReplayError::Impossible`] at the first impossible step.
    /// [`ScheduleReplayError::Size`] if the schedule is for a group of another size.
    /// [`ScheduleReplayError::Engine`] if the settings are invalid, or if the trace could not be
    /// written. After an error, the trace is incomplete.
    pub fn run_schedule(
        &self,
        schedule: &Schedule,
        to: impl Write + Send + 'static,
    ) -> Result<RunReport, ScheduleReplayError<RunError>> {
        let mut steered = self.boot_for_schedule(schedule, to)?;
        steered.replay(schedule)?;
        let world = steered.world;
        let (report, _, recorder) = self.finish_run(world, EndReason::Quiescent);
        recorder.map_or(Ok(()), TraceRecorder::finish).map_err(RunError::from)?;
        Ok(report)
    }

    /// Boots the processes of a schedule. Afterwards, an event happens in the group only if an
    /// action of the schedule causes it.
    pub(crate) fn boot_for_schedule(
        &self,
        schedule: &Schedule,
        to: impl Write + Send + 'static,
    ) -> Result<SteeredRun<'_, P>, ScheduleReplayError<RunError>> {
        self.check_settings().map_err(RunError::from)?;
        schedule.ensure_same_group_size(self.settings().size)?;
        let settings = self.steered(schedule);
        settings.check().map_err(RunError::from)?;
        let recorder = self.create_recorder(to).map_err(RunError::from)?;
        let mut run = RunContext::new(settings, self.provided_services(), Some(recorder));
        if let Some(users) = &mut run.agreement_users {
            users.is_spontaneous = false;
        }
        let mut steered = SteeredRun::new(World::new(run, &self.configs, &[], Vec::new(), None));
        steered.world.boot();
        Ok(steered)
    }

    /// Returns settings for a run that follows a schedule. With these settings, users issue no
    /// requests, no faults occur, and no failure detector sends reports. Only the schedule causes
    /// such events.
    fn steered(&self, schedule: &Schedule) -> Settings {
        let plain = Settings::new(schedule.size);
        Settings {
            down: schedule.down_at_start.clone(),
            network: NetworkSettings {
                order: Some(ChannelOrder::Reordered),
                ..NetworkSettings::default()
            },
            detector: None,
            monitoring: self.settings().monitoring.clone(),
            ranks: self.settings().ranks.clone(),
            beyond_assumptions: true,
            ..plain
        }
    }
}
