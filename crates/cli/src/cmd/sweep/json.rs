//! Results of a sweep as JSON, with one object for each point. A point is an algorithm with a value
//! for each parameter.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::results::{PointResults, PropertyViolations, SweepHeader, SweepPoint, SweepResults};
use super::statistics::Statistics;
use crate::cmd::failure::Failure;

#[derive(Serialize)]
struct Document<'a> {
    command: &'a str,
    points: Vec<PointFields<'a>>,
}

#[derive(Serialize)]
struct PointFields<'a> {
    algorithm: &'a str,
    parameters: Map<String, Value>,
    seed: u64,
    runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
    incomplete: u64,
    violated: &'a BTreeMap<String, PropertyViolations>,
    figures: Map<String, Value>,
}

#[derive(Serialize)]
struct FigureFields {
    unit: &'static str,
    #[serde(flatten)]
    statistics: Statistics,
}

pub(super) fn json(results: &SweepResults) -> Result<String, Failure> {
    let points = results.all_points().map(|(point, cell)| fields(&results.header, point, cell));
    let points = points.collect::<Result<_, Failure>>()?;
    let document = Document { command: &results.header.command, points };
    let text = serde_json::to_string_pretty(&document).map_err(Failure::environment)?;
    Ok(text + "\n")
}

/// Formats the results of a sweep as JSON lines, one line per point.
pub(super) fn jsonl(results: &SweepResults) -> Result<String, Failure> {
    let mut text = String::new();
    for (point, cell) in results.all_points() {
        let fields = fields(&results.header, point, cell)?;
        text.push_str(&serde_json::to_string(&fields).map_err(Failure::environment)?);
        text.push('\n');
    }
    Ok(text)
}

fn fields<'a>(
    header: &'a SweepHeader,
    point: &'a SweepPoint,
    cell: &'a PointResults,
) -> Result<PointFields<'a>, Failure> {
    let parameters = header.parameters.iter().zip(&point.values);
    let figures = cell.figures.iter().map(|(figure, sample)| {
        let fields =
            FigureFields { unit: figure.unit(), statistics: Statistics::from_sample(sample) };
        let value = serde_json::to_value(fields);
        Ok((figure.name(), value.map_err(Failure::environment)?))
    });
    Ok(PointFields {
        algorithm: &point.algorithm,
        parameters: parameters.map(|(name, value)| (name.clone(), number_or_text(value))).collect(),
        seed: header.seed,
        runs: cell.runs,
        refused: point.refused.as_deref(),
        incomplete: cell.incomplete,
        violated: &cell.violated,
        figures: figures.collect::<Result<_, Failure>>()?,
    })
}

/// Converts a value of the command line to JSON: a number, a text, or null if the value is empty.
fn number_or_text(value: &str) -> Value {
    if value.is_empty() {
        return Value::Null;
    }
    let whole = value.parse::<u64>().ok().map(Value::from);
    let number = || value.parse::<f64>().ok().filter(|it| it.is_finite()).map(Value::from);
    whole.or_else(number).unwrap_or_else(|| value.into())
}
