//! What a leader is elected for.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_algorithms::Variants;
use tenure_algorithms::application::primary_backup::Switch;
use tenure_core::{ProcessId, TICKS_PER_UNIT};
use tenure_instances::applications::berkeley::{Clocks, synchronise};
use tenure_instances::applications::commit::{Phases, Transacting, transact};
use tenure_instances::applications::replication::{Writing, write};
use tenure_instances::applications::tree::{Graph, grow};
use tenure_sim::RunError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Berkeley {
    /// What each clock shows; the first leads.
    starts: Vec<i64>,
}

pub(super) fn berkeley(with: Berkeley) -> Result<Value, RunError> {
    let made = synchronise(&Clocks::starting_at(with.starts))?;
    let sum: i64 = made.adjustments.iter().flatten().sum();
    Ok(json!({
        "adjustments": made.adjustments, "clocks": made.clocks, "sum": sum,
        "spread": made.spread, "messages": made.messages,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Backups {
    n: u32,
    writes: u32,
    /// What happens to the primary while it writes, in runs that differ by when.
    #[serde(default)]
    trouble: Option<Trouble>,
    #[serde(default = "once")]
    runs: u64,
    /// Whether a write is acknowledged before the backups have it.
    #[serde(default)]
    early: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Trouble {
    Crash,
    CutOff,
}

fn once() -> u64 {
    1
}

pub(super) fn primary_backup(with: Backups) -> Result<Value, RunError> {
    let variants =
        if with.early { Variants::none().with(Switch::AcknowledgeEarly) } else { Variants::none() };
    let (mut lost, mut primaries, mut acknowledged, mut messages) = (0, 0, 0, json!({}));
    for seed in 1..=with.runs {
        let from = 64 * TICKS_PER_UNIT + seed * TICKS_PER_UNIT / 7;
        let quiet = Writing { writes: with.writes, variants, seed, ..Writing::among(with.n) };
        let every = TICKS_PER_UNIT;
        let written = write(&match with.trouble {
            None => quiet,
            Some(Trouble::Crash) => Writing { crashes: vec![(ProcessId(0), from)], every, ..quiet },
            Some(Trouble::CutOff) => {
                let isolation = Some((from, from + 25 * TICKS_PER_UNIT));
                Writing { isolation, every, ..quiet }
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Commit {
    n: u32,
    /// Who votes no.
    #[serde(default)]
    against: Vec<u32>,
    /// How many units after the transaction began its coordinator crashes.
    crash: Option<f64>,
    /// How many units it is down then.
    recovery: Option<f64>,
    /// How many units after the transaction began its coordinator is cut off.
    cut: Option<f64>,
}

pub(super) fn two_phase_commit(with: Commit) -> Result<Value, RunError> {
    commit(with, Phases::Two(Variants::none()))
}

pub(super) fn three_phase_commit(with: Commit) -> Result<Value, RunError> {
    commit(with, Phases::Three(Variants::none()))
}

fn commit(with: Commit, phases: Phases) -> Result<Value, RunError> {
    let ticks = |units: f64| (units * TICKS_PER_UNIT as f64) as u64;
    let made = transact(&Transacting {
        against: with.against.iter().map(|number| ProcessId(number - 1)).collect(),
        crash: with.crash.map(ticks),
        recovery: with.recovery.map(ticks),
        cut: with.cut.map(ticks),
        phases,
        ..Transacting::among(with.n)
    })?;
    let blocked: Vec<u32> = made.blocked.iter().map(|at| at.number()).collect();
    Ok(json!({ "decided": made.decided, "blocked": blocked, "messages": made.messages }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Complete {
    /// How many processes, each linked to each.
    n: u32,
}

pub(super) fn spanning_tree(with: Complete) -> Result<Value, RunError> {
    let grown = grow(&Graph::complete(with.n))?;
    Ok(json!({
        "messages": grown.messages, "counted": grown.counted,
        "edges": grown.parents.iter().flatten().count(), "joined": grown.joined.len(),
    }))
}
