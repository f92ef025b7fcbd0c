//! A run whose every step is said: nothing is left to latency, seeds or timers.

use std::io::Write;

use tenure_core::Order;
use tenure_trace::{Course, FollowError, Recorded, Theatre};

use crate::engine::core::Core;
use crate::engine::world::World;
use crate::figures::report::{Ended, Report};
use crate::settings::{Network, Settings};
use crate::sim::{RunError, Simulation};
use crate::steer::recorder::Recorder;
use crate::steer::steered::Steered;

impl<P: Recorded> Simulation<P> {
    /// Takes the steps of a course, and no others, and writes what happens to `to`. Of the
    /// settings, only what is watched counts.
    ///
    /// # Errors
    ///
    /// [`FollowError`] at the first step that is not possible.
    pub fn follow(
        &self,
        course: &Course,
        to: impl Write + Send + 'static,
    ) -> Result<Report, FollowError<RunError>> {
        let mut steered = self.boot_along(course, to)?;
        steered.follow(course)?;
        let world = steered.world;
        let (report, _, recorder) = self.reported(world, Ended::Quiescent);
        recorder.map_or(Ok(()), Recorder::finish).map_err(RunError::from)?;
        Ok(report)
    }

    /// The group of a course, booted; nothing happens in it by itself.
    pub(crate) fn boot_along(
        &self,
        course: &Course,
        to: impl Write + Send + 'static,
    ) -> Result<Steered<'_, P>, FollowError<RunError>> {
        self.check().map_err(RunError::from)?;
        course.fits(self.settings().size)?;
        let recorder = Recorder::new(Box::new(to), &self.header(), self.states);
        let recorder = Some(recorder.map_err(RunError::from)?);
        let mut core = Core::new(self.steered(course), self.offers(), recorder);
        core.spontaneous = false;
        let mut steered = Steered::new(World::new(core, &self.configs, &[], Vec::new(), None));
        steered.world.boot();
        Ok(steered)
    }

    /// Settings in which nothing happens by itself.
    fn steered(&self, course: &Course) -> Settings {
        let plain = Settings::new(course.size);
        Settings {
            down: course.down.clone(),
            network: Network { order: Some(Order::Reordered), ..Network::default() },
            detector: None,
            watch: self.settings().watch.clone(),
            ranks: self.settings().ranks.clone(),
            beyond_assumptions: true,
            ..plain
        }
    }
}
