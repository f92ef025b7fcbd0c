//! Simulations of algorithms of the catalogue. All algorithms of one service are members of one
//! Rust type, [`SumTypeMember::Sum`], and the simulations use this type. So the simulator is
//! compiled once per service instead of once per algorithm.

use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::compose::CoordinatedLock;
use tenure_sim::{RunReport, Settings, Simulation};
use tenure_trace::RecordableProtocol;

/// Simulation of an algorithm. Its processes have the type that all algorithms of the service
/// share.
pub(crate) type ServiceSimulation<P> = Simulation<<P as SumTypeMember>::Sum>;

/// Lock with a coordinator that the algorithm `E` elects. The election has the common type of all
/// elections.
pub(crate) type CoordinatedMember<E> = CoordinatedLock<<E as SumTypeMember>::Sum>;

/// Creates a simulation of an algorithm. The settings must meet the assumptions of the algorithm.
#[track_caller]
pub(crate) fn simulation<P>(config: P::Config, settings: Settings) -> ServiceSimulation<P>
where
    P: SumTypeMember<Sum: RecordableProtocol>,
{
    let seed = settings.seed;
    let simulation = Simulation::for_algorithm(P::to_sum_type_config(config), settings);
    simulation.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// Creates a simulation of an algorithm without its card, so that neither its assumptions nor its
/// costs are checked.
pub(crate) fn unchecked<P>(config: P::Config, settings: Settings) -> ServiceSimulation<P>
where
    P: SumTypeMember<Sum: RecordableProtocol>,
{
    Simulation::new(P::to_sum_type_config(config), settings)
}

/// Runs an algorithm. The settings must meet the assumptions of the algorithm.
#[track_caller]
pub(crate) fn simulate<P>(config: P::Config, settings: Settings) -> RunReport
where
    P: SumTypeMember<Sum: RecordableProtocol>,
{
    crate::common::runs::simulate::<P::Sum>(P::to_sum_type_config(config), settings)
}
