//! `tenure trace diagram`: who did what when, as a picture.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tenure_sim::parse_units;
use tenure_trace::diagram::{
    Clock, Direction, Layout, Margin, Moment, Scale, View, Window, lay_out_files,
};
use tenure_trace::merge_whole_files;

use super::{logs, of_input, page, report_torn_files};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{no_effect, print, print_file, width};

/// More records than this are drawn only when they are asked for.
const MOST_IN_TEXT: u64 = 20_000;
/// The same in a picture.
const MOST_IN_SVG: u64 = 4_000;

/// Draw the traces of one run as a space–time diagram
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The traces of one run; several are merged
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What to draw
    #[arg(long = "as", value_enum, default_value_t)]
    form: Form,
    /// What the steps are placed by [default: time; causal on a page of real nodes, whose stays
    /// inside are too short to be seen in time]
    #[arg(long, value_enum)]
    scale: Option<ScaleName>,
    /// Where later steps lie [default: down in text, right in SVG]
    #[arg(long, value_enum)]
    direction: Option<DirectionName>,
    /// The clock to write at each step; a step counts as one event
    #[arg(long, value_enum, default_value_t)]
    clock: ClockName,
    /// Fields of what messages say to write beside their names: stamp, rank, phase …
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
    fields: Vec<String>,
    /// Only what happened from this time on, in units (milliseconds of real time)
    #[arg(long, value_name = "T", value_parser = ticks)]
    from: Option<u64>,
    /// Only what happened up to this time
    #[arg(long, value_name = "T", value_parser = ticks)]
    to: Option<u64>,
    /// Only these events, by their place in the trace: 1..200, 5000.., ..100
    #[arg(long, value_name = "A..B", value_parser = events)]
    events: Option<RangeInclusive<u64>>,
    /// Draw what all have as their logs in the end, or after --to or --events: a box for each
    /// entry, with its term
    #[arg(long, conflicts_with_all = ["scale", "direction", "clock", "fields", "from"])]
    logs: bool,
    /// Draw logs as they were at each of these times
    #[arg(long, value_name = "T,…", value_delimiter = ',', value_parser = ticks)]
    #[arg(requires = "logs", conflicts_with_all = ["to", "events"])]
    at: Vec<u64>,
    /// Lines of at most so many letters, whatever the terminal has, in text
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=1000))]
    width: Option<u16>,
    /// Say the names of the processes again behind so many rows, in text that goes down; as SVG, so
    /// many events beside each other, and the next ones below
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u16).range(2..))]
    #[arg(conflicts_with = "logs")]
    paginate: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// As wide as the terminal, or COLUMNS, up to 100
    #[default]
    Text,
    /// For a page or a slide
    Svg,
    /// A page in one file: zoom, step, filter, and ask any process for its state; `--scale` is
    /// what it begins with
    Html,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleName {
    /// When they happened
    Time,
    /// The longest chain of steps that leads to each
    Causal,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DirectionName {
    /// Below earlier ones
    Down,
    /// To the right of them
    Right,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ClockName {
    /// None
    #[default]
    None,
    /// Lamport's
    Lamport,
    /// One count for each process
    Vector,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    if options.from.zip(options.to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::usage("--from is later than --to: nothing lies between; swap them"));
    }
    report_torn_files(&options.files);
    if options.logs {
        let columns = options.width.map_or_else(width, usize::from);
        return logs::run(&options.files, options.form, &moments(options), columns);
    }
    if options.form == Form::Html {
        refuse_what_a_page_has(options)?;
        let (from, to, events) = (options.from, options.to, options.events.clone());
        return page::run(&options.files, Window { from, to, events, most: None }, scale(options));
    }
    let whole = options.from.is_none() && options.to.is_none() && options.events.is_none();
    let most = if options.form == Form::Svg { MOST_IN_SVG } else { MOST_IN_TEXT };
    let window = Window {
        from: options.from,
        to: options.to,
        events: options.events.clone(),
        most: whole.then_some(most),
    };
    let view = View { window, ..view(options) };
    let layout = lay_out_files(&options.files, view).map_err(of_input)?;
    say_what_nobody_says(options)?;
    let Some((first, last)) = layout.shown else {
        let says = format!("none of the {} events lies in this window", layout.records);
        return Err(Failure::usage(says));
    };
    if whole && layout.goes_on {
        eprintln!(
            "shown are the events {first} to {last} of {}; --events {}..{} shows the next",
            layout.records,
            last + 1,
            last + most
        );
    }
    if options.form == Form::Svg && options.width.is_some() {
        no_effect("--width", "SVG, whose size is that of the run: see --paginate");
    }
    match options.paginate.filter(|_| options.form == Form::Svg) {
        Some(most) => in_rows(options, (first, last), most)?,
        None => drawn(options, &layout)?,
    }
    Ok(Status::Held)
}

/// These events, so many in each row.
fn in_rows(options: &Options, (first, last): (u64, u64), most: u16) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for from in (first..=last).step_by(most.into()) {
        let events = Some(from..=last.min(from + u64::from(most) - 1));
        let window = Window { events, ..Window::default() };
        let row = lay_out_files(&options.files, View { window, ..view(options) });
        rows.push(row.map_err(of_input)?);
    }
    print_file(&Layout::rows_to_svg(rows, direction(options)))
}

