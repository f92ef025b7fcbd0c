//! Results of checks in a form that tests can compare.

use tenure_check::{Check, CheckReport, Checkable, Judgement, Measure, MeasureConfig};
use tenure_core::Property;

/// Returns the judgement of each property. For a violated property, also returns the length of the
/// counterexample.
pub(crate) fn verdicts(report: &CheckReport) -> Vec<(Property, Judgement, Option<usize>)> {
    let length = |it: &Property| report.counterexample(it.name()).map(|found| found.step_count());
    report.properties.iter().map(|(it, judgement)| (*it, *judgement, length(it))).collect()
}

/// Asserts that every property holds. Returns the number of states and the number of steps.
pub(crate) fn counts<P: Checkable>(check: Check<P>) -> (u64, u64) {
    let report = check.run();
    report.assert_holds();
    (report.states, report.transitions)
}

/// Asserts that every property holds. Returns the number of states.
pub(crate) fn states<P: Checkable>(check: Check<P>) -> u64 {
    counts(check).0
}

/// Returns the least and the greatest value of a measure. Panics if the search does not determine
/// both values exactly.
pub(crate) fn extremes<P: Checkable>(check: Check<P>, of: impl Into<MeasureConfig>) -> (u32, u32) {
    let report = check.measure(of).unwrap_or_else(|error| panic!("{error}"));
    let extremes = report.exact_minimum().zip(report.exact_maximum());
    extremes.unwrap_or_else(|| panic!("{report}"))
}

/// Returns the least and the greatest number of messages of a run. Panics if the search does not
/// determine both numbers exactly.
pub(crate) fn messages<P: Checkable>(check: Check<P>) -> (u64, u64) {
    let (least, greatest) = extremes(check, Measure::Messages);
    (least.into(), greatest.into())
}

pub(crate) enum Explored {
    Checked(Box<CheckReport>),
    /// The least and the greatest number of messages of a run.
    Measured(u64, u64),
}

impl Explored {
    pub(crate) fn checked<P: Checkable>(check: Check<P>) -> Self {
        Explored::Checked(Box::new(check.run()))
    }

    pub(crate) fn measured<P: Checkable>(check: Check<P>) -> Self {
        let (least, greatest) = messages(check);
        Explored::Measured(least, greatest)
    }

    pub(crate) fn report(self) -> CheckReport {
        match self {
            Explored::Checked(report) => *report,
            Explored::Measured(..) => unreachable!("no measurement was requested"),
        }
    }

    pub(crate) fn messages(self) -> (u64, u64) {
        match self {
            Explored::Measured(least, greatest) => (least, greatest),
            Explored::Checked(_) => unreachable!("a measurement was requested"),
        }
    }
}
