//! Primary-backup replication. Acknowledged writes survive a crash of the primary.

use std::collections::BTreeMap;

use tenure_algorithms::Variants;
use tenure_algorithms::application::PrimaryBackup;
use tenure_algorithms::application::primary_backup::VariantId;
use tenure_core::service::replicated_list::{Command, Event};
use tenure_core::service::with_election;
use tenure_core::{ChannelOrder, ProcessId, TICKS_PER_TIME_UNIT, Term};
use tenure_sim::{CrashTrigger, Distribution, Fault, RunError, Settings};

use super::{ELECTION_START, first_process_wins, max_latency, run, simulation};

/// Workload and faults of a replication run.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationScenario {
    /// Number of processes. The first process is the initial primary.
    pub size: u32,
    /// Number of writes that the user of each process attempts. Only the primary accepts writes,
    /// and any other process refuses them.
    pub writes: u32,
    /// Time between the attempts of two consecutive writes of a user, in ticks.
    pub write_interval: u64,
    /// Latency of each message, in ticks.
    pub latency: Distribution,
    /// Processes that crash, each with the time of its crash in ticks since the start of the run.
    pub crashes: Vec<(ProcessId, u64)>,
    /// Start and end of a partition between the first process and the others, in ticks since the
    /// start of the run. During the partition, the others suspect the first process, and the first
    /// process suspects none of them. `None` if there is no partition.
    pub isolation: Option<(u64, u64)>,
    /// Enabled variants of the algorithm.
    pub variants: Variants<VariantId>,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl ReplicationScenario {
    /// Creates a scenario without faults. Each user attempts 10 writes, one every 5 units.
    /// Latencies are 1 to 3 units.
    pub fn fault_free(size: u32) -> Self {
        ReplicationScenario {
            size,
            writes: 10,
            write_interval: 5 * TICKS_PER_TIME_UNIT,
            latency: Distribution::between_time_units(1, 3),
            crashes: Vec::new(),
            isolation: None,
            variants: Variants::none(),
            seed: 1,
        }
    }
}

/// Result of a replication run.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationOutcome {
    /// Acknowledged writes. Each element contains the process that acknowledged the write, the term
    /// of this process, the position of the write in the list, from 1, and its value.
    pub acknowledged: Vec<(ProcessId, Term, u64, u64)>,
    /// For each process that became the primary: its term, and the values of the writes in its list
    /// when it began to serve users.
    pub served: Vec<(Term, Vec<u64>)>,
    /// Number of writes that were refused, because their process was not the primary.
    pub refused: u64,
    /// For each process, by index: the values of the writes that it has at the end of the run.
    /// Crashed processes are included.
    pub stored_writes: Vec<Vec<u64>>,
    /// Values of acknowledged writes that were lost. A write is lost if the last primary does not
    /// have it at the end of the run, or has it at another position. Empty if no process became the
    /// primary.
    pub lost: Vec<u64>,
    /// Number of messages that the application sent, by kind. Messages of the election do not
    /// count.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Elects a primary and lets each user attempt its writes.
///
/// # Errors
///
/// [`RunError`] if the scenario is invalid. Nothing was run.
///
/// ```
/// use tenure_instances::applications::replication::{ReplicationScenario, replicate_writes};
///
/// let written = replicate_writes(&ReplicationScenario::fault_free(3)).unwrap();
/// assert_eq!((written.acknowledged.len(), written.lost.len()), (10, 0));
/// // 2(N − 1) messages a write.
/// assert_eq!(written.messages["update"], 10 * 2);
/// ```
pub fn replicate_writes(scenario: &ReplicationScenario) -> Result<ReplicationOutcome, RunError> {
    let size = scenario.size;
    let delay = max_latency(scenario.latency);
    // At the time `begin`, the first change of primary is complete.
    let begin = ELECTION_START + 20 * delay;
    let end =
        begin + u64::from(scenario.writes) * scenario.write_interval + 40 * delay * u64::from(size);
    let settings = settings(scenario, end);
    let election = first_process_wins(size, delay);
    let mut simulation = simulation::<PrimaryBackup>(scenario.variants, election, settings);
    for attempt in 0..scenario.writes {
        for process in (0..size).map(ProcessId) {
            let value = u64::from(process.display_number()) * 1000 + u64::from(attempt) + 1;
            let write = with_election::Command::Application(Command::Write { value });
            simulation = simulation.with_command(
                begin + u64::from(attempt) * scenario.write_interval,
                process,
                write,
            );
        }
    }
    let run = run(&simulation)?;
    let lists = run.processes.iter().map(|process| process.application().stored_writes().to_vec());
    let mut written = ReplicationOutcome {
        acknowledged: Vec::new(),
        served: Vec::new(),
        refused: 0,
        stored_writes: lists.collect(),
        lost: Vec::new(),
        messages: run.messages(),
    };
    for (_, process, event) in run.application_events() {
        match event {
            Event::Serving { term, writes } => written.served.push((*term, writes.clone())),
            Event::Acknowledged { term, place, value } => {
                written.acknowledged.push((process, *term, *place, *value));
            }
            Event::Refused { .. } => written.refused += 1,
        }
    }
    let last = written.served.iter().map(|(term, _)| *term).max();
    if let Some(list) = last.map(|term| &written.stored_writes[term.leader.index()]) {
        let has = |place: u64, value: u64| list.get(place as usize - 1) == Some(&value);
        let acknowledged = written.acknowledged.iter();
        let lost = acknowledged.filter(|(.., place, value)| !has(*place, *value));
        written.lost = lost.map(|(.., value)| *value).collect();
    }
    Ok(written)
}

fn settings(scenario: &ReplicationScenario, end: u64) -> Settings {
    let mut settings = Settings::new(scenario.size);
    settings.network.latency = scenario.latency.into();
    settings.network.order = Some(ChannelOrder::Fifo);
    settings.seed = scenario.seed;
    settings.limits.until = Some(end);
    for (process, at) in &scenario.crashes {
        let (process, when) = (*process, CrashTrigger::At(*at));
        settings.faults.push(Fault::Crash { process, when, recovery: None });
    }
    if let Some((from, until)) = scenario.isolation {
        let (side, until) = (vec![ProcessId(0)], Some(until));
        settings.faults.push(Fault::Partition { side, from, until });
        let others = (1..scenario.size).map(ProcessId);
        settings.faults.extend(others.map(|observer| {
            let peer = ProcessId(0);
            Fault::Suspicion { observer, peer, from, until }
        }));
    }
    settings
}
