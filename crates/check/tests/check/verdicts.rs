//! What a verdict is, to be compared.

use tenure_check::{Judgement, Report};

/// Verdicts by property, and how short the counterexamples are.
pub(crate) fn verdicts(report: &Report) -> Vec<(String, Judgement, Option<usize>)> {
    let length = |name: &str| report.counterexample(name).map(|found| found.length());
    let properties = report.properties.iter();
    properties.map(|(name, judgement)| (name.clone(), *judgement, length(name))).collect()
}
