//! The content of a plot, independent of its format: panels, series and points.

use super::super::axis::{has_integer_values, parameter_label};
use super::super::figure::MeasuredQuantity;
use super::super::results::{PointResults, SweepHeader, SweepPoint, SweepResults};
use crate::cmd::failure::Failure;

/// Main figures of a sweep. A plot has one panel for each of these figures that was measured.
const FIGURES: [MeasuredQuantity; 5] = [
    MeasuredQuantity::MessagesPerEntry,
    MeasuredQuantity::MessagesPerElection,
    MeasuredQuantity::MessagesPerAgreement,
    MeasuredQuantity::WaitingTime,
    MeasuredQuantity::ElectionTime,
];

/// Figures that get a panel only while the plot has fewer than two panels. The figures in
/// [`FIGURES`] come first.
const OTHER_FIGURES: [MeasuredQuantity; 2] =
    [MeasuredQuantity::AgreementTime, MeasuredQuantity::Duration];

pub(super) struct Chart {
    pub(super) title: String,
    pub(super) command: String,
    pub(super) runs: u64,
    pub(super) x_label: String,
    pub(super) x: HorizontalAxis,
    pub(super) series: Vec<String>,
    /// Names of the series that are not drawn, because none of their measured quantities has a
    /// panel.
    pub(super) unmeasured: Vec<String>,
    pub(super) panels: Vec<Panel>,
}

/// Kind of the values on the horizontal axis. The kind determines the positions of the values.
pub(super) enum HorizontalAxis {
    /// The values are whole numbers. The position of a value on the axis is the number itself.
    Counts,
    /// The values are numbers. The position of a value on the axis is the number itself.
    Numbers,
    /// The values are not numbers. The position of a value is its index in this list. There are no
    /// values between two positions, so no line joins the marks of a series.
    Names(Vec<String>),
}

pub(super) struct Panel {
    pub(super) label: String,
    /// Marks of each series, in the order of their positions on the horizontal axis.
    pub(super) lines: Vec<Vec<Mark>>,
}

/// A mark in a panel: the mean of a measured quantity, and the confidence interval of the mean. The
/// mean is over all runs of an algorithm with the same parameter values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) x: f64,
    pub(super) mean: f64,
    /// Lower and upper end of the confidence interval; `None` if fewer than two values were
    /// measured.
    pub(super) interval: Option<(f64, f64)>,
}

impl Mark {
    /// Returns the greatest value that is drawn for the mark.
    pub(super) fn max_drawn_value(&self) -> f64 {
        self.interval.map_or(self.mean, |(_, high)| high)
    }

    /// Returns the lower end of the confidence interval if it is positive, and otherwise the mean.
    /// A logarithmic axis has positions only for positive values.
    pub(super) fn min_drawn_value(&self) -> f64 {
        self.interval.map(|(low, _)| low).filter(|low| *low > 0.0).unwrap_or(self.mean)
    }
}

impl Chart {
    /// Returns true if a line joins the marks of a series.
    pub(super) fn joins_marks(&self) -> bool {
        !matches!(self.x, HorizontalAxis::Names(_))
    }

