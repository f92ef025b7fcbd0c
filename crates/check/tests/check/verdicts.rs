//! Judgements in a form that tests can compare.

use tenure_check::{Judgement, Report};
use tenure_core::Property;

/// Returns the judgement of each property, and the length of its counterexample if it is violated.
pub(crate) fn verdicts(report: &Report) -> Vec<(Property, Judgement, Option<usize>)> {
    let length = |it: &Property| report.counterexample(it.name()).map(|found| found.length());
    report.properties.iter().map(|(it, judgement)| (*it, *judgement, length(it))).collect()
}
