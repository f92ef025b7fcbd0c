//! `tenure trace diagram`: draws space–time diagrams.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tenure_sim::parse_bounded_time_units;
use tenure_trace::diagram::{
    DiagramClock, DiagramLayout, DiagramOptions, ReplicatedLogMoment, RowLabel, TimeAxis,
    TimeDirection, TraceWindow, lay_out_files,
};
use tenure_trace::merge_files;

use super::{find_and_warn_torn_or_empty, logs, page};
use crate::cmd::capture::print_stderr_line;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{line_width, print, print_unwrapped, warn_no_effect};

/// Upper bound on the number of records in a text diagram, unless the user selects a part of the
/// run.
const MAX_RECORDS_IN_TEXT: u64 = 20_000;
/// Upper bound on the number of records in an SVG diagram, unless the user selects a part of the
/// run.
const MAX_RECORDS_IN_SVG: u64 = 4_000;

/// Draw the traces of one run as a space–time diagram
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Traces of one run; several files are merged
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format
    #[arg(long = "as", value_enum, default_value_t)]
    form: DiagramFormat,
    /// Placement of the steps [default: time; causal for pages of real nodes, whose critical
    /// sections are too short to be visible in time]
    #[arg(long, value_enum)]
    scale: Option<ScaleName>,
    /// Direction of time [default: down in text, right in SVG]
    #[arg(long, value_enum)]
    direction: Option<DirectionName>,
    /// Clock to write at each step; a step counts as one event
    #[arg(long, value_enum, default_value_t)]
    clock: ClockName,
    /// Message fields to write beside the message names: stamp, rank, phase …
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
    fields: Vec<String>,
    /// Only events from this time on, in units (milliseconds for real nodes)
    #[arg(long, value_name = "T", value_parser = ticks)]
    from: Option<u64>,
    /// Only events up to this time
    #[arg(long, value_name = "T", value_parser = ticks)]
    to: Option<u64>,
    /// Only events with these numbers: 1..200, 5000.., ..100
    #[arg(long, value_name = "A..B", value_parser = events)]
    events: Option<RangeInclusive<u64>>,
    /// Draw the logs of all processes at the end, or at --to or --events: a box per entry, with its
    /// term
    #[arg(long, conflicts_with_all = ["scale", "direction", "clock", "fields", "from"])]
    logs: bool,
    /// Draw the logs at each of these times
    #[arg(long, value_name = "T,…", value_delimiter = ',', value_parser = ticks)]
    #[arg(requires = "logs", conflicts_with_all = ["to", "events"])]
    at: Vec<u64>,
    /// Maximum line length in text, instead of the terminal width
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=1000))]
    width: Option<u16>,
    /// Repeat the process names after this many rows, in text that goes down; in SVG, wrap after
    /// this many events
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u16).range(2..))]
    #[arg(conflicts_with = "logs")]
    paginate: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum DiagramFormat {
    /// Text, as wide as the terminal or COLUMNS, at most 100 columns
    #[default]
    Text,
    /// SVG
    Svg,
    /// HTML page in one file, with zoom, steps, filters and process states; `--scale` is the
    /// initial scale
    Html,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleName {
    /// By time; long pauses are shortened
    Time,
    /// By the longest causal chain that leads to each step
    Causal,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DirectionName {
    /// Later steps below
    Down,
    /// Later steps to the right
    Right,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ClockName {
    /// No clock
    #[default]
    None,
    /// Lamport clock
    Lamport,
    /// Vector clock
    Vector,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    if options.from.zip(options.to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::usage("--from is later than --to: swap them"));
    }
    find_and_warn_torn_or_empty(&options.files);
    if options.logs {
        let columns = options.width.map_or_else(line_width, usize::from);
        return logs::print_log_diagram(&options.files, options.form, &moments(options), columns);
    }
    if options.form == DiagramFormat::Html {
        reject_options_of_other_formats(options)?;
        let (from, to, events) = (options.from, options.to, options.events.clone());
        return page::print_diagram_page(
            &options.files,
            TraceWindow { from, to, record_numbers: events, max_records: None },
            scale(options),
        );
    }
    let is_whole = options.from.is_none() && options.to.is_none() && options.events.is_none();
    let most =
        if options.form == DiagramFormat::Svg { MAX_RECORDS_IN_SVG } else { MAX_RECORDS_IN_TEXT };
    let window = TraceWindow {
        from: options.from,
        to: options.to,
        record_numbers: options.events.clone(),
        max_records: is_whole.then_some(most),
    };
    let view = DiagramOptions { window, ..view(options) };
    let layout = lay_out_files(&options.files, view).map_err(Failure::usage)?;
    warn_unknown_fields(options)?;
    let Some((first, last)) = layout.shown_records else {
        let description = format!("none of the {} events is in this window", layout.record_count);
        return Err(Failure::usage(description));
    };
    if is_whole && layout.is_cut_off {
        print_stderr_line(&format!(
            "showing events {first} to {last} of {}; see the next with --events {}..{}",
            layout.record_count,
            last + 1,
            last + most
        ));
    }
    if options.form == DiagramFormat::Svg && options.width.is_some() {
        warn_no_effect("--width", "SVG, whose size depends on the run (see --paginate)");
    }
    match options.paginate.filter(|_| options.form == DiagramFormat::Svg) {
        Some(most) => print_rows(options, (first, last), most)?,
        None => print_diagram(options, &layout)?,
    }
    Ok(Status::Success)
}

fn print_rows(options: &Options, (first, last): (u64, u64), most: u16) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for from in (first..=last).step_by(most.into()) {
        let events = Some(from..=last.min(from + u64::from(most) - 1));
        let window = TraceWindow { record_numbers: events, ..TraceWindow::default() };
        let row = lay_out_files(&options.files, DiagramOptions { window, ..view(options) });
        rows.push(row.map_err(Failure::usage)?);
    }
    print_unwrapped(&DiagramLayout::stack_to_svg(rows, direction(options)))
}

fn view(options: &Options) -> DiagramOptions {
    DiagramOptions {
        scale: scale(options).unwrap_or(TimeAxis::Time),
        clock: match options.clock {
            ClockName::None => DiagramClock::None,
            ClockName::Lamport => DiagramClock::Lamport,
            ClockName::Vector => DiagramClock::Vector,
        },
        window: TraceWindow::default(),
        fields: options.fields.clone(),
    }
}

fn moments(options: &Options) -> Vec<ReplicatedLogMoment> {
    let last = options.events.as_ref().map(|events| *events.end());
    match (options.to, last) {
        (Some(to), _) => vec![ReplicatedLogMoment::AtTime(to)],
        (None, Some(last)) => vec![ReplicatedLogMoment::AfterRecord(last)],
        (None, None) => options.at.iter().map(|at| ReplicatedLogMoment::AtTime(*at)).collect(),
    }
}

fn warn_unknown_fields(options: &Options) -> Result<(), Failure> {
    if options.fields.is_empty() {
        return Ok(());
    }
    let merged = merge_files(&options.files).map_err(Failure::usage)?;
    let records = merged.records.iter().map(|it| serde_json::to_string(it).unwrap_or_default());
    let records: Vec<String> = records.collect();
    for field in &options.fields {
        let key = format!("\"{field}\":");
        if !records.iter().any(|record| record.contains(&key)) {
            warn_no_effect(&format!("--fields {field}"), "this trace");
        }
    }
    Ok(())
}

fn scale(options: &Options) -> Option<TimeAxis> {
    options.scale.map(|name| match name {
        ScaleName::Time => TimeAxis::Time,
        ScaleName::Causal => TimeAxis::Causal,
    })
}

/// Returns a usage failure if an option is given that has no effect on an HTML page. A page shows
/// all clocks and message fields, and its time runs to the right.
fn reject_options_of_other_formats(options: &Options) -> Result<(), Failure> {
    let given = [
        ("--clock", !matches!(options.clock, ClockName::None)),
        ("--fields", !options.fields.is_empty()),
        ("--width", options.width.is_some()),
        ("--paginate", options.paginate.is_some()),
        ("--direction", matches!(options.direction, Some(DirectionName::Down))),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} does not apply to --as html: leave it out; the page shows all clocks and \
             message fields of the selected event"
        ))),
    }
}

