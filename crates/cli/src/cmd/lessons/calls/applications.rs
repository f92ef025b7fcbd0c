//! Experiments with applications of leader election.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_algorithms::Variants;
use tenure_algorithms::application::primary_backup::VariantId;
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};
use tenure_instances::applications::berkeley::{BerkeleyScenario, synchronise_clocks};
use tenure_instances::applications::commit::{
    AtomicCommitScenario, CommitProtocol, run_transaction,
};
use tenure_instances::applications::replication::{ReplicationScenario, replicate_writes};
use tenure_instances::applications::tree::{SpanningTreeScenario, build_spanning_tree};
use tenure_sim::RunError;

use crate::cmd::graph::TopologyOption;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BerkeleyArguments {
    /// Initial values of the clocks, in the order of the processes. The first process leads.
    starts: Vec<i64>,
}

pub(super) fn run_berkeley(with: BerkeleyArguments) -> Result<Value, RunError> {
    let made = synchronise_clocks(&BerkeleyScenario::with_initial_clocks(with.starts))?;
    let sum: i64 = made.adjustments.iter().flatten().sum();
    Ok(json!({
        "adjustments": made.adjustments, "clocks": made.clock_offsets, "sum": sum,
        "spread": made.spread, "messages": made.messages,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PrimaryBackupArguments {
    n: u32,
    writes: u32,
    /// Fault that is injected into the primary while the primary writes; `None` for no fault. The
    /// time of the fault differs between the runs.
    #[serde(default)]
    trouble: Option<InjectedFault>,
    #[serde(default = "once")]
    runs: u64,
    /// True if the primary acknowledges a write before the backups have stored it.
    #[serde(default)]
    early: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum InjectedFault {
    Crash,
    CutOff,
}

fn once() -> u64 {
    1
}

pub(super) fn run_primary_backup(with: PrimaryBackupArguments) -> Result<Value, RunError> {
    let variants = if with.early {
        Variants::none().with(VariantId::AcknowledgeEarly)
    } else {
        Variants::none()
    };
    let (mut lost, mut primaries, mut acknowledged, mut messages) = (0, 0, 0, json!({}));
    for seed in 1..=with.runs {
        let from = 64 * TICKS_PER_TIME_UNIT + seed * TICKS_PER_TIME_UNIT / 7;
        let quiet = ReplicationScenario {
            writes: with.writes,
            variants,
            seed,
            ..ReplicationScenario::fault_free(with.n)
        };
        let write_interval = TICKS_PER_TIME_UNIT;
        let written = replicate_writes(&match with.trouble {
            None => quiet,
            Some(InjectedFault::Crash) => {
                ReplicationScenario { crashes: vec![(ProcessId(0), from)], write_interval, ..quiet }
            }
            Some(InjectedFault::CutOff) => {
                let isolation = Some((from, from + 25 * TICKS_PER_TIME_UNIT));
                ReplicationScenario { isolation, write_interval, ..quiet }
            }
        })?;
        lost += written.lost.len();
        primaries = primaries.max(written.served.len());
        acknowledged += written.acknowledged.len();
        messages = json!(written.messages);
    }
    Ok(json!({
        "lost": lost, "primaries": primaries, "acknowledged": acknowledged, "messages": messages,
    }))
}

/// Arguments of the experiments with atomic commitment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AtomicCommitArguments {
    n: u32,
    /// Numbers of the processes that vote no.
    #[serde(default)]
    no_votes: Vec<u32>,
    /// Time from the start of the transaction to the crash of its coordinator, in units of time.
    /// `None` for no crash.
    crash: Option<f64>,
    /// Time from the crash to the recovery of the coordinator, in units of time. `None` if the
    /// coordinator never recovers.
    recovery: Option<f64>,
    /// Time from the start of the transaction to the partition of its coordinator from all other
    /// processes, in units of time. `None` for no partition.
    cut: Option<f64>,
}

pub(super) fn run_two_phase_commit(with: AtomicCommitArguments) -> Result<Value, RunError> {
    commit(with, CommitProtocol::Two(Variants::none()))
}

pub(super) fn run_three_phase_commit(with: AtomicCommitArguments) -> Result<Value, RunError> {
    commit(with, CommitProtocol::Three(Variants::none()))
}

fn commit(with: AtomicCommitArguments, protocol: CommitProtocol) -> Result<Value, RunError> {
    let ticks = |units: f64| (units * TICKS_PER_TIME_UNIT as f64) as u64;
    let made = run_transaction(&AtomicCommitScenario {
        no_votes: with.no_votes.iter().map(|number| ProcessId(number - 1)).collect(),
        crash_after: with.crash.map(ticks),
        recovery_after: with.recovery.map(ticks),
        partition_after: with.cut.map(ticks),
        protocol,
        ..AtomicCommitScenario::fault_free(with.n)
    })?;
    let blocked: Vec<u32> = made.blocked.iter().map(|at| at.display_number()).collect();
    Ok(json!({ "decided": made.decided, "blocked": blocked, "messages": made.messages }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpanningTreeArguments {
    n: u32,
    /// Connected graph, in the form of a value of `--topology`. `None` for a complete graph.
    topology: Option<String>,
}

pub(super) fn run_spanning_tree(with: SpanningTreeArguments) -> Result<Value, String> {
    let topology = with.topology.as_deref().unwrap_or("complete");
    let graph = topology.parse::<TopologyOption>()?.graph(with.n)?;
    let grown = build_spanning_tree(&SpanningTreeScenario::on_graph(&graph))
        .map_err(|error| error.to_string())?;
    Ok(json!({
        "messages": grown.messages, "counted": grown.counted, "edges_of_graph": graph.edge_count(),
        "edges": grown.parents.iter().flatten().count(), "joined": grown.joined.len(),
    }))
}
