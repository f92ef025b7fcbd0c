//! The catalogue's numbers as laws over many seeds, with the real algorithms.

mod costs;
mod elections;
mod faults;
mod promises;

use std::sync::Arc;

use tenure_algorithms::catalogue::{Parameters, Visitor, visit};
use tenure_core::{Algorithm, Election, Mutex, ProcessId, Rank};
use tenure_sim::{Report, Settings, SettingsError, Simulation, Span, Workload};

/// Runs the protocol that a name stands for.
struct Run(Settings);

impl Visitor for Run {
    type Output = Result<Report, SettingsError>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        Simulation::<P>::of(config, self.0)?.run()
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output {
        Simulation::<P>::of(config, self.0)?.run()
    }
}

fn try_variant(name: &str, variant: &str, settings: Settings) -> Result<Report, SettingsError> {
    let delay = settings.network.latency.most().unwrap_or(5_000_000);
    let ranks: Arc<[Rank]> =
        (0..settings.size).map(|place| settings.rank(ProcessId(place))).collect();
    let variants = variant.split_terminator(',').map(str::to_owned).collect();
    let parameters = Parameters { ranks, variants, delay, ..Parameters::plain(settings.size) };
    visit(name, &parameters, Run(settings)).expect("the catalogue knows the name")
}

fn run(name: &str, settings: Settings) -> Report {
    let seed = settings.seed;
    try_variant(name, "", settings).unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"))
}

/// Everybody at once, again and again, over random delays.
fn busy(size: u32, entries: u32, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    settings.seed = seed;
    settings.workload = Workload::entries(entries);
    settings.network.latency = Span::between_units(1, 5).into();
    settings
}

const LOCKS: [&str; 5] = ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa"];

fn ring(ids: &[u32]) -> Settings {
    let mut settings = Settings::new(u32::try_from(ids.len()).unwrap());
    settings.ranks = ids.iter().map(|id| Rank::of_id(*id)).collect();
    settings.workload = Workload::elect();
    settings
}
