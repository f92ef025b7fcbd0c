//! The result of a simulation as JSON. Scripts depend on the keys of this output.

use serde::Serialize;
use tenure_core::{Property, TICKS_PER_TIME_UNIT};
use tenure_sim::{RunReport, RunStatistics};

use super::experiment::{ReplayableViolation, SimulationOutcome};

/// The JSON output of a simulation: the first run, the summary of several runs, and the violations.
/// Each violation has a command that replays it.
#[derive(Serialize)]
pub(super) struct SimulationOutput<'a> {
    #[serde(flatten)]
    first: &'a RunReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a RunStatistics>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violations: Vec<ViolationOutput<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
}

/// A violated property in the JSON output. The command fails if the output contains a violated
/// property.
#[derive(Serialize)]
pub(crate) struct ViolationOutput<'a> {
    property: Property,
    runs: u64,
    seed: u64,
    at: f64,
    process: u32,
    description: &'a str,
    replay: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shrunk: Option<&'a str>,
}

impl<'a> SimulationOutput<'a> {
    pub(super) fn new(outcome: &'a SimulationOutcome, runs: u64) -> Self {
        SimulationOutput {
            first: &outcome.first,
            summary: (runs > 1).then_some(&outcome.summary),
            violations: outcome.violations.iter().filter_map(ViolationOutput::new).collect(),
            interrupted: outcome.interrupted,
        }
    }
}

impl<'a> ViolationOutput<'a> {
    pub(crate) fn new(violation: &'a ReplayableViolation) -> Option<Self> {
        let first = violation.finding.violation.as_ref()?;
        Some(ViolationOutput {
            property: violation.finding.property,
            runs: violation.runs,
            seed: violation.seed,
            at: first.time as f64 / TICKS_PER_TIME_UNIT as f64,
            process: first.at.display_number(),
            description: &first.message,
            replay: &violation.replay,
            shrunk: violation.shrunk.as_deref(),
        })
    }
}
