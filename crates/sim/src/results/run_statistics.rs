//! Statistics over the reports of many runs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::{Map, Value};
use tenure_core::Property;

use crate::results::json::report_figures;
use crate::results::moments::Moments;
use crate::results::report::RunReport;
use tenure_core::Judgement;

/// Statistics of many runs. They contain the mean, deviation, extremes and confidence interval of
/// every measurement. For each property, they contain the number of runs that violated the
/// property, and the number of runs that did not decide it.
///
/// The statistics of a measurement cover only the runs in which the measurement exists. For
/// instance, a run without entries has no delay. If a run sent no message of some kind, its number
/// of messages of this kind is 0.
///
/// The serialized form is a nested object. For example, the path `messages.total.mean` leads to the
/// mean of the measurement `messages.total`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStatistics {
    runs: u64,
    figures: BTreeMap<String, Moments>,
    violated: BTreeMap<Property, PropertyViolationCount>,
    incomplete: BTreeMap<Property, u64>,
}

/// Number of runs that violated a property, and an example of these runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertyViolationCount {
    /// Number of runs with a violation.
    pub runs: u64,
    /// True if the violation made at least one of these runs a failure.
    pub is_failure: bool,
    /// Seed of the first run with a violation. `None` if no run had a violation.
    pub first_seed: Option<u64>,
    /// Description of the violation in the run with the seed `first_seed`. Empty if there is no
    /// such run.
    pub message: String,
}

impl RunStatistics {
    /// Creates the statistics of no runs.
    pub fn new() -> Self {
        RunStatistics::default()
    }

    /// Adds the report of one run. Reports must be added in a fixed order, because rounding depends
    /// on the order. [`run_parallel`](crate::run_parallel) delivers reports in such an order.
    pub fn add(&mut self, report: &RunReport) {
        let mut found = BTreeMap::new();
        if let Ok(value) = serde_json::to_value(report_figures(report)) {
            collect("", &value, &mut found);
        }
        for (name, value) in found {
            let before = if is_a_kind(&name) { self.runs } else { 0 };
            let moments = self.figures.entry(name).or_insert_with(|| zeros(before));
            moments.add(value);
        }
        self.runs += 1;
        let kinds = self.figures.iter_mut().filter(|(name, _)| is_a_kind(name));
        for (_, moments) in kinds.filter(|(_, moments)| moments.count() < self.runs) {
            moments.add(0.0);
        }
        for finding in report.findings.iter().filter(|f| f.judgement == Judgement::Incomplete) {
            *self.incomplete.entry(finding.property).or_default() += 1;
        }
        for finding in report.failures() {
            self.violated.entry(finding.property).or_default().is_failure = true;
        }
        for finding in report.findings.iter().filter(|f| f.judgement == Judgement::Violated) {
            let violations = self.violated.entry(finding.property).or_default();
            violations.runs += 1;
            if violations.first_seed.is_none() {
                violations.first_seed = Some(report.seed);
                let message = finding.violation.as_ref().map(|first| first.message.clone());
                violations.message = message.unwrap_or_default();
            }
        }
    }

    /// Returns the number of runs.
    pub const fn runs(&self) -> u64 {
        self.runs
    }

    /// Returns the statistics of one measurement over all runs. `json_path` is the path of the
    /// measurement in the serialized statistics, such as `messages.by_kind.token`. Returns `None`
    /// if no run had this measurement.
    pub fn measurement(&self, json_path: &str) -> Option<&Moments> {
        self.figures.get(json_path)
    }

    /// Returns the statistics of all measurements, each with its path in the serialized statistics.
    pub fn measurements(&self) -> impl Iterator<Item = (&str, &Moments)> {
        self.figures.iter().map(|(path, moments)| (path.as_str(), moments))
    }

    /// Returns the properties that at least one run violated, each with the number of these runs
    /// and an example.
    pub fn violated_properties(&self) -> impl Iterator<Item = (Property, &PropertyViolationCount)> {
        self.violated.iter().map(|(property, violations)| (*property, violations))
    }

    /// Returns the properties that at least one run did not decide, each with the number of these
    /// runs.
    pub fn incomplete_properties(&self) -> impl Iterator<Item = (Property, u64)> {
        self.incomplete.iter().map(|(property, runs)| (*property, *runs))
    }
}

/// Adds the number `value`, or each number in the object `value` and in its nested objects, to
/// `figures`. The key is the path of the number. `path` is the path of `value`.
fn collect(path: &str, value: &Value, figures: &mut BTreeMap<String, f64>) {
    match value {
        Value::Number(number) => {
            figures.insert(path.to_owned(), number.as_f64().unwrap_or(0.0));
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                collect(&format!("{path}{dot}{name}"), value, figures);
            }
        }
        _ => {}
    }
}

/// Returns true if the measurement at `path` counts the messages of one kind. If a run lacks this
/// measurement, the run sent no message of this kind.
fn is_a_kind(path: &str) -> bool {
    path.starts_with("messages.by_kind.")
}

/// Returns the statistics of the number of messages of a kind that none of `runs` runs has sent.
fn zeros(runs: u64) -> Moments {
    let mut moments = Moments::new();
    (0..runs).for_each(|_| moments.add(0.0));
    moments
}

impl Serialize for RunStatistics {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut nested = Map::new();
        nested.insert("runs".into(), self.runs.into());
        for (path, moments) in &self.figures {
            let value = serde_json::to_value(moments).map_err(serde::ser::Error::custom)?;
            insert(&mut nested, path, value);
        }
        let violated: Map<String, Value> = self
            .violated
            .iter()
            .map(|(property, violations)| (property.name().to_owned(), violations.runs.into()))
            .collect();
        nested.insert("violated".into(), violated.into());
        let incomplete: Map<String, Value> = self
            .incomplete_properties()
            .map(|(property, runs)| (property.name().to_owned(), runs.into()))
            .collect();
        nested.insert("incomplete".into(), incomplete.into());
        nested.serialize(to)
    }
}

/// Inserts `value` into nested objects under `path`, whose parts are separated by dots.
fn insert(nested: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            nested.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = nested.entry(first.to_owned()).or_insert_with(|| Map::new().into());
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}
