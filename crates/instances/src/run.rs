//! A run of the simulator that only lacks its protocol's type.

use std::io::{self, Write};

use tenure_core::Algorithm;
use tenure_sim::{Controls, Report, RunError, Settings, Simulation, Steer, SteerError};
use tenure_trace::Recorded;

/// A run of the simulator that only lacks its protocol's type.
pub struct Run<'a> {
    /// What decides it.
    pub settings: Settings,
    /// What is done in it that would not happen by itself.
    pub steering: &'a Steering,
    /// Where its trace goes, if anywhere.
    pub trace: Option<Traced>,
    /// Who watches, and who may stop it.
    pub controls: Controls<'a>,
}

/// What is done in a run that would not happen by itself, and when it is stopped.
#[derive(Clone, Debug, Default)]
pub struct Steering {
    /// What is done, in the order of the steps.
    pub steers: Vec<Steer>,
    /// After so many steps it is stopped.
    pub most: Option<u64>,
}

impl Steering {
    /// Whether it makes any difference.
    pub fn is_any(&self) -> bool {
        !self.steers.is_empty() || self.most.is_some()
    }
}

/// Where a trace goes, and how much of it.
pub struct Traced {
    /// The file.
    pub to: Box<dyn Write + Send>,
    /// Whether with what processes hold.
    pub states: bool,
    /// What stands at its head.
    pub head: Head,
}

/// What stands at the head of a trace, of what the run does not know by itself.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The command that makes the run again.
    pub replay: Option<String>,
    /// The options that make its group again.
    pub options: Vec<String>,
}

impl Run<'_> {
    /// Makes the run.
    pub(crate) fn of<P>(self, config: P::Config) -> Result<Report, SteerError>
    where
        P: Algorithm + Recorded,
    {
        if !self.steering.is_any() {
            return Ok(self.unsteered::<P>(config)?);
        }
        let simulation = Simulation::<P>::of(config, self.settings).map_err(RunError::from)?;
        let Steering { steers, most } = self.steering;
        let (simulation, to) = match self.trace {
            None => (simulation, Box::new(io::sink()) as Box<dyn Write + Send>),
            Some(Traced { to, states, head }) => (headed(simulation, head, states), to),
        };
        simulation.run_steered(steers, *most, to, self.controls)
    }

    /// Makes the run, in which everything happens by itself.
    pub(crate) fn unsteered<P>(self, config: P::Config) -> Result<Report, RunError>
    where
        P: Algorithm + Recorded,
    {
        let simulation = Simulation::<P>::of(config, self.settings)?;
        match self.trace {
            None => Ok(simulation.run_with(self.controls)?),
            Some(Traced { to, states, head }) => {
                headed(simulation, head, states).run_traced(to, self.controls)
            }
        }
    }
}

/// The same, as the head of its trace says it.
pub(crate) fn headed<P>(simulation: Simulation<P>, head: Head, states: bool) -> Simulation<P>
where
    P: Algorithm + Recorded,
{
    let Head { replay, options } = head;
    let simulation = simulation.configured_by(options);
    let simulation = match replay {
        Some(replay) => simulation.replayed_by(replay),
        None => simulation,
    };
    if states { simulation.with_states() } else { simulation }
}
