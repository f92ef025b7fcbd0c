//! Applications of leader election, run in the simulator. Each module runs one example with the
//! given parameters, and returns its observations as data.
//!
//! All examples use the bully algorithm, in which the ranks decide the winner. Times are in ticks.
//! One unit is [`TICKS_PER_TIME_UNIT`] ticks.

pub mod berkeley;
pub mod commit;
pub mod replication;
pub mod tree;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use tenure_algorithms::application::Application;
use tenure_algorithms::application::with_election::{self, WithElection};
use tenure_algorithms::election::{Bully, bully};
use tenure_core::service::{election, with_election as service};
use tenure_core::{Layer, ProcessId, Rank, TICKS_PER_TIME_UNIT, Term};
use tenure_sim::{Distribution, RunControls, RunError, RunReport, Settings, Simulation};
use tenure_trace::{
    RecordKind, RecordSubject, RecordedEvent, ServiceCommand, ServiceEvent, Trace, TraceBuffer,
};

/// Time at which the first process starts the election, in ticks. Commands that set the initial
/// clocks or votes are issued at time 0, before the election.
const ELECTION_START: u64 = TICKS_PER_TIME_UNIT;

/// An event that the user of `process` received at the time `at`, in ticks.
struct UserEvent<E> {
    at: u64,
    process: ProcessId,
    event: service::Event<E>,
}

/// Observations of a run: the final states of the processes, the events of the users in order of
/// time, and the report.
struct Run<A: Application, E> {
    processes: Vec<WithElection<A, Bully>>,
    seen: Vec<UserEvent<E>>,
    report: RunReport,
}

impl<A, E> Run<A, E>
where
    A: Application<Event = E>,
{
    /// Returns the events of the application in order of time: the time in ticks, the process, and
    /// the event.
    fn application_events(&self) -> impl Iterator<Item = (u64, ProcessId, &E)> {
        self.seen.iter().filter_map(|seen| match &seen.event {
            service::Event::Application(event) => Some((seen.at, seen.process, event)),
            service::Event::Election(_) => None,
        })
    }

    /// Returns the terms of all elected leaders, in ascending order and without repetitions.
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

    /// Returns the number of messages that the application sent, by message kind. Messages of the
    /// election do not count.
    fn messages(&self) -> BTreeMap<&'static str, u64> {
        let kinds = self.report.metrics.kinds.iter();
        let of_application =
            kinds.filter(|it| matches!(it.label.layer, Layer::Application | Layer::Agreement));
        of_application.map(|it| (it.label.kind, it.sent)).collect()
    }
}

/// Returns the maximum latency in ticks, but at least one unit. Returns 10 units if the latency has
/// no bound.
fn max_latency(latency: Distribution) -> u64 {
    latency.max_ticks().unwrap_or(10 * TICKS_PER_TIME_UNIT).max(TICKS_PER_TIME_UNIT)
}

/// Returns a configuration of the election for messages that take at most `delay` ticks. The first
/// process has the largest rank, the second process has the next largest rank, and so on.
fn first_process_wins(size: u32, delay: u64) -> bully::Config {
    let ranks = (1..=size).rev().map(Rank::from_id).collect();
    bully::Config { ranks, ..bully::Config::with_defaults(size, delay) }
}

/// Creates a simulation of the application with the bully algorithm, in which the first process
/// starts an election after one unit.
fn simulation<A>(
    application: A::Config,
    election: bully::Config,
    settings: Settings,
) -> Simulation<WithElection<A, Bully>>
where
    A: Application<Command: ServiceCommand, Event: ServiceEvent>,
{
    let elect = service::Command::Election(election::Command::Elect);
    let config = with_election::Config { application, election };
    Simulation::new(config, settings).with_command(ELECTION_START, ProcessId(0), elect)
}

/// Runs a simulation twice with the same seed, and therefore with the same result. Returns the
/// final states of the processes from the first run, and the events of the users from the trace of
/// the second run.
fn run<A>(simulation: &Simulation<WithElection<A, Bully>>) -> Result<Run<A, A::Event>, RunError>
where
    A: Application<Command: ServiceCommand, Event: ServiceEvent + DeserializeOwned>,
{
    let (report, processes) = simulation.run_and_inspect()?;
    let buffer = TraceBuffer::default();
    simulation.run_traced(buffer.clone(), RunControls::new())?;
    let trace =
        Trace::parse(&buffer.take_bytes(), "run").expect("a trace that was just written is valid");
    let mut seen = Vec::new();
    for record in trace.records {
        let (RecordSubject::Process(process), RecordKind::Event(data)) =
            (record.process, record.kind)
        else {
            continue;
        };
        seen.push(UserEvent { at: record.time, process, event: decode_event(data) });
    }
    Ok(Run { processes, seen, report })
}

fn decode_event<E: DeserializeOwned>(data: RecordedEvent) -> service::Event<E> {
    let event = serde_json::to_value(data).and_then(serde_json::from_value);
    event.expect("an event survives the round trip through JSON")
}