/// How it is looked at, all of it.
fn view(options: &Options) -> View {
    View {
        scale: scale(options).unwrap_or(Scale::Time),
        clock: match options.clock {
            ClockName::None => Clock::None,
            ClockName::Lamport => Clock::Lamport,
            ClockName::Vector => Clock::Vector,
        },
        window: Window::default(),
        fields: options.fields.clone(),
    }
}

/// When logs are looked at.
fn moments(options: &Options) -> Vec<Moment> {
    let last = options.events.as_ref().map(|events| *events.end());
    match (options.to, last) {
        (Some(to), _) => vec![Moment::At(to)],
        (None, Some(last)) => vec![Moment::Behind(last)],
        (None, None) => options.at.iter().map(|at| Moment::At(*at)).collect(),
    }
}

/// A field that no message has is written nowhere.
fn say_what_nobody_says(options: &Options) -> Result<(), Failure> {
    if options.fields.is_empty() {
        return Ok(());
    }
    let merged = merge_whole_files(&options.files).map_err(of_input)?;
    let records = merged.records.iter().map(|it| serde_json::to_string(it).unwrap_or_default());
    let records: Vec<String> = records.collect();
    for field in &options.fields {
        let key = format!("\"{field}\":");
        if !records.iter().any(|record| record.contains(&key)) {
            no_effect(&format!("--fields {field}"), "this trace");
        }
    }
    Ok(())
}

fn scale(options: &Options) -> Option<Scale> {
    options.scale.map(|name| match name {
        ScaleName::Time => Scale::Time,
        ScaleName::Causal => Scale::Causal,
    })
}

/// A page has all clocks and everything that messages say, and time goes to the right on it.
fn refuse_what_a_page_has(options: &Options) -> Result<(), Failure> {
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
            "{option} means nothing to --as html: the page goes to the right, and shows every \
             clock and all that a message says when an event is selected"
        ))),
    }
}

/// Where later steps lie.
fn direction(options: &Options) -> Direction {
    match options.direction {
        Some(DirectionName::Down) => Direction::Down,
        Some(DirectionName::Right) => Direction::Right,
        None if options.form == Form::Text => Direction::Down,
        None => Direction::Right,
    }
}

fn drawn(options: &Options, layout: &Layout) -> Result<(), Failure> {
    let direction = direction(options);
    if options.form != Form::Text {
        return print_file(&layout.to_svg(direction));
    }
    let columns = options.width.map_or_else(width, usize::from);
    let mut text = layout.to_text_within(direction, Margin::Place, columns);
    if let (Some(rows), Direction::Down) = (options.paginate, direction) {
        text = paginated(&text, rows.into());
    }
    if options.width.is_some() { print_file(&text) } else { print(&text) }
}

/// The same with its first line again behind so many lines.
fn paginated(text: &str, rows: usize) -> String {
    let (head, body) = text.split_once('\n').unwrap_or((text, ""));
    let lines: Vec<&str> = body.lines().collect();
    let page = |lines: &[&str]| format!("{head}\n{}\n", lines.join("\n"));
    lines.chunks(rows).map(page).collect::<Vec<_>>().join("\n")
}

/// Units with up to six digits after the point, as ticks.
fn ticks(text: &str) -> Result<u64, String> {
    parse_units(text).map_err(|_| format!("`{text}` is no time; write units, as in 12 or 12.5"))
}

/// `5..200`, either end of which may be missing.
fn events(text: &str) -> Result<RangeInclusive<u64>, String> {
    let fault = || format!("`{text}` names no events; write 1..200, 5000.. or ..100");
    let (first, last) = text.split_once("..").ok_or_else(fault)?;
    let end = |end: &str, otherwise| match end {
        "" => Ok(otherwise),
        end => end.parse().map_err(|_| fault()),
    };
    let (first, last) = (end(first, 1)?, end(last, u64::MAX)?);
    if first == 0 || first > last { Err(fault()) } else { Ok(first..=last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_units_with_a_point() {
        assert_eq!(ticks("12"), Ok(12_000_000));
        assert_eq!(ticks("0.25"), Ok(250_000));
        for wrong in ["", ".5", "-1", "1e3", "1.2345678", "99999999999999999999"] {
            assert!(ticks(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_page_begins_with_the_names() {
        assert_eq!(paginated("  P1\n1 ●\n2 ●\n3 ●\n", 2), "  P1\n1 ●\n2 ●\n\n  P1\n3 ●\n");
    }

    #[test]
    fn events_are_counted_from_1_and_ends_may_be_missing() {
        assert_eq!(events("5..200"), Ok(5..=200));
        assert_eq!(events("5.."), Ok(5..=u64::MAX));
        assert_eq!(events("..7"), Ok(1..=7));
        for wrong in ["", "5", "0..3", "7..5", "a..b"] {
            assert!(events(wrong).is_err(), "{wrong}");
        }
    }
}
