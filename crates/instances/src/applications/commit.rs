//! Atomic commitment: either all participants commit a transaction, or none of them does.

use std::collections::BTreeMap;

use tenure_algorithms::Variants;
use tenure_algorithms::application::two_phase_commit::VariantId;
use tenure_algorithms::application::{
    Application, ThreePhaseCommit, TwoPhaseCommit, three_phase_commit,
};
use tenure_core::service::commit::{Command, Event};
use tenure_core::service::with_election;
use tenure_core::{ChannelOrder, ProcessId, TICKS_PER_TIME_UNIT, Term};
use tenure_sim::{
    AutomaticRecovery, CrashTrigger, Distribution, Fault, RecoveredState, RunError, Settings,
};

use super::{ELECTION_START, first_process_wins, run, simulation};

/// Processes, votes and faults of one run of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct AtomicCommitScenario {
    /// Number of processes. The first process is the coordinator, and all other processes are
    /// participants.
    pub size: u32,
    /// Processes that vote no.
    pub no_votes: Vec<ProcessId>,
    /// Time from the start of the transaction to a crash of the coordinator, in ticks. `None` if
    /// the coordinator does not crash. A message takes one unit, so all votes have arrived after
    /// two units.
    pub crash_after: Option<u64>,
    /// Time from the crash until the coordinator recovers with its log, in ticks. `None` if the
    /// coordinator never recovers. Ignored if there is no crash.
    pub recovery_after: Option<u64>,
    /// Time from the start of the transaction to a partition between the coordinator and all other
    /// processes, in ticks. After the partition, each side suspects the other. `None` if there is
    /// no partition.
    pub partition_after: Option<u64>,
    /// Protocol by which the processes decide the transaction, and the enabled variants of this
    /// protocol.
    pub protocol: CommitProtocol,
}

/// Commit protocol of a run, and the enabled variants of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitProtocol {
    /// Two-phase commit with these variants. A participant that voted yes must wait for the
    /// decision.
    Two(Variants<VariantId>),
    /// Three-phase commit with these variants. If all participants vote yes, each participant
    /// learns of this unanimous vote before it learns the decision.
    Three(Variants<three_phase_commit::VariantId>),
}

impl AtomicCommitScenario {
    /// Creates a scenario of two-phase commit without faults, in which all processes vote yes.
    pub fn fault_free(size: u32) -> Self {
        AtomicCommitScenario {
            size,
            no_votes: Vec::new(),
            crash_after: None,
            recovery_after: None,
            partition_after: None,
            protocol: CommitProtocol::Two(Variants::none()),
        }
    }
}

/// Result of one run of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct AtomicCommitOutcome {
    /// For each process, by index: true if it decided to commit, false if it decided to abort,
    /// `None` if it did not decide.
    pub decided: Vec<Option<bool>>,
    /// Processes that voted yes and never learned the decision.
    pub blocked: Vec<ProcessId>,
    /// Time from the start of the transaction to the last decision, in ticks. `None` if no process
    /// decided.
    pub decided_after: Option<u64>,
    /// Elected leaders, in the order of their terms.
    pub leaders: Vec<Term>,
    /// Number of messages that the commit protocol sent, by kind. Messages of the election do not
    /// count.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Elects a coordinator and runs one transaction.
///
/// # Errors
///
/// [`RunError`] if the scenario is invalid. Nothing was run.
///
/// ```
/// use tenure_instances::applications::commit::{AtomicCommitScenario, run_transaction};
///
/// let done = run_transaction(&AtomicCommitScenario::fault_free(4)).unwrap();
/// assert_eq!(done.decided, [Some(true); 4]);
/// // 3p messages and p acknowledgements.
/// let kinds = ["prepare", "vote", "decision", "acknowledgement"];
/// assert_eq!(kinds.map(|kind| done.messages[kind]), [3; 4]);
/// ```
pub fn run_transaction(scenario: &AtomicCommitScenario) -> Result<AtomicCommitOutcome, RunError> {
    match scenario.protocol {
        CommitProtocol::Two(variants) => run_transaction_with::<TwoPhaseCommit>(variants, scenario),
        CommitProtocol::Three(variants) => {
            run_transaction_with::<ThreePhaseCommit>(variants, scenario)
        }
    }
}

fn run_transaction_with<A>(
    config: A::Config,
    scenario: &AtomicCommitScenario,
) -> Result<AtomicCommitOutcome, RunError>
where
    A: Application<Command = Command, Event = Event>,
{
    let size = scenario.size;
    let mut settings = Settings::new(size);
    settings.network.latency = Distribution::time_units(1).into();
    settings.network.order = Some(ChannelOrder::Fifo);
    // At the time `begin`, the first leader has finished the inquiry about older transactions that
    // follows its election.
    let begin = ELECTION_START + 20 * TICKS_PER_TIME_UNIT;
    let faults = [scenario.crash_after, scenario.recovery_after, scenario.partition_after];
    let faults: u64 = faults.iter().flatten().sum();
    settings.limits.until = Some(begin + faults + 40 * TICKS_PER_TIME_UNIT * u64::from(size));
    if let Some(after) = scenario.partition_after {
        settings.faults.extend(partition_first(size, begin + after));
    }
    if let Some(after) = scenario.crash_after {
        let down = |after| AutomaticRecovery { downtime: after, memory: RecoveredState::Stable };
        settings.faults.push(Fault::Crash {
            process: ProcessId(0),
            when: CrashTrigger::At(begin + after),
            recovery: scenario.recovery_after.map(down),
        });
    }
    let election = first_process_wins(size, TICKS_PER_TIME_UNIT);
    let mut simulation = simulation::<A>(config, election, settings);
    for process in &scenario.no_votes {
        let veto = with_election::Command::Application(Command::Veto);
        simulation = simulation.with_command(0, *process, veto);
    }
    let of_application = with_election::Command::Application(Command::Begin);
    let run = run(&simulation.with_command(begin, ProcessId(0), of_application))?;
    let mut done = AtomicCommitOutcome {
        decided: vec![None; size as usize],
        blocked: Vec::new(),
        decided_after: None,
        leaders: run.terms(),
        messages: run.messages(),
    };
    for (at, process, event) in run.application_events() {
        match event {
            Event::Prepared { .. } => done.blocked.push(process),
            Event::Committed { .. } | Event::Aborted { .. } => {
                done.blocked.retain(|waits| *waits != process);
                done.decided[process.index()] = Some(matches!(event, Event::Committed { .. }));
                done.decided_after = Some(at - begin);
            }
            Event::Refused => {}
        }
    }
    Ok(done)
}

/// Returns faults that separate the first process from the others at the time `from`, in ticks, for
/// ever. From then on, each side suspects the other.
fn partition_first(size: u32, from: u64) -> Vec<Fault> {
    let first = ProcessId(0);
    let mut faults = vec![Fault::Partition { side: vec![first], from, until: None }];
    for other in (1..size).map(ProcessId) {
        for (observer, peer) in [(first, other), (other, first)] {
            faults.push(Fault::Suspicion { observer, peer, from, until: None });
        }
    }
    faults
}
