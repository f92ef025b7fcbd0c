//! Parameters and execution of a simulated run.

use std::io::{self, Write};

use tenure_core::Algorithm;
use tenure_sim::{
    Intervention, PlannedRunError, RunControls, RunError, RunReport, Settings, SettingsError,
    Simulation,
};
use tenure_trace::RecordableProtocol;

use crate::monitors::{CustomMonitor, custom_monitors};

/// Parameters of a simulated run. Their types do not depend on the type of the protocol.
pub struct RunParameters<'a> {
    /// Settings of the simulation.
    pub settings: Settings,
    /// Interventions during the run, and an optional limit on its number of steps.
    pub intervention_plan: &'a InterventionPlan,
    /// Destination of the trace. `None` if no trace is written.
    pub trace: Option<TraceOutput>,
    /// Progress reports of the run, and the flag that stops it.
    pub controls: RunControls<'a>,
}

/// Interventions during a run, and an optional step limit.
#[derive(Clone, Debug, Default)]
pub struct InterventionPlan {
    /// Interventions, in the order of their steps.
    pub interventions: Vec<Intervention>,
    /// Number of steps after which the run stops, but not before the last intervention. `None` for
    /// no limit.
    pub max_steps: Option<u64>,
}

impl InterventionPlan {
    /// Returns true if the plan contains neither an intervention nor a step limit.
    pub fn is_empty(&self) -> bool {
        self.interventions.is_empty() && self.max_steps.is_none()
    }
}

/// Destination and content of a trace.
pub struct TraceOutput {
    /// Writer that receives the records of the trace.
    pub writer: Box<dyn Write + Send>,
    /// True if the trace includes the states of the processes.
    pub has_states: bool,
    /// Fields of the header that the caller supplies.
    pub header: TraceHeaderFields,
}

/// Fields of a trace's header that the caller supplies, because the simulation does not know their
/// values.
#[derive(Clone, Debug, Default)]
pub struct TraceHeaderFields {
    /// Command line that repeats the run. `None` if the caller does not know it.
    pub replay: Option<String>,
    /// Command-line options that describe the group: its algorithm and parameters.
    pub options: Vec<String>,
}

impl RunParameters<'_> {
    /// Runs the simulation of the protocol with this configuration and the interventions of
    /// `intervention_plan`.
    pub(crate) fn execute<P>(self, config: P::Config) -> Result<RunReport, PlannedRunError>
    where
        P: Algorithm + RecordableProtocol,
    {
        if self.intervention_plan.is_empty() {
            return Ok(self.execute_without_interventions::<P>(config)?);
        }
        let simulation =
            monitored_simulation::<P>(config, self.settings).map_err(RunError::from)?;
        let InterventionPlan { interventions, max_steps } = self.intervention_plan;
        let (simulation, writer) = match self.trace {
            None => (simulation, Box::new(io::sink()) as Box<dyn Write + Send>),
            Some(TraceOutput { writer, has_states, header }) => {
                (with_trace_header(simulation, header, has_states), writer)
            }
        };
        simulation.run_with_interventions(interventions, *max_steps, writer, self.controls)
    }

    /// Runs the simulation of the protocol with this configuration. Ignores `intervention_plan`.
    pub(crate) fn execute_without_interventions<P>(
        self,
        config: P::Config,
    ) -> Result<RunReport, RunError>
    where
        P: Algorithm + RecordableProtocol,
    {
        let simulation = monitored_simulation::<P>(config, self.settings)?;
        match self.trace {
            None => Ok(simulation.run_with(self.controls)?),
            Some(TraceOutput { writer, has_states, header }) => {
                with_trace_header(simulation, header, has_states).run_traced(writer, self.controls)
            }
        }
    }
}

/// Creates the simulation of an algorithm. The built-in monitors and the monitors that the program
/// has added judge its runs.
pub(crate) fn monitored_simulation<P>(
    config: P::Config,
    settings: Settings,
) -> Result<Simulation<P>, SettingsError>
where
    P: Algorithm + RecordableProtocol,
{
    let service = P::card(&config, settings.size).service;
    let simulation = Simulation::<P>::for_algorithm(config, settings)?;
    let judge = |simulation: Simulation<P>, monitor: &CustomMonitor| {
        simulation.with_monitor(monitor.property_name(), monitor.clone())
    };
    Ok(custom_monitors(service).fold(simulation, judge))
}

/// Sets the fields of the trace header, and whether the trace contains states.
pub(crate) fn with_trace_header<P>(
    simulation: Simulation<P>,
    header: TraceHeaderFields,
    has_states: bool,
) -> Simulation<P>
where
    P: Algorithm + RecordableProtocol,
{
    let TraceHeaderFields { replay, options } = header;
    let simulation = simulation.with_header_options(options);
    let simulation = match replay {
        Some(replay) => simulation.with_replay_command(replay),
        None => simulation,
    };
    if has_states { simulation.with_recorded_states() } else { simulation }
}
