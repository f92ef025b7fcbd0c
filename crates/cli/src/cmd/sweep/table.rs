//! Results of a sweep as a table for people.

use std::collections::BTreeMap;

use super::figure::MeasuredQuantity;
use super::results::{PointResults, PropertyViolations, SweepPoint, SweepResults};
use crate::cmd::output::format_columns;
use crate::cmd::rows::{LabelledRows, format_figure};

/// Quantities in the order of the columns, each with the heading of its column. If a quantity was
/// measured at no point of the sweep, the table omits its column.
const FIGURES: [(MeasuredQuantity, &str); 5] = [
    (MeasuredQuantity::MessagesPerEntry, "messages/entry"),
    (MeasuredQuantity::MessagesPerElection, "messages/election"),
    (MeasuredQuantity::MessagesPerAgreement, "messages/agreement"),
    (MeasuredQuantity::WaitingTime, "waiting time"),
    (MeasuredQuantity::Duration, "duration"),
];

pub(super) fn table(results: &SweepResults) -> String {
    let header = &results.header;
    let last = header.seed.wrapping_add(header.runs - 1);
    let points = results.measured_points().count();
    let many = if points == 1 { "point" } else { "points" };
    let mut rows =
        LabelledRows::new(&format!("{points} {many}, seeds {} to {last} each", header.seed));
    let figures = FIGURES.iter().filter(|(figure, _)| {
        results.measured_points().any(|(_, cell)| cell.figures.contains_key(figure))
    });
    let figures: Vec<&(MeasuredQuantity, &str)> = figures.collect();
    let mut lines = vec![head(results, &figures)];
    lines.extend(
        results.measured_points().map(|(point, cell)| line(results, point, cell, &figures)),
    );
    // Names are aligned to the left, and figures to the right.
    let last = lines[0].len() - 1;
    rows.add_line(&format_columns(&lines, |column| (1..last).contains(&column)));
    rows.add_line("");
    rows.add_line(
        "  ±: half of the 95 % confidence interval of the mean; p99: 99 % of runs have at most",
    );
    if lacks_interval(results, &figures) {
        rows.add_line("  ± –: no confidence interval, because there are fewer than two values");
    }
    for (point, _) in results.all_points() {
        if let Some(reason) = &point.refused {
            rows.add_line(&format!("  not run: {}, {reason}", place(results, point)));
        }
    }
    violations(&mut rows, results);
    rows.into_text()
}

/// Returns true if one of these figures has a mean without a confidence interval at some point.
fn lacks_interval(results: &SweepResults, figures: &[&(MeasuredQuantity, &str)]) -> bool {
    let mut samples = results
        .measured_points()
        .flat_map(|(_, cell)| figures.iter().filter_map(|(figure, _)| cell.figures.get(figure)));
    samples.any(|sample| sample.moments().confidence_interval().is_none())
}

/// Adds two lines for each property that an algorithm violates. The first line names the first
/// combination of parameter values with a violation, and how many of its runs violate the property.
/// The second line contains the command that replays the first violation.
fn violations(rows: &mut LabelledRows, results: &SweepResults) {
    let mut found: BTreeMap<(&str, &str), Vec<(&SweepPoint, &PropertyViolations)>> =
        BTreeMap::new();
    for (point, cell) in results.measured_points() {
        for (property, broken) in &cell.violated {
            let key = (point.algorithm.as_str(), property.as_str());
            found.entry(key).or_default().push((point, broken));
        }
    }
    for ((_, property), points) in found {
        let [(point, broken), others @ ..] = points.as_slice() else { continue };
        let (runs, place) = (broken.runs, place(results, point));
        let more = match others.len() {
            0 => String::new(),
            1 => ", and at 1 other point".to_owned(),
            more => format!(", and at {more} other points"),
        };
        rows.add_line(&format!("  VIOLATED: {property}, in {runs} runs of {place}{more}"));
        rows.add_line(&format!("  again:  {}", broken.replay));
    }
}

/// Returns the indices of the parameters that have a column in the table. These are the parameters
/// that `--sweep` gives. Without `--sweep`, returns only the index of `n`.
fn parameters(results: &SweepResults) -> impl Iterator<Item = usize> + '_ {
    let header = &results.header;
    let swept = header.swept.iter().filter_map(|name| header.parameter_index(name));
    let none = header.swept.is_empty().then(|| header.parameter_index("n")).flatten();
    swept.chain(none)
}

fn head(results: &SweepResults, figures: &[&(MeasuredQuantity, &str)]) -> Vec<String> {
    let mut cells = vec!["algorithm".to_owned()];
    cells.extend(parameters(results).map(|place| results.header.parameters[place].clone()));
    for (_, name) in figures {
        cells.extend([(*name).to_owned(), "p99".to_owned()]);
    }
    cells.push("broken".to_owned());
    cells
}

fn line(
    results: &SweepResults,
    point: &SweepPoint,
    cell: &PointResults,
    figures: &[&(MeasuredQuantity, &str)],
) -> Vec<String> {
    let mut cells = vec![point.algorithm.clone()];
    cells.extend(parameters(results).map(|place| point.values[place].clone()));
    for (name, _) in figures {
        let Some(sample) = cell.figures.get(name) else {
            cells.extend(["–".to_owned(), "–".to_owned()]);
            continue;
        };
        let moments = sample.moments();
        let half = moments.confidence_interval().map(|(_, high)| high - moments.mean());
        let half = half.map_or("–".to_owned(), format_figure);
        cells.push(format!("{} ± {half}", format_figure(moments.mean())));
        cells.push(format_figure(sample.quantile(990)));
    }
    cells.push(match (cell.violated.is_empty(), cell.incomplete) {
        (false, _) => "VIOLATED".to_owned(),
        (true, 0) => "none".to_owned(),
        (true, runs) => format!("undecided {runs}"),
    });
    cells
}

/// Describes a point by its algorithm and its values, such as `bully n=5`.
fn place(results: &SweepResults, point: &SweepPoint) -> String {
    let header = &results.header;
    let values = parameters(results).map(|place| {
        let (name, value) = (&header.parameters[place], &point.values[place]);
        format!(" {name}={value}")
    });
    format!("{}{}", point.algorithm, values.collect::<String>())
}
