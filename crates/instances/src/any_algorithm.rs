//! Operations on an algorithm without its type.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_algorithms::catalogue::{self, CatalogueError, Parameters, Visitor};
use tenure_check::{CheckConfig, CheckError};
use tenure_core::{Agreement, Algorithm, Election, Mutex, Property, Rank};
use tenure_lab::Engine;
use tenure_runtime::ClusterError;
use tenure_sim::{InterventionError, Report, RunError, Settings, SettingsError};
use tenure_trace::{FollowError, Schedule, Trace};

use crate::check::{check_agreement, check_election, check_lock};
use crate::instance::Instance;
use crate::run::{Run, TraceHeader};

/// A configured algorithm, independent of its type.
pub trait AnyAlgorithm: Send + Sync {
    /// Returns a description of the configuration. Parameters without effect do not change it.
    fn configuration(&self) -> String;

    /// Runs a simulation.
    ///
    /// # Errors
    ///
    /// [`InterventionError`], as [`tenure_sim::Simulation::run_with_interventions`].
    fn simulate(&self, run: Run<'_>) -> Result<Report, InterventionError>;

    /// Checks these properties in all schedules. The ranks of the processes decide which leader is
    /// valid.
    ///
    /// # Errors
    ///
    /// A [`CheckError`], as [`tenure_check::Check::try_run`].
    fn check(
        &self,
        config: &CheckConfig,
        properties: &[Property],
        ranks: &[Rank],
    ) -> Result<tenure_check::Report, CheckError>;

    /// Creates an engine for an interactive run, with these settings or along a recorded schedule.
    ///
    /// # Errors
    ///
    /// [`SettingsError`], when no run can be made.
    fn engine(
        &self,
        settings: Settings,
        header: TraceHeader,
        schedule: Option<Schedule>,
    ) -> Result<Box<dyn Engine>, SettingsError>;

    /// Extends a schedule until its pending messages are delivered, by at most `max_steps` steps.
    ///
    /// # Errors
    ///
    /// [`FollowError`], when the schedule is not one of this algorithm.
    fn extended(&self, schedule: &Schedule, max_steps: u32) -> Result<Schedule, FollowError>;

    /// Performs a schedule in the simulator and writes the trace.
    ///
    /// # Errors
    ///
    /// [`FollowError`], at the first impossible step.
    fn follow(
        &self,
        schedule: &Schedule,
        ranks: Arc<[Rank]>,
        to: Box<dyn Write + Send>,
    ) -> Result<(), FollowError<RunError>>;

    /// Performs a schedule in the checker and returns the trace.
    ///
    /// # Errors
    ///
    /// [`FollowError`], at the first impossible step.
    fn follow_in_checker(&self, schedule: &Schedule) -> Result<Trace, FollowError<CheckError>>;

    /// Performs a schedule on real nodes that communicate over TCP on the loopback interface.
    /// Returns the paths of their traces in `directory`.
    ///
    /// # Errors
    ///
    /// [`FollowError`], at the first impossible step. No node is left running.
    fn follow_over_tcp(
        &self,
        schedule: &Schedule,
        directory: &Path,
    ) -> Result<Vec<PathBuf>, FollowError<ClusterError>>;
}

/// Returns a built-in algorithm.
pub(crate) fn builtin(
    name: &str,
    parameters: &Parameters,
) -> Result<Box<dyn AnyAlgorithm>, CatalogueError> {
    let alone = catalogue::visit_alone(name, parameters, SimulateVisitor)?;
    catalogue::visit(name, parameters, InstanceVisitor { simulate_alone: alone })
}

/// Function that simulates an algorithm with a smaller state type, without a full instance.
pub(crate) type SimulateFn = Box<dyn Fn(Run<'_>) -> Result<Report, RunError> + Send + Sync>;

struct SimulateVisitor;

impl Visitor for SimulateVisitor {
    type Output = SimulateFn;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> SimulateFn {
        Box::new(move |run| run.execute_unsteered::<P>(config.clone()))
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> SimulateFn {
        Box::new(move |run| run.execute_unsteered::<P>(config.clone()))
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> SimulateFn {
        Box::new(move |run| run.execute_unsteered::<P>(config.clone()))
    }
}

struct InstanceVisitor {
    simulate_alone: Option<SimulateFn>,
}

impl Visitor for InstanceVisitor {
    type Output = Box<dyn AnyAlgorithm>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        Box::new(Instance::<P> {
            config,
            simulate_alone: self.simulate_alone,
            check: check_lock::<P>,
        })
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output {
        Box::new(Instance::<P> {
            config,
            simulate_alone: self.simulate_alone,
            check: check_election::<P>,
        })
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Self::Output {
        Box::new(Instance::<P> {
            config,
            simulate_alone: self.simulate_alone,
            check: check_agreement::<P>,
        })
    }
}
