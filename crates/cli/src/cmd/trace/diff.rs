//! `tenure trace diff`: compares two runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tenure_trace::{
    AlignedEvent, DiffSide, MergedTrace, RecordSubject, TraceDiff, merge_files_for_verification,
};

use super::{check_process, parse_process, warn_torn_or_empty};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{Format, line_width, print, print_json, print_unwrapped, wrap};

/// Number of common events that are shown before and after each difference between two runs.
const CONTEXT_EVENTS: usize = 3;

/// Compare two runs side by side: the first difference, and events of one run only
///
/// Events are equal if their descriptions are equal, regardless of time. If the runs are long and
/// differ much, the result says that it is approximate. For a run with several
/// trace files, give their directory, for example the directory of `tenure run --dir`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Trace of the first run, or a directory of traces
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// Trace of the second run, or a directory of traces
    #[arg(value_name = "SECOND")]
    second: PathBuf,
    /// Only events of these processes
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_process)]
    process: Vec<RecordSubject>,
    /// Output format
    #[arg(long = "as", value_enum, default_value_t, conflicts_with = "format")]
    form: Form,
    /// Output format of the data
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Two columns of text
    #[default]
    Text,
    /// HTML page in one file, with long common parts folded
    Html,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let [first, second] = [&options.first, &options.second].map(|path| -> Result<_, Failure> {
        let mut merged = of(path)?;
        let wanted = |subject: &RecordSubject| {
            options.process.is_empty() || options.process.contains(subject)
        };
        merged.records.retain(|record| wanted(&record.process));
        Ok(merged)
    });
    let (first, second) = (first?, second?);
    let most = first.header.n.max(second.header.n);
    options.process.iter().try_for_each(|subject| check_process(*subject, most))?;
    let contrast = TraceDiff::between(&first.records, &second.records);
    let names = [&options.first, &options.second].map(|path| path.display().to_string());
    match (options.format, options.form) {
        (Format::Json, _) => print_json(&contrast)?,
        (_, Form::Html) => print_unwrapped(&contrast.to_html([&names[0], &names[1]]))?,
        (_, Form::Text) => print(&text(&contrast, &names, line_width()))?,
    }
    Ok(Status::Success)
}

/// Reads a run. `path` is a trace file, or a directory with the traces of one run.
fn of(path: &Path) -> Result<MergedTrace, Failure> {
    let merged = merged(path)?;
    warn_torn_or_empty(&merged.torn, &merged.empty);
    Ok(merged)
}

fn merged(path: &Path) -> Result<MergedTrace, Failure> {
    if !path.is_dir() {
        return merge_files_for_verification([path]).map_err(Failure::usage);
    }
    let files = fs::read_dir(path)
        .and_then(|files| files.map(|file| file.map(|file| file.path())).collect());
    let mut files: Vec<PathBuf> = files.map_err(|error: io::Error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()))
    })?;
    files.retain(|file| file.extension().is_some_and(|it| it == "ndjson"));
    files.sort();
    if files.is_empty() {
        return Err(Failure::usage(format!("no traces (*.ndjson) in {}", path.display())));
    }
    merge_files_for_verification(&files).map_err(Failure::usage)
}

/// Formats the events of two runs side by side. Long parts that are common to both runs are
/// shortened.
fn text(contrast: &TraceDiff, names: &[String; 2], width: usize) -> String {
    let column = (width - 3) / 2;
    let mut text = String::new();
    let mut row = |first: &str, sign: &str, second: &str| {
        let [first, second] = [first, second].map(|message| wrap(message, column));
        for line in 0..first.len().max(second.len()) {
            let part = |lines: &[String]| lines.get(line).cloned().unwrap_or_default();
            let sign = if line == 0 { sign } else { " " };
            let line = format!("{:<column$} {sign} {}", part(&first), part(&second));
            text.push_str(line.trim_end());
            text.push('\n');
        }
    };
    row(&names[0], " ", &names[1]);
    row("", " ", "");
    for part in contrast.events.chunk_by(|one, next| is_same(one) == is_same(next)) {
        if is_same(&part[0]) {
            add_common(part, &contrast.events, &mut row);
        } else {
            add_different(part, &mut row);
        }
    }
    text.push('\n');
    text.push_str(&contrast.summary());
    text.push('\n');
    text
}

fn is_same(event: &AlignedEvent) -> bool {
    event.run == DiffSide::Both
}

/// Adds rows for events that occur in both runs. Shows the events near a difference, and counts the
/// other events.
fn add_common(part: &[AlignedEvent], all: &[AlignedEvent], row: &mut impl FnMut(&str, &str, &str)) {
    let begins = part.as_ptr_range().start == all.as_ptr_range().start;
    let ends = part.as_ptr_range().end == all.as_ptr_range().end;
    let head = if begins { 0 } else { CONTEXT_EVENTS };
    let tail = if ends { 0 } else { CONTEXT_EVENTS };
    for (place, event) in part.iter().enumerate() {
        let left = part.len() - place;
        if place < head || left <= tail || part.len() <= head + tail + 1 {
            row(&event.description, " ", &event.description);
        } else if place == head {
            let more = format!("… {} events in both", part.len() - head - tail);
            row(&more, " ", &more);
        }
    }
}

fn add_different(part: &[AlignedEvent], row: &mut impl FnMut(&str, &str, &str)) {
    let of = |run: DiffSide| -> Vec<&str> {
        part.iter().filter(|event| event.run == run).map(|event| &*event.description).collect()
    };
    let (first, second) = (of(DiffSide::First), of(DiffSide::Second));
    for place in 0..first.len().max(second.len()) {
        match (first.get(place), second.get(place)) {
            (Some(first), Some(second)) => row(first, "|", second),
            (Some(first), None) => row(first, "<", ""),
            (None, Some(second)) => row("", ">", second),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(events: &[(DiffSide, &str)]) -> TraceDiff {
        let event = |(run, message): &(DiffSide, &str)| AlignedEvent {
            run: *run,
            description: (*message).to_owned(),
        };
        let events: Vec<AlignedEvent> = events.iter().map(event).collect();
        let both = events.iter().filter(|event| is_same(event)).count();
        let same_until = events.iter().take_while(|it| is_same(it)).count();
        TraceDiff { same_until, both, is_approximate: false, events }
    }

    #[test]
    fn differences_are_aligned_and_common_parts_abbreviated() {
        let mut events = vec![(DiffSide::Both, "P1 boots"); 9];
        events.extend([
            (DiffSide::First, "P1 asks"),
            (DiffSide::Second, "P2 asks"),
            (DiffSide::Second, "P2"),
        ]);
        let names = ["a", "b"].map(str::to_owned);
        let text = text(&contrast(&events), &names, 60);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].contains("… 6 events in both"), "{text}");
        assert_eq!(lines[6], format!("{:<28} | P2 asks", "P1 asks"));
        assert_eq!(lines[7], format!("{:<28} > P2", ""));
        assert!(text.contains("The first 9 events are the same."), "{text}");
        let common = super::text(&contrast(&events[..9]), &names, 60);
        assert!(common.ends_with("The same happens in both, 9 events.\n"), "{common}");
    }
}
