//! Tests that the algorithms of the catalogue keep their properties and costs in runs with many
//! seeds.

mod costs;
mod dynamic;
mod election_faults;
mod elections;
mod endless_partitions;
mod faults;
mod interrupted_users;
mod long_durations;
mod majority;
mod order;
mod promises;
mod raft;
mod rings;
mod several;
mod stalls;

use std::sync::Arc;

use tenure_algorithms::catalogue::{AlgorithmVisitor, Parameters, visit};
use tenure_core::service::election::Command;
use tenure_core::{Agreement, Algorithm, Election, Mutex, ProcessId, Rank};
use tenure_sim::{RunReport, Settings, SettingsError, Simulation, Workload};

/// Visitor of the catalogue that simulates the algorithm with a given name.
struct Run {
    settings: Settings,
    /// Elections that processes request after the start of the run. Each element contains the time
    /// in ticks, and the process that requests the election.
    late: Vec<(u64, ProcessId)>,
}

impl AlgorithmVisitor for Run {
    type Output = Result<RunReport, SettingsError>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        Simulation::<P>::for_algorithm(config, self.settings)?.run()
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output {
        let mut simulation = Simulation::<P>::for_algorithm(config, self.settings)?;
        for (time, process) in self.late {
            simulation = simulation.with_command(time, process, Command::Elect);
        }
        simulation.run()
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Self::Output {
        Simulation::<P>::for_algorithm(config, self.settings)?.run()
    }
}

fn parameters(settings: &Settings) -> Parameters {
    let delay = settings.network.latency.max_ticks().unwrap_or(5_000_000);
    let ranks: Arc<[Rank]> =
        (0..settings.size).map(|place| settings.rank(ProcessId(place))).collect();
    Parameters { ranks, delay, ..Parameters::with_defaults(settings.size) }
}

fn try_run(name: &str, settings: Settings) -> Result<RunReport, SettingsError> {
    let parameters = parameters(&settings);
    let run = Run { settings, late: Vec::new() };
    visit(name, &parameters, run).expect("the catalogue knows the name")
}

fn run(name: &str, settings: Settings) -> RunReport {
    let parameters = parameters(&settings);
    run_with(name, &parameters, settings)
}

fn run_with(name: &str, parameters: &Parameters, settings: Settings) -> RunReport {
    run_late(name, parameters, settings, Vec::new())
}

/// Runs the algorithm `name`. Each element of `late` contains a time and a process that requests an
/// election at this time.
fn run_late(
    name: &str,
    parameters: &Parameters,
    settings: Settings,
    late: Vec<(u64, ProcessId)>,
) -> RunReport {
    let seed = settings.seed;
    let ran = visit(name, parameters, Run { settings, late });
    let ran = ran.unwrap_or_else(|error| panic!("{name}: {error}"));
    ran.unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"))
}

const LOCKS: [&str; 9] = [
    "central",
    "token-ring",
    "lamport",
    "ricart-agrawala",
    "carvalho-roucairol",
    "maekawa",
    "suzuki-kasami",
    "raymond",
    "naimi-trehel",
];

/// Elections that need a ring of all processes.
const RINGS: [&str; 6] = [
    "lelann",
    "chang-roberts",
    "hirschberg-sinclair",
    "dolev-klawe-rodeh",
    "franklin",
    "itai-rodeh",
];

fn ring(ids: &[u32]) -> Settings {
    let ranks = ids.iter().map(|id| Rank::from_id(*id)).collect();
    Settings { workload: Workload::elect_by_all(), ranks, ..Settings::new(ids.len() as u32) }
}
