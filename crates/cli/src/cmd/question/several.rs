//! Several locks, each of the same kind: who waits for whom, and how long it all takes.

use std::sync::Arc;

use serde_json::{Value, json};
use tenure_algorithms::compose::keyed::Name;
use tenure_algorithms::compose::{InTurn, in_turn};
use tenure_core::{Algorithm, Mutex};
use tenure_sim::{Entries, Locking, Pattern, Report, Settings, Simulation, Span, Workload};

use crate::cmd::failure::Failure;

/// Each process takes the locks of its list, one after the other, stays for ten units, and gives
/// them back; twice. How many entries were there, who waits for ever, and how long did it take?
pub(super) fn served<P: Mutex + Algorithm>(
    inner: P::Config,
    lists: &[&[&str]],
) -> Result<Value, Failure> {
    let report = report::<P>(inner, lists, Settings::new(lists.len() as u32), 0)?;
    let data = serde_json::to_value(&report).map_err(Failure::environment)?;
    Ok(json!({
        "served": report.metrics.entered,
        "blocked": data["blocked"],
        "finished_at": data["finished_at"],
    }))
}

/// The same with pauses and delays that the seed draws. Does anybody wait for ever?
pub(super) fn stuck<P: Mutex + Algorithm>(
    inner: P::Config,
    lists: &[&[&str]],
    seed: u64,
) -> Result<bool, Failure> {
    let mut settings = Settings::new(lists.len() as u32);
    settings.seed = seed;
    settings.network.latency = Span::between_units(1, 9).into();
    let report = report::<P>(inner, lists, settings, 20)?;
    Ok(report.metrics.entered < 2 * lists.len() as u64)
}

fn report<P: Mutex + Algorithm>(
    inner: P::Config,
    lists: &[&[&str]],
    mut settings: Settings,
    think: u64,
) -> Result<Report, Failure> {
    let names = |list: &&[&str]| list.iter().map(|name| Name::new(name)).collect();
    let names: Result<Vec<Vec<Name>>, _> = lists.iter().map(names).collect();
    let names: Arc<[Vec<Name>]> = names.map_err(Failure::usage)?.into();
    let locking = Locking {
        pattern: Pattern::Closed { think: Span::between_units(0, think) },
        entries: Entries::Each(2),
        hold: Span::units(10),
    };
    settings.workload = Workload::locking(locking);
    let config = in_turn::Config { names, inner };
    let simulation = Simulation::<InTurn<P>>::of(config, settings).map_err(Failure::usage)?;
    simulation.run().map_err(Failure::usage)
}
