//! The engines, for one type.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_check::{Checkable, Refusal};
use tenure_core::{Algorithm, Card, Rank};
use tenure_lab::Engine;
use tenure_runtime::{self as runtime, ClusterError};
use tenure_sim::{Report, RunError, Settings, SettingsError, Simulation, SteerError};
use tenure_trace::{Course, FollowError, Header, Source, Trace};

use crate::examination::{Examination, retraced};
use crate::run::{Head, Run, headed};
use crate::subject::{Simulates, Subject};

/// One algorithm as a type, and its configuration.
pub(crate) struct Instance<P: Algorithm> {
    pub(crate) config: P::Config,
    /// What simulates it instead, in a smaller type.
    pub(crate) alone: Option<Simulates>,
    /// How its service is checked.
    pub(crate) examine: fn(&Examination, &P::Config) -> Result<tenure_check::Report, Refusal>,
}

impl<P: Algorithm + Checkable> Subject for Instance<P> {
    fn configuration(&self) -> String {
        format!("{:?}", self.config)
    }

    fn simulate(&self, run: Run<'_>) -> Result<Report, SteerError> {
        match &self.alone {
            Some(alone) if !run.steering.is_any() => Ok(alone(run)?),
            _ => run.of::<P>(self.config.clone()),
        }
    }

    fn check(&self, asked: &Examination) -> Result<tenure_check::Report, Refusal> {
        (self.examine)(asked, &self.config)
    }

    fn engine(
        &self,
        settings: Settings,
        head: Head,
        course: Option<Course>,
    ) -> Result<Box<dyn Engine>, SettingsError> {
        let simulation = Simulation::<P>::of(self.config.clone(), settings)?;
        let simulation = headed(simulation, head, false);
        Ok(Box::new(match course {
            Some(course) => tenure_lab::Run::along(simulation, course),
            None => tenure_lab::Run::new(simulation),
        }))
    }

    fn carried_on(&self, course: &Course, most: u32) -> Result<Course, FollowError> {
        course.carried_on::<P>(|_| self.config.clone(), most)
    }

    fn follow(
        &self,
        course: &Course,
        ranks: Arc<[Rank]>,
        to: Box<dyn Write + Send>,
    ) -> Result<(), FollowError<RunError>> {
        // What was recorded may be beyond what the card assumes.
        let plain = Settings::new(course.size);
        let settings = Settings { ranks, beyond_assumptions: true, ..plain };
        let Card { name, service, .. } = P::card(&self.config, course.size);
        let simulation = Simulation::<P>::new(self.config.clone(), settings);
        let simulation = simulation.named(name).serving(service);
        simulation.follow(course, to).map(drop)
    }

    fn follow_in_checker(&self, course: &Course) -> Result<Trace, FollowError<Refusal>> {
        retraced::<P>(course, &self.config)
    }

    fn follow_over_tcp(
        &self,
        course: &Course,
        directory: &Path,
    ) -> Result<Vec<PathBuf>, FollowError<ClusterError>> {
        let card = P::card(&self.config, course.size);
        let header = Header::new(card.name, card.service, course.size, Source::Node);
        let config = |_| self.config.clone();
        runtime::follow::<P>(course, config, directory, &header)
    }
}