    /// Creates the plot of these results. The first parameter of `--sweep` is the horizontal axis.
    /// Each combination of an algorithm and values of the other parameters is a series.
    ///
    /// # Errors
    ///
    /// A usage failure if the sweep has no parameters.
    pub(super) fn new(results: &SweepResults) -> Result<Self, Failure> {
        let header = &results.header;
        let swept =
            header.swept.first().and_then(|name| Some((name, header.parameter_index(name)?)));
        let Some((name, place)) = swept else {
            let message = "--plot needs the horizontal axis: add --sweep, such as --sweep n=3..20";
            return Err(Failure::usage(message));
        };
        let x = HorizontalAxis::of(header, place);
        let mut series: Vec<String> = Vec::new();
        let mut placed: Vec<(usize, f64, &PointResults)> = Vec::new();
        let is_measured = |cell: &PointResults| cell.figures.keys().any(|it| is_drawn(*it));
        for (point, cell) in results.measured_points().filter(|(_, cell)| is_measured(cell)) {
            let name = series_of(header, point);
            let known = series.iter().position(|it| *it == name);
            let number = known.unwrap_or_else(|| {
                series.push(name);
                series.len() - 1
            });
            placed.push((number, x.position(&point.values[place]), cell));
        }
        let panel = |figure: &MeasuredQuantity| {
            let mut lines = vec![Vec::new(); series.len()];
            for (number, x, cell) in &placed {
                lines[*number].extend(mark(*x, *figure, cell));
            }
            for line in &mut lines {
                line.sort_by(|one: &Mark, other| one.x.total_cmp(&other.x));
            }
            let is_empty = lines.iter().all(Vec::is_empty);
            (!is_empty).then(|| Panel { label: figure.label(), lines })
        };
        let mut panels: Vec<Panel> = FIGURES.iter().filter_map(panel).collect();
        let others = OTHER_FIGURES.iter().filter_map(panel);
        let missing = 2usize.saturating_sub(panels.len());
        panels.extend(others.take(missing));
        let mut unmeasured: Vec<String> =
            header.points.iter().map(|point| series_of(header, point)).collect();
        unmeasured.dedup();
        unmeasured.retain(|name| !series.contains(name));
        unmeasured.sort_unstable();
        unmeasured.dedup();
        let title = title(header, &panels, name);
        let command = header.command.clone();
        let x_label = parameter_label(name).to_owned();
        Ok(Chart { title, command, runs: header.runs, x_label, x, series, unmeasured, panels })
    }
}

/// Returns true if a value of `figure` is enough to include a point of the sweep in the plot. A
/// value of [`MeasuredQuantity::Duration`] is not enough, because even a run in which nothing
/// happens has a duration.
fn is_drawn(figure: MeasuredQuantity) -> bool {
    FIGURES.contains(&figure) || figure == MeasuredQuantity::AgreementTime
}

impl HorizontalAxis {
    fn of(header: &SweepHeader, place: usize) -> Self {
        let mut values: Vec<String> = Vec::new();
        for point in &header.points {
            let value = &point.values[place];
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        match values.iter().all(|value| number(value).is_some()) {
            true if has_integer_values(&header.parameters[place]) => HorizontalAxis::Counts,
            true => HorizontalAxis::Numbers,
            false => HorizontalAxis::Names(values),
        }
    }

    fn position(&self, value: &str) -> f64 {
        match self {
            HorizontalAxis::Counts | HorizontalAxis::Numbers => number(value).unwrap_or(0.0),
            HorizontalAxis::Names(names) => {
                names.iter().position(|name| name == value).unwrap_or(0) as f64
            }
        }
    }
}

fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns the name of the series to which a point of the sweep belongs. The name consists of the
/// algorithm and the values of all parameters of `--sweep` except the first.
fn series_of(header: &SweepHeader, point: &SweepPoint) -> String {
    let others = header.swept.iter().skip(1).filter_map(|name| {
        let value = &point.values[header.parameter_index(name)?];
        Some(format!(", {name} {value}"))
    });
    point.algorithm.clone() + &others.collect::<String>()
}

fn mark(x: f64, figure: MeasuredQuantity, cell: &PointResults) -> Option<Mark> {
    let moments = cell.figures.get(&figure)?.moments();
    Some(Mark { x, mean: moments.mean(), interval: moments.confidence_interval() })
}

/// Returns the title of the plot: the figures without their units, and the name of the horizontal
/// axis. If the sweep has a single algorithm, the title begins with its name.
fn title(header: &SweepHeader, panels: &[Panel], name: &str) -> String {
    let plain = |text: &str| text.split(" [").next().unwrap_or(text).to_owned();
    let figures: Vec<String> = panels.iter().map(|panel| plain(&panel.label)).collect();
    let mut algorithms: Vec<&str> = header.points.iter().map(|it| it.algorithm.as_str()).collect();
    algorithms.dedup();
    let figures = figures.join(" and ");
    let against = plain(parameter_label(name).split(", ").next().unwrap_or(name));
    match algorithms.as_slice() {
        [one] => format!("{one}: {figures} against the {against}"),
        _ => {
            let mut letters = figures.chars();
            let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
            format!("{first}{} against the {against}", letters.as_str())
        }
    }
}
