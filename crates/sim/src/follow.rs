//! A run whose every step is said: nothing is left to latency, seeds or timers.

use std::io::Write;

use tenure_core::{Order, Protocol, TICKS_PER_UNIT};
use tenure_trace::{Action, Course, Spoken, WriteError};

use crate::core::Core;
use crate::recorder::Recorder;
use crate::steered::Steered;
use crate::world::World;
use crate::{Ended, Network, Report, Settings, SettingsError, Simulation, UserCommand, UserEvent};

/// A course could not be followed. What was written of its trace is not complete.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// No group could do so.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] WriteError),
    /// The group is of another size.
    #[error("the course is one of {course} processes, the simulation of {simulation}")]
    Size {
        /// How many the course has.
        course: u32,
        /// How many the simulation has.
        simulation: u32,
    },
    /// A step is not possible.
    #[error("step {step}, `{action}`, is not possible")]
    Impossible {
        /// Which, from 1.
        step: usize,
        /// What should be done.
        action: Action,
    },
}

/// How much time passes with each step, in ticks: more than the unit that a message takes.
pub(crate) const STEP: u64 = 2 * TICKS_PER_UNIT;

impl<P: Protocol> Simulation<P>
where
    P::Command: UserCommand + Spoken,
    P::Event: UserEvent,
{
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
    ) -> Result<Report, FollowError> {
        self.check()?;
        let simulation = self.settings().size;
        if course.size != simulation {
            return Err(FollowError::Size { course: course.size, simulation });
        }
        let recorder = Recorder::new(Box::new(to), &self.header(), self.states)?;
        let core = Core::new(self.steered(course), Self::offers(), Some(recorder));
        let world = World::new(core, &self.configs, &[], Vec::new(), None);
        let mut steered = Steered::new(world);
        steered.world.boot();
        for (place, action) in course.actions.iter().enumerate() {
            steered.world.core.now += STEP;
            if steered.perform(action).is_none() {
                return Err(FollowError::Impossible { step: place + 1, action: action.clone() });
            }
        }
        let world = steered.world;
        let (report, _, recorder) = self.reported(world, Ended::Quiescent);
        recorder.map_or(Ok(()), Recorder::finish)?;
        Ok(report)
    }

    /// Settings in which nothing happens by itself.
    pub(crate) fn steered(&self, course: &Course) -> Settings {
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
