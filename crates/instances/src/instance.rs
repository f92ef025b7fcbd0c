//! Implementation of all operations of [`AnyAlgorithm`] for one protocol type.

use std::io::Write;
#[cfg(feature = "nodes")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_check::{
    Check, CheckConfig, CheckError, Checkable, ExplorationReport, MeasureConfig, MeasureReport,
    StateSpaceObserver,
};
use tenure_core::{Algorithm, Card, Property, Rank};
use tenure_lab::Engine;
#[cfg(feature = "nodes")]
use tenure_runtime::{self as runtime, ScriptedClusterError};
use tenure_sim::{PlannedRunError, RunError, RunReport, Settings, SettingsError, Simulation};
#[cfg(feature = "nodes")]
use tenure_trace::{Header, TraceProducer};
use tenure_trace::{Schedule, ScheduleReplayError, Trace};

use crate::any_algorithm::{AnyAlgorithm, SimulateFn};
use crate::check::{CheckFn, MeasureFn, follow_schedule};
use crate::run::{RunParameters, TraceHeaderFields, monitored_simulation, with_trace_header};

/// A configured algorithm whose implementation is the protocol type `P`.
pub(crate) struct Instance<P: Algorithm> {
    config: P::Config,
    /// Function that simulates the algorithm with the algorithm's own Rust type instead of the type
    /// `P`. `None` if all runs use the type `P`.
    ///
    /// If `P` represents several algorithms, a state of type `P` needs more memory than a state of
    /// the algorithm's own type. Only runs without interventions and without a step limit use this
    /// function.
    simulate_alone: Option<SimulateFn>,
    check: CheckFn<P::Config>,
    measure: MeasureFn<P::Config>,
}

impl<P: Algorithm + Checkable> Instance<P> {
    pub(crate) fn boxed(
        config: P::Config,
        simulate_alone: Option<SimulateFn>,
        check: CheckFn<P::Config>,
        measure: MeasureFn<P::Config>,
    ) -> Box<dyn AnyAlgorithm> {
        Box::new(Instance::<P> { config, simulate_alone, check, measure })
    }
}

impl<P: Algorithm + Checkable> AnyAlgorithm for Instance<P> {
    fn describe_configuration(&self) -> String {
        format!("{:?}", self.config)
    }

    fn simulate(&self, run: RunParameters<'_>) -> Result<RunReport, PlannedRunError> {
        match &self.simulate_alone {
            Some(simulate) if run.intervention_plan.is_empty() => Ok(simulate(run)?),
            _ => run.execute::<P>(self.config.clone()),
        }
    }

    fn check(
        &self,
        config: &CheckConfig,
        properties: &[Property],
        ranks: &[Rank],
    ) -> Result<tenure_check::CheckReport, CheckError> {
        (self.check)(config, properties, ranks, &self.config)
    }

    fn measure_costs(
        &self,
        config: &CheckConfig,
        measure: &MeasureConfig,
    ) -> Result<MeasureReport, CheckError> {
        (self.measure)(config, measure, &self.config)
    }

    fn visit_reachable_states(
        &self,
        config: &CheckConfig,
        max_states: u64,
        observer: &mut dyn StateSpaceObserver,
    ) -> Result<ExplorationReport, CheckError> {
        let check = Check::<P>::for_algorithm(self.config.clone(), config.clone());
        check.visit_reachable_states(max_states, observer)
    }

    fn create_lab_engine(
        &self,
        settings: Settings,
        header: TraceHeaderFields,
        schedule: Option<Schedule>,
    ) -> Result<Box<dyn Engine>, SettingsError> {
        let simulation = monitored_simulation::<P>(self.config.clone(), settings)?;
        let simulation = with_trace_header(simulation, header, false);
        Ok(Box::new(match schedule {
            Some(schedule) => tenure_lab::SimulationEngine::from_schedule(simulation, schedule),
            None => tenure_lab::SimulationEngine::new(simulation),
        }))
    }

    fn extend_schedule(
        &self,
        schedule: &Schedule,
        max_steps: u32,
    ) -> Result<Schedule, ScheduleReplayError> {
        schedule.extended::<P>(|_| self.config.clone(), max_steps)
    }

    fn replay(
        &self,
        schedule: &Schedule,
        ranks: Arc<[Rank]>,
        to: Box<dyn Write + Send>,
    ) -> Result<(), ScheduleReplayError<RunError>> {
        // A recorded schedule may contain faults that the algorithm does not tolerate.
        let plain = Settings::new(schedule.size);
        let settings = Settings { ranks, beyond_assumptions: true, ..plain };
        let Card { name, service, .. } = P::card(&self.config, schedule.size);
        let simulation = Simulation::<P>::new(self.config.clone(), settings);
        let simulation = simulation.with_name(name).with_service(service);
        simulation.run_schedule(schedule, to).map(drop)
    }

    fn replay_in_checker(
        &self,
        schedule: &Schedule,
    ) -> Result<Trace, ScheduleReplayError<CheckError>> {
        follow_schedule::<P>(schedule, &self.config)
    }

    #[cfg(feature = "nodes")]
    fn replay_over_tcp(
        &self,
        schedule: &Schedule,
        directory: &Path,
    ) -> Result<Vec<PathBuf>, ScheduleReplayError<ScriptedClusterError>> {
        let card = P::card(&self.config, schedule.size);
        let header = Header::new(card.name, card.service, schedule.size, TraceProducer::Node);
        let config = |_| self.config.clone();
        runtime::run_schedule_on_nodes::<P>(schedule, config, directory, &header)
    }
}
