//! Users of a lock who tell each other that they asked, with the lock's clock or without.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_algorithms::mutex::{Lamport, lamport};
use tenure_core::{Order, Property};
use tenure_sim::{
    Chatter, Entries, Judgement, Locking, Pattern, RunError, Settings, Simulation, Span, Watched,
    Workload,
};

const RUNS: u64 = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Talk {
    /// Whether what users say carries the clock.
    stamped: bool,
}

/// Runs of three users of Lamport's lock, who talk faster than the lock does: in how many of them
/// did somebody enter before another whose request it had been told of?
pub(super) fn lamport(with: Talk) -> Result<Value, RunError> {
    let (mut out_of_order, mut told) = (0, 0);
    for seed in 1..=RUNS {
        let config = lamport::Config::default();
        let mut simulation = Simulation::<Lamport>::of(config, settings(seed))?;
        if with.stamped {
            simulation = simulation.with_stamped_chatter();
        }
        let report = simulation.run()?;
        let violated =
            report.verdict(Property::OrderWithMessages.name()) == Some(Judgement::Violated);
        out_of_order += u32::from(violated);
        told += report.metrics.chatted;
    }
    Ok(json!({ "out_of_order": out_of_order, "told": told }))
}

fn settings(seed: u64) -> Settings {
    let locking = Locking {
        pattern: Pattern::Closed { think: Span::between_units(0, 40) },
        entries: Entries::Each(3),
        hold: Span::units(1),
    };
    let chatter = Chatter::always(Span::units(1));
    let mut settings = Settings::new(3);
    settings.seed = seed;
    settings.workload = Workload::locking(locking).with_chatter(chatter);
    settings.network.order = Some(Order::Fifo);
    settings.network.latency = Span::between_units(1, 9).into();
    settings.watch.order = Watched::Always;
    settings
}
