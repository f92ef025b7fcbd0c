//! What engines do with an algorithm, whatever its type is.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_algorithms::catalogue::{self, Parameters, Unknown, Visitor};
use tenure_check::Refusal;
use tenure_core::{Agreement, Algorithm, Election, Mutex, Rank};
use tenure_lab::Engine;
use tenure_runtime::ClusterError;
use tenure_sim::{Report, RunError, Settings, SettingsError, SteerError};
use tenure_trace::{Course, FollowError, Trace};

use crate::examination::{Examination, of_agreement, of_election, of_lock};
use crate::instance::Instance;
use crate::run::{Head, Run};

/// An algorithm under one configuration, whatever its type is.
pub trait Subject: Send + Sync {
    /// How it is configured, in words: equal where a parameter makes no difference.
    fn configuration(&self) -> String;

    /// Makes a run in the simulator.
    ///
    /// # Errors
    ///
    /// [`SteerError`], as [`tenure_sim::Simulation::run_steered`].
    fn simulate(&self, run: Run<'_>) -> Result<Report, SteerError>;

    /// Explores every schedule.
    ///
    /// # Errors
    ///
    /// A [`Refusal`], as [`tenure_check::Check::try_run`].
    fn check(&self, asked: &Examination) -> Result<tenure_check::Report, Refusal>;

    /// Runs that are made step by step, by somebody who meddles: of these settings, or along a
    /// recorded course at first.
    ///
    /// # Errors
    ///
    /// [`SettingsError`], when no run can be made.
    fn engine(
        &self,
        settings: Settings,
        head: Head,
        course: Option<Course>,
    ) -> Result<Box<dyn Engine>, SettingsError>;

    /// A course and what is still under way at its end, in `most` further steps at most.
    ///
    /// # Errors
    ///
    /// [`FollowError`], when the course is not one of this algorithm.
    fn carried_on(&self, course: &Course, most: u32) -> Result<Course, FollowError>;

    /// Makes a course happen in the simulator, and writes the trace.
    ///
    /// # Errors
    ///
    /// [`FollowError`], at the first step that is not possible.
    fn follow(
        &self,
        course: &Course,
        ranks: Arc<[Rank]>,
        to: Box<dyn Write + Send>,
    ) -> Result<(), FollowError<RunError>>;

    /// Makes a course happen in the checker, and gives the trace.
    ///
    /// # Errors
    ///
    /// [`FollowError`], at the first step that is not possible.
    fn follow_in_checker(&self, course: &Course) -> Result<Trace, FollowError<Refusal>>;

    /// Makes a course happen on real nodes that talk TCP over loopback. Returns their traces,
    /// which are in `directory`.
    ///
    /// # Errors
    ///
    /// [`FollowError`], at the first step that is not possible; no node is left running.
    fn follow_over_tcp(
        &self,
        course: &Course,
        directory: &Path,
    ) -> Result<Vec<PathBuf>, FollowError<ClusterError>>;
}

/// An algorithm of the house.
pub(crate) fn of_house(name: &str, parameters: &Parameters) -> Result<Box<dyn Subject>, Unknown> {
    let alone = catalogue::visit_alone(name, parameters, Alone)?;
    catalogue::visit(name, parameters, Whole { alone })
}

/// An algorithm that only the simulator knows by a type of its own.
pub(crate) type Simulates = Box<dyn Fn(Run<'_>) -> Result<Report, RunError> + Send + Sync>;

struct Alone;

impl Visitor for Alone {
    type Output = Simulates;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Simulates {
        Box::new(move |run| run.unsteered::<P>(config.clone()))
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Simulates {
        Box::new(move |run| run.unsteered::<P>(config.clone()))
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Simulates {
        Box::new(move |run| run.unsteered::<P>(config.clone()))
    }
}

struct Whole {
    alone: Option<Simulates>,
}

impl Visitor for Whole {
    type Output = Box<dyn Subject>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        Box::new(Instance::<P> { config, alone: self.alone, examine: of_lock::<P> })
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output {
        Box::new(Instance::<P> { config, alone: self.alone, examine: of_election::<P> })
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Self::Output {
        Box::new(Instance::<P> { config, alone: self.alone, examine: of_agreement::<P> })
    }
}
