//! What a verdict is, to be compared.

use tenure_check::{Judgement, Report};
use tenure_core::Property;

/// Verdicts by property, and how short the counterexamples are.
pub(crate) fn verdicts(report: &Report) -> Vec<(Property, Judgement, Option<usize>)> {
    let length = |it: &Property| report.counterexample(it.name()).map(|found| found.length());
    report.properties.iter().map(|(it, judgement)| (*it, *judgement, length(it))).collect()
}
