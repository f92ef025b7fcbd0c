//! Operations on an algorithm whose type the caller does not know.

use std::io::Write;
#[cfg(feature = "nodes")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, CatalogueError, Parameters};
use tenure_check::{
    CheckConfig, CheckError, ExplorationReport, MeasureConfig, MeasureReport, StateSpaceObserver,
};
use tenure_core::{Agreement, Algorithm, Election, Mutex, Property, Rank};
use tenure_lab::Engine;
#[cfg(feature = "nodes")]
use tenure_runtime::ScriptedClusterError;
use tenure_sim::{PlannedRunError, RunError, RunReport, Settings, SettingsError};
use tenure_trace::{Schedule, ScheduleReplayError, Trace};

use crate::check::{check_agreement, check_election, check_lock, measure_any, measure_lock};
use crate::instance::Instance;
use crate::run::{RunParameters, TraceHeaderFields};

/// A configured algorithm, behind an interface that does not depend on its type.
pub trait AnyAlgorithm: Send + Sync {
    /// Returns a description of the configuration. The description omits parameters that the
    /// algorithm ignores. Two configurations that differ only in ignored parameters have the same
    /// description.
    fn describe_configuration(&self) -> String;

    /// Runs a simulation of the algorithm.
    ///
    /// # Errors
    ///
    /// The same [`PlannedRunError`] as [`tenure_sim::Simulation::run_with_interventions`].
    fn simulate(&self, run: RunParameters<'_>) -> Result<RunReport, PlannedRunError>;

    /// Checks `properties` in all possible schedules, within the limits of `config`. `ranks` are
    /// the ranks of the processes. The check of an election uses them to decide which process must
    /// lead.
    ///
    /// # Errors
    ///
    /// The same [`CheckError`] as [`tenure_check::Check::try_run`].
    fn check(
        &self,
        config: &CheckConfig,
        properties: &[Property],
        ranks: &[Rank],
    ) -> Result<tenure_check::CheckReport, CheckError>;

    /// Measures the costs that `measure` selects, such as the bypass of a lock, over all possible
    /// schedules.
    ///
    /// # Errors
    ///
    /// The same [`CheckError`] as [`tenure_check::Check::measure`].
    fn measure_costs(
        &self,
        config: &CheckConfig,
        measure: &MeasureConfig,
    ) -> Result<MeasureReport, CheckError>;

    /// Shows the reachable states and their steps to `observer`. The exploration uses no state
    /// reductions. It ends incomplete if there are more than `max_states` states.
    ///
    /// # Errors
    ///
    /// The same [`CheckError`] as [`tenure_check::Check::visit_reachable_states`].
    fn visit_reachable_states(
        &self,
        config: &CheckConfig,
        max_states: u64,
        observer: &mut dyn StateSpaceObserver,
    ) -> Result<ExplorationReport, CheckError>;

    /// Creates an engine that simulates the algorithm with `settings`, step by step. If `schedule`
    /// is given, each run begins with the steps of this schedule.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] if the settings are invalid, or if the environment does not meet an
    /// assumption of the algorithm.
    fn create_lab_engine(
        &self,
        settings: Settings,
        header: TraceHeaderFields,
        schedule: Option<Schedule>,
    ) -> Result<Box<dyn Engine>, SettingsError>;

    /// Returns `schedule`, extended by up to `max_steps` steps that show how the run continues
    /// without further faults. Exits from the critical section are not counted.
    ///
    /// # Errors
    ///
    /// [`ScheduleReplayError`] if this algorithm cannot perform the schedule.
    fn extend_schedule(
        &self,
        schedule: &Schedule,
        max_steps: u32,
    ) -> Result<Schedule, ScheduleReplayError>;

    /// Executes the steps of a schedule in the simulator, and writes the trace to `to`. `ranks` are
    /// the ranks of the processes.
    ///
    /// # Errors
    ///
    /// [`ScheduleReplayError::Impossible`] at the first impossible step.
    /// [`ScheduleReplayError::Engine`] if the ranks are invalid, or if the trace could not be
    /// written. The trace is then incomplete.
    fn replay(
        &self,
        schedule: &Schedule,
        ranks: Arc<[Rank]>,
        to: Box<dyn Write + Send>,
    ) -> Result<(), ScheduleReplayError<RunError>>;

    /// Executes the steps of a schedule in the checker, and returns the trace.
    ///
    /// # Errors
    ///
    /// [`ScheduleReplayError::Impossible`] at the first impossible step.
    /// [`ScheduleReplayError::Engine`] if the checker fails.
    fn replay_in_checker(
        &self,
        schedule: &Schedule,
    ) -> Result<Trace, ScheduleReplayError<CheckError>>;

    /// Executes the steps of a schedule on real nodes, which communicate over TCP on the loopback
    /// interface. Each node writes a trace in `directory`. Returns the paths of the traces.
    ///
    /// # Errors
    ///
    /// [`ScheduleReplayError::Impossible`] at the first impossible step.
    /// [`ScheduleReplayError::Engine`] if a node or a connection fails. No node is left running.
    #[cfg(feature = "nodes")]
    fn replay_over_tcp(
        &self,
        schedule: &Schedule,
        directory: &Path,
    ) -> Result<Vec<PathBuf>, ScheduleReplayError<ScriptedClusterError>>;
}

/// Returns the built-in algorithm with this name, configured by `parameters`.
pub(crate) fn builtin_algorithm(
    name: &str,
    parameters: &Parameters,
) -> Result<Box<dyn AnyAlgorithm>, CatalogueError> {
    let alone = catalogue::try_visit_concrete_type(name, parameters, SimulateVisitor)?;
    catalogue::visit(name, parameters, InstanceVisitor { simulate_alone: alone })
}

/// Function that simulates a built-in algorithm with the algorithm's own Rust type. An `Instance`
/// uses a type that represents several algorithms, so its states need more memory.
pub(crate) type SimulateFn =
    Box<dyn Fn(RunParameters<'_>) -> Result<RunReport, RunError> + Send + Sync>;

struct SimulateVisitor;

impl AlgorithmVisitor for SimulateVisitor {
    type Output = SimulateFn;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> SimulateFn {
        Box::new(move |run| run.execute_without_interventions::<P>(config.clone()))
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> SimulateFn {
        Box::new(move |run| run.execute_without_interventions::<P>(config.clone()))
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> SimulateFn {
        Box::new(move |run| run.execute_without_interventions::<P>(config.clone()))
    }
}

struct InstanceVisitor {
    simulate_alone: Option<SimulateFn>,
}

impl AlgorithmVisitor for InstanceVisitor {
    type Output = Box<dyn AnyAlgorithm>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        Instance::<P>::boxed(config, self.simulate_alone, check_lock::<P>, measure_lock::<P>)
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output {
        Instance::<P>::boxed(config, self.simulate_alone, check_election::<P>, measure_any::<P>)
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Self::Output {
        Instance::<P>::boxed(config, self.simulate_alone, check_agreement::<P>, measure_any::<P>)
    }
}
