//! Parameters of a simulated run, independent of the protocol's type.

use std::io::{self, Write};

use tenure_core::Algorithm;
use tenure_sim::{
    Controls, Intervention, InterventionError, Report, RunError, Settings, Simulation,
};
use tenure_trace::Recorded;

/// Parameters of a simulated run, independent of the protocol's type.
pub struct Run<'a> {
    /// Settings of the simulation.
    pub settings: Settings,
    /// Interventions during the run.
    pub steering: &'a Steering,
    /// Destination of the trace, if one is written.
    pub trace: Option<TraceOutput>,
    /// Observers, and the flag that stops the run.
    pub controls: Controls<'a>,
}

/// Interventions during a run, and an optional step limit.
#[derive(Clone, Debug, Default)]
pub struct Steering {
    /// Interventions, in the order of their steps.
    pub steers: Vec<Intervention>,
    /// Number of steps after which the run stops.
    pub max_steps: Option<u64>,
}

impl Steering {
    /// Returns true if there is an intervention or a step limit.
    pub fn is_active(&self) -> bool {
        !self.steers.is_empty() || self.max_steps.is_some()
    }
}

/// Destination and content of a trace.
pub struct TraceOutput {
    /// Destination of the records.
    pub writer: Box<dyn Write + Send>,
    /// True if the trace includes the states of the processes.
    pub has_states: bool,
    /// Header fields that the simulation does not know.
    pub header: TraceHeader,
}

/// Header fields of a trace that the simulation does not know.
#[derive(Clone, Debug, Default)]
pub struct TraceHeader {
    /// Command that repeats the run.
    pub replay: Option<String>,
    /// Command-line options that recreate the group.
    pub options: Vec<String>,
}

impl Run<'_> {
    /// Runs the simulation.
    pub(crate) fn execute<P>(self, config: P::Config) -> Result<Report, InterventionError>
    where
        P: Algorithm + Recorded,
    {
        if !self.steering.is_active() {
            return Ok(self.execute_unsteered::<P>(config)?);
        }
        let simulation =
            Simulation::<P>::for_algorithm(config, self.settings).map_err(RunError::from)?;
        let Steering { steers, max_steps } = self.steering;
        let (simulation, writer) = match self.trace {
            None => (simulation, Box::new(io::sink()) as Box<dyn Write + Send>),
            Some(TraceOutput { writer, has_states, header }) => {
                (with_header(simulation, header, has_states), writer)
            }
        };
        simulation.run_with_interventions(steers, *max_steps, writer, self.controls)
    }

    /// Runs the simulation without interventions.
    pub(crate) fn execute_unsteered<P>(self, config: P::Config) -> Result<Report, RunError>
    where
        P: Algorithm + Recorded,
    {
        let simulation = Simulation::<P>::for_algorithm(config, self.settings)?;
        match self.trace {
            None => Ok(simulation.run_with(self.controls)?),
            Some(TraceOutput { writer, has_states, header }) => {
                with_header(simulation, header, has_states).run_traced(writer, self.controls)
            }
        }
    }
}

/// Sets the header fields of the trace.
pub(crate) fn with_header<P>(
    simulation: Simulation<P>,
    header: TraceHeader,
    has_states: bool,
) -> Simulation<P>
where
    P: Algorithm + Recorded,
{
    let TraceHeader { replay, options } = header;
    let simulation = simulation.with_options(options);
    let simulation = match replay {
        Some(replay) => simulation.with_replay_command(replay),
        None => simulation,
    };
    if has_states { simulation.with_states() } else { simulation }
}
