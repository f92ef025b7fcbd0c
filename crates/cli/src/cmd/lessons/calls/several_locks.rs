//! An experiment with several locks that a process holds at the same time. It shows deadlocks, and
//! the time until all processes finish.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::compose::keyed::LockName;
use tenure_algorithms::compose::{LockSequence, lock_sequence};
use tenure_algorithms::mutex::{Central, TokenRing, central, token_ring};
use tenure_core::Mutex;
use tenure_sim::{
    Distribution, EntriesPerProcess, LockWorkload, RequestPattern, RunReport, Settings, Simulation,
    Workload,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeveralLocksArguments {
    lock: Kind,
    /// For each process, the names of the locks that it acquires, in the order of acquisition.
    lists: Vec<Vec<String>>,
    /// Number of runs with random pauses and latencies. If it is 0, there is one run, with fixed
    /// pauses and latencies.
    #[serde(default)]
    drawn: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Central,
    TokenRing,
}

/// Makes each process do the following twice: acquire its locks in order, hold them for ten units
/// of time, and release them.
///
/// For a run with fixed pauses, returns the number of entries, the blocked processes and the
/// duration. For random runs, returns only the number of runs with a deadlock.
pub(super) fn run_lock_sequences(with: SeveralLocksArguments) -> Result<Value, String> {
    match with.lock {
        Kind::Central => locks_of::<Central>(central::Config::default, &with),
        Kind::TokenRing => locks_of::<TokenRing>(token_ring::Config::default, &with),
    }
}

fn locks_of<P: SumTypeMember<Sum: Mutex>>(
    inner: fn() -> P::Config,
    with: &SeveralLocksArguments,
) -> Result<Value, String> {
    let size = with.lists.len() as u32;
    if with.drawn == 0 {
        let report = report::<P>(inner(), with, Settings::new(size), 0)?;
        let data = serde_json::to_value(&report).map_err(|error| error.to_string())?;
        return Ok(json!({
            "served": report.metrics.entry_count,
            "blocked": data["blocked"],
            "finished_at": data["finished_at"],
        }));
    }
    let mut deadlocks = 0;
    for seed in 1..=with.drawn {
        let mut settings = Settings::new(size);
        settings.seed = seed;
        settings.network.latency = Distribution::between_time_units(1, 9).into();
        let report = report::<P>(inner(), with, settings, 20)?;
        deadlocks += u32::from(report.metrics.entry_count < 2 * u64::from(size));
    }
    Ok(json!({ "deadlocks": deadlocks }))
}

fn report<P: SumTypeMember<Sum: Mutex>>(
    inner: P::Config,
    with: &SeveralLocksArguments,
    mut settings: Settings,
    think: u64,
) -> Result<RunReport, String> {
    let names = |list: &Vec<String>| list.iter().map(|name| LockName::new(name)).collect();
    let names: Result<Vec<Vec<LockName>>, _> = with.lists.iter().map(names).collect();
    let names: Arc<[Vec<LockName>]> = names.map_err(|error| error.to_string())?.into();
    let locking = LockWorkload {
        pattern: RequestPattern::Closed { think: Distribution::between_time_units(0, think) },
        entries: EntriesPerProcess::Each(2),
        hold: Distribution::time_units(10),
    };
    settings.workload = Workload::locking(locking);
    let config =
        lock_sequence::Config { lock_names_by_process: names, inner: P::to_sum_type_config(inner) };
    let simulation = Simulation::<LockSequence<P::Sum>>::for_algorithm(config, settings)
        .map_err(|error| error.to_string())?;
    simulation.run().map_err(|error| error.to_string())
}