fn direction(options: &Options) -> TimeDirection {
    match options.direction {
        Some(DirectionName::Down) => TimeDirection::Down,
        Some(DirectionName::Right) => TimeDirection::Right,
        None if options.form == DiagramFormat::Text => TimeDirection::Down,
        None => TimeDirection::Right,
    }
}

fn print_diagram(options: &Options, layout: &DiagramLayout) -> Result<(), Failure> {
    let direction = direction(options);
    if options.form != DiagramFormat::Text {
        return print_unwrapped(&layout.to_svg(direction));
    }
    let columns = options.width.map_or_else(line_width, usize::from);
    let mut text = layout.to_text_within(direction, RowLabel::Place, columns);
    if let (Some(rows), TimeDirection::Down) = (options.paginate, direction) {
        text = paginated(&text, rows.into());
    }
    if options.width.is_some() { print_unwrapped(&text) } else { print(&text) }
}

fn paginated(text: &str, rows: usize) -> String {
    let (head, body) = text.split_once('\n').unwrap_or((text, ""));
    let lines: Vec<&str> = body.lines().collect();
    let page = |lines: &[&str]| format!("{head}\n{}\n", lines.join("\n"));
    lines.chunks(rows).map(page).collect::<Vec<_>>().join("\n")
}

/// Parses a time in units, with up to six digits after the decimal point. Returns the time in
/// ticks.
fn ticks(text: &str) -> Result<u64, String> {
    parse_bounded_time_units(text).map_err(|_| "expected units, such as 12 or 12.5".to_owned())
}

/// Parses a range of event numbers, such as `5..200`. Either end may be missing.
fn events(text: &str) -> Result<RangeInclusive<u64>, String> {
    let invalid = || "expected a range, such as 1..200, 5000.. or ..100".to_owned();
    let (first, last) = text.split_once("..").ok_or_else(invalid)?;
    let end = |end: &str, otherwise| match end {
        "" => Ok(otherwise),
        end => end.parse().map_err(|_| invalid()),
    };
    let (first, last) = (end(first, 1)?, end(last, u64::MAX)?);
    if first == 0 || first > last { Err(invalid()) } else { Ok(first..=last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_times_in_units() {
        assert_eq!(ticks("12"), Ok(12_000_000));
        assert_eq!(ticks("0.25"), Ok(250_000));
        for invalid_text in ["", ".5", "-1", "1e3", "1.2345678", "99999999999999999999"] {
            assert!(ticks(invalid_text).is_err(), "{invalid_text}");
        }
    }

    #[test]
    fn pages_repeat_the_names() {
        assert_eq!(paginated("  P1\n1 ●\n2 ●\n3 ●\n", 2), "  P1\n1 ●\n2 ●\n\n  P1\n3 ●\n");
    }

    #[test]
    fn parses_event_ranges_with_open_ends() {
        assert_eq!(events("5..200"), Ok(5..=200));
        assert_eq!(events("5.."), Ok(5..=u64::MAX));
        assert_eq!(events("..7"), Ok(1..=7));
        for invalid_text in ["", "5", "0..3", "7..5", "a..b"] {
            assert!(events(invalid_text).is_err(), "{invalid_text}");
        }
    }
}
