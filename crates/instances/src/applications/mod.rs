//! What a leader is elected for, shown in the simulator: each module runs one example with the
//! parameters that it is given, and returns what was observed, as data.
//!
//! In all of them a bully elects, and whoever wins is said by ranks; times are in ticks, of which
//! a unit has [`TICKS_PER_UNIT`].

pub mod berkeley;
pub mod commit;
pub mod replication;
pub mod tree;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;
use tenure_algorithms::application::Application;
use tenure_algorithms::application::led::{self, Led};
use tenure_algorithms::election::{Bully, bully};
use tenure_core::service::{election, led as service};
use tenure_core::{Layer, ProcessId, Rank, TICKS_PER_UNIT, Term};
use tenure_sim::{Controls, Report, RunError, Settings, Simulation, Span};
use tenure_trace::{Heard, Kind, Reader, Spoken, Told, Who};

/// When the election begins: what users set before is set then.
const ELECTION: u64 = TICKS_PER_UNIT;

/// What a user was told, and when.
struct Seen<E> {
    at: u64,
    process: ProcessId,
    event: service::Event<E>,
}

/// Everything of one run.
struct Run<A: Application, E> {
    processes: Vec<Led<A, Bully>>,
    seen: Vec<Seen<E>>,
    report: Report,
}

impl<A, E> Run<A, E>
where
    A: Application<Event = E>,
{
    /// What the application told, and when and whom.
    fn told(&self) -> impl Iterator<Item = (u64, ProcessId, &E)> {
        self.seen.iter().filter_map(|seen| match &seen.event {
            service::Event::Application(event) => Some((seen.at, seen.process, event)),
            service::Event::Election(_) => None,
        })
    }

    /// Who led, in the order of their terms.
    fn terms(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        for seen in &self.seen {
            if let service::Event::Election(election::Event::Elected { term, .. }) = seen.event {
                terms.push(term);
            }
        }
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// How many messages of each kind the application sent.
    fn messages(&self) -> BTreeMap<&'static str, u64> {
        let kinds = self.report.metrics.kinds.iter();
        let of_application =
            kinds.filter(|it| matches!(it.label.layer, Layer::Application | Layer::Agreement));
        of_application.map(|it| (it.label.kind, it.sent)).collect()
    }
}

/// How long a message is taken to take at most, in ticks, where nothing bounds it as well.
fn longest(latency: Span) -> u64 {
    latency.most().unwrap_or(10 * TICKS_PER_UNIT).max(TICKS_PER_UNIT)
}

/// An election that the first process wins, then the second, and so on, where a message takes at
/// most `delay`.
fn first_wins(size: u32, delay: u64) -> bully::Config {
    let ranks = (1..=size).rev().map(Rank::of_id).collect();
    bully::Config { ranks, ..bully::Config::plain(size, delay) }
}

/// A simulation in which the first process starts an election after one unit.
fn simulation<A>(
    application: A::Config,
    election: bully::Config,
    settings: Settings,
) -> Simulation<Led<A, Bully>>
where
    A: Application<Command: Spoken, Event: Heard>,
{
    let elect = service::Command::Election(election::Command::Elect);
    let config = led::Config { application, election };
    Simulation::new(config, settings).command(ELECTION, ProcessId(0), elect)
}

/// Runs it, and gathers what users were told. It runs twice, which is the same run.
fn run<A>(simulation: &Simulation<Led<A, Bully>>) -> Result<Run<A, A::Event>, RunError>
where
    A: Application<Command: Spoken, Event: Heard + DeserializeOwned>,
{
    let (report, processes) = simulation.run_and_inspect()?;
    let trace = Shared::default();
    simulation.run_traced(trace.clone(), Controls::new())?;
    let text = trace.0.lock().expect("nobody panics while writing").clone();
    let reader = Reader::new(text.as_slice(), "run").expect("a trace has a head");
    let mut seen = Vec::new();
    for record in reader {
        let record = record.expect("what was just written can be read");
        let (Who::Process(process), Kind::Event(told)) = (record.process, record.kind) else {
            continue;
        };
        seen.push(Seen { at: record.time, process, event: understood(told) });
    }
    Ok(Run { processes, seen, report })
}

fn understood<E: DeserializeOwned>(told: Told) -> service::Event<E> {
    let event = serde_json::to_value(told).and_then(serde_json::from_value);
    event.expect("an event is what it was")
}

/// A trace in memory.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics while writing").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
