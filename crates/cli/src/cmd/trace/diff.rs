//! `tenure trace diff`: two runs side by side.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tenure_trace::{Contrast, Contrasted, Merged, Run, Who, merge_files};

use super::{is_there, of_input, process, report_torn};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{Format, print, print_file, print_json, width, wrapped};

/// So many events that happen in both runs are shown before and behind one that does not.
const AROUND: usize = 3;

/// Put two runs side by side: where they part, and what happens in one of them alone
///
/// Events are the same when they say the same in words, whenever they happen. A run of several
/// files is the folder that has them, as `tenure run --dir` leaves one.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The trace of a run, or a folder of traces
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// That of the other
    #[arg(value_name = "SECOND")]
    second: PathBuf,
    /// Only what happened to these processes
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = process)]
    process: Vec<Who>,
    /// What to draw
    #[arg(long = "as", value_enum, default_value_t, conflicts_with = "format")]
    form: Form,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Two columns
    #[default]
    Text,
    /// A page in one file, on which long stretches that are the same are folded
    Html,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let [first, second] = [&options.first, &options.second].map(|path| -> Result<_, Failure> {
        let mut merged = of(path)?;
        let wanted = |who: &Who| options.process.is_empty() || options.process.contains(who);
        merged.records.retain(|record| wanted(&record.process));
        Ok(merged)
    });
    let (first, second) = (first?, second?);
    let most = first.header.n.max(second.header.n);
    options.process.iter().try_for_each(|who| is_there(*who, most))?;
    let contrast = Contrast::of(&first.records, &second.records);
    let names = [&options.first, &options.second].map(|path| path.display().to_string());
    match (options.format, options.form) {
        (Format::Json, _) => print_json(&contrast)?,
        (_, Form::Html) => print_file(&contrast.to_html([&names[0], &names[1]]))?,
        (_, Form::Text) => print(&text(&contrast, &names, width()))?,
    }
    Ok(Status::Held)
}

/// The run of a file, or of the traces in a folder.
fn of(path: &Path) -> Result<Merged, Failure> {
    let merged = merged(path)?;
    report_torn(&merged.torn, &merged.empty);
    Ok(merged)
}

fn merged(path: &Path) -> Result<Merged, Failure> {
    if !path.is_dir() {
        return merge_files([path]).map_err(of_input);
    }
    let cannot = |error| Failure::environment(format!("cannot read {}: {error}", path.display()));
    let files = fs::read_dir(path).map_err(cannot)?;
    let files: Result<Vec<PathBuf>, _> = files.map(|file| file.map(|file| file.path())).collect();
    let mut files = files.map_err(cannot)?;
    files.retain(|file| file.extension().is_some_and(|it| it == "ndjson"));
    files.sort();
    if files.is_empty() {
        return Err(Failure::usage(format!("there is no *.ndjson in {}", path.display())));
    }
    merge_files(&files).map_err(of_input)
}

/// Two columns; what is in both for long is told as such.
fn text(contrast: &Contrast, names: &[String; 2], width: usize) -> String {
    let column = (width - 3) / 2;
    let mut text = String::new();
    let mut row = |first: &str, sign: &str, second: &str| {
        let [first, second] = [first, second].map(|says| wrapped(says, column));
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
            same(part, &contrast.events, &mut row);
        } else {
            apart(part, &mut row);
        }
    }
    text.push('\n');
    text.push_str(&contrast.summary());
    text.push('\n');
    text
}

fn is_same(event: &Contrasted) -> bool {
    event.run == Run::Both
}

/// What happens in both: what is near to something that does not, and how much there is else.
fn same(part: &[Contrasted], all: &[Contrasted], row: &mut impl FnMut(&str, &str, &str)) {
    let begins = part.as_ptr_range().start == all.as_ptr_range().start;
    let ends = part.as_ptr_range().end == all.as_ptr_range().end;
    let head = if begins { 0 } else { AROUND };
    let tail = if ends { 0 } else { AROUND };
    for (place, event) in part.iter().enumerate() {
        let left = part.len() - place;
        if place < head || left <= tail || part.len() <= head + tail + 1 {
            row(&event.says, " ", &event.says);
        } else if place == head {
            let more = format!("… {} events in both", part.len() - head - tail);
            row(&more, " ", &more);
        }
    }
}

/// What happens in one alone: that of both runs beside each other.
fn apart(part: &[Contrasted], row: &mut impl FnMut(&str, &str, &str)) {
    let of = |run: Run| -> Vec<&str> {
        part.iter().filter(|event| event.run == run).map(|event| &*event.says).collect()
    };
    let (first, second) = (of(Run::First), of(Run::Second));
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

    fn contrast(events: &[(Run, &str)]) -> Contrast {
        let event = |(run, says): &(Run, &str)| Contrasted { run: *run, says: (*says).to_owned() };
        let events: Vec<Contrasted> = events.iter().map(event).collect();
        let both = events.iter().filter(|event| is_same(event)).count();
        Contrast { same_until: events.iter().take_while(|it| is_same(it)).count(), both, events }
    }

    #[test]
    fn what_differs_stands_beside_each_other_and_what_is_the_same_is_told_in_short() {
        let mut events = vec![(Run::Both, "P1 boots"); 9];
        events.extend([(Run::First, "P1 asks"), (Run::Second, "P2 asks"), (Run::Second, "P2")]);
        let names = ["a", "b"].map(str::to_owned);
        let text = text(&contrast(&events), &names, 60);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].contains("… 6 events in both"), "{text}");
        assert_eq!(lines[6], format!("{:<28} | P2 asks", "P1 asks"));
        assert_eq!(lines[7], format!("{:<28} > P2", ""));
        assert!(text.contains("The first 9 events are the same."), "{text}");
        let same = super::text(&contrast(&events[..9]), &names, 60);
        assert!(same.ends_with("The same happens in both, 9 events.\n"), "{same}");
    }
}
