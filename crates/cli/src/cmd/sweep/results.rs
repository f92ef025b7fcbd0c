//! The results of a sweep, from which all outputs are formatted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure_core::Judgement;
use tenure_sim::{RunReport, SampleStatistics};

use super::figure::{MeasuredQuantity, measured_quantities};
use crate::cmd::failure::Status;
use crate::cmd::simulate::plan::SimulationPlan;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SweepResults {
    pub(super) header: SweepHeader,
    /// Results of each point, in the order of the points in the header.
    pub(super) point_results: Vec<PointResults>,
}

/// Description of the sweep, which is the same for all shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SweepHeader {
    pub(super) version: String,
    /// Command line of the sweep, without the options that do not change its results.
    pub(super) command: String,
    /// Seed of the first run of each point.
    pub(super) seed: u64,
    pub(super) runs: u64,
    /// Names of the parameters, in the order of the values of each point.
    pub(super) parameters: Vec<String>,
    /// Names of the parameters that `--sweep` gives, in the order of the options.
    pub(super) swept: Vec<String>,
    pub(super) points: Vec<SweepPoint>,
}

/// A point of a sweep: an algorithm with a value for each parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SweepPoint {
    /// Name of the algorithm, with its variants after `+`.
    pub(super) algorithm: String,
    /// Values of the parameters, as on the command line. A value is empty if the parameter does not
    /// apply to the algorithm.
    pub(super) values: Vec<String>,
    /// Reason why the point is not run; `None` if it is run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) refused: Option<String>,
    /// Digest of the settings of the runs. It covers the contents of all files that the settings
    /// name. Empty if the point is not run.
    pub(super) digest: String,
}

/// Results of all runs of one point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PointResults {
    pub(super) runs: u64,
    /// Number of runs in which a property remained undecided. Only properties whose violation makes
    /// the command fail are considered.
    pub(super) incomplete: u64,
    /// Violated properties, by name. Only properties whose violation makes the command fail are
    /// included.
    pub(super) violated: BTreeMap<String, PropertyViolations>,
    pub(super) figures: BTreeMap<MeasuredQuantity, SampleStatistics>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PropertyViolations {
    /// Number of runs that violate the property.
    pub(super) runs: u64,
    /// Seed of the first run that violates the property.
    pub(super) seed: u64,
    pub(super) replay: String,
}

impl PointResults {
    /// Adds the results of one run. Returns the measured quantities of this run, in millionths of
    /// their units.
    pub(super) fn add(
        &mut self,
        plan: &SimulationPlan,
        report: &RunReport,
    ) -> Vec<(MeasuredQuantity, u64)> {
        self.runs += 1;
        let figures = measured_quantities(plan, report);
        for (figure, value) in &figures {
            self.figures.entry(*figure).or_default().add(*value);
        }
        let counted =
            || report.findings.iter().filter(|finding| plan.is_required(finding.property));
        let is_undecided = counted().any(|it| it.judgement == Judgement::Incomplete);
        self.incomplete += u64::from(is_undecided);
        for finding in counted().filter(|it| it.judgement == Judgement::Violated) {
            let name = finding.property.name().to_owned();
            let replay = || plan.replay_command(&plan.settings_for_seed(report.seed));
            let first = || PropertyViolations { runs: 0, seed: report.seed, replay: replay() };
            self.violated.entry(name).or_insert_with(first).runs += 1;
        }
        figures
    }

    /// Adds the results of other runs of the same point. If both violate a property, keeps the
    /// smaller seed, with its command.
    pub(super) fn merge(&mut self, other: &PointResults) {
        self.runs += other.runs;
        self.incomplete += other.incomplete;
        for (figure, sample) in &other.figures {
            self.figures.entry(*figure).or_default().merge(sample);
        }
        for (name, broken) in &other.violated {
            let Some(known) = self.violated.get_mut(name) else {
                self.violated.insert(name.clone(), broken.clone());
                continue;
            };
            let runs = known.runs + broken.runs;
            if broken.seed < known.seed {
                *known = broken.clone();
            }
            known.runs = runs;
        }
    }

    /// Counts for each property the runs that violate it, and returns the greatest count.
    pub(super) fn most_runs_violating_one_property(&self) -> u64 {
        self.violated.values().map(|broken| broken.runs).max().unwrap_or(0)
    }
}

impl SweepResults {
    pub(super) fn measured_points(&self) -> impl Iterator<Item = (&SweepPoint, &PointResults)> {
        self.all_points().filter(|(point, _)| point.refused.is_none())
    }

    pub(super) fn all_points(&self) -> impl Iterator<Item = (&SweepPoint, &PointResults)> {
        self.header.points.iter().zip(&self.point_results)
    }

    pub(super) fn status(&self) -> Status {
        if self.point_results.iter().any(|cell| !cell.violated.is_empty()) {
            return Status::Violated;
        }
        let is_undecided = self.point_results.iter().any(|cell| cell.incomplete > 0);
        if is_undecided { Status::Incomplete } else { Status::Success }
    }
}

impl SweepHeader {
    pub(super) fn parameter_index(&self, parameter: &str) -> Option<usize> {
        self.parameters.iter().position(|name| name == parameter)
    }
}

/// Returns a digest of a text (FNV-1a, 64 bits), to detect changes of files. It is not
/// cryptographic.
pub(super) fn digest(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_violations_keep_the_first_seed() {
        let cell = |seed: u64| {
            let broken = PropertyViolations { runs: 2, seed, replay: format!("seed {seed}") };
            let violated = BTreeMap::from([("order".to_owned(), broken)]);
            PointResults { runs: 5, violated, ..PointResults::default() }
        };
        let (mut forth, mut back) = (cell(3), cell(9));
        forth.merge(&cell(9));
        back.merge(&cell(3));
        assert_eq!(forth, back);
        let broken = &forth.violated["order"];
        assert_eq!((forth.runs, broken.runs, broken.replay.as_str()), (10, 4, "seed 3"));
    }

    #[test]
    fn digest_matches_published_values() {
        // The test vectors of the reference implementation.
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(digest("a"), "af63dc4c8601ec8c");
        assert_eq!(digest("foobar"), "85944171f73967e8");
    }
}
