//! The table of the comparison, in Markdown.

use std::fmt::Write;
use std::time::Duration;

use crate::compared_protocol::Scope;
use crate::measure::Failure;
use crate::race::{Cell, Figures, Tool};

const BEGIN: &str = "<!-- table of the comparison, written by `--readme` -->";

const END: &str = "<!-- end of the table -->";

pub(crate) fn markdown(cells: &[Cell], timeout: Duration) -> String {
    let mut text = "| model | tool | states | verdict | states per CPU second | bytes per state | \
                    time to verdict |\n|---|---|---:|---|---:|---:|---:|\n"
        .to_owned();
    let mut scope = None;
    for cell in cells {
        let new = (cell.model, cell.scope);
        let name = if scope.replace(new) == Some(new) { String::new() } else { scope_name(cell) };
        let figures = match &cell.result {
            Ok(figures) => line(cell.tool, figures),
            Err(Failure::Missing) => "| not installed | | | |".into(),
            Err(Failure::TimedOut) => format!("| none within {} s | | | |", timeout.as_secs()),
            Err(Failure::NotTried) => "| not tried: none in the smaller group | | | |".into(),
            Err(Failure::Failed(reason)) => {
                format!("| failed: {} | | | |", first_line(reason))
            }
        };
        let _ = writeln!(text, "| {name} | {} {figures}", cell.tool.title());
    }
    text
}

fn first_line(reason: &str) -> String {
    reason.lines().next().unwrap_or_default().replace('|', "/")
}

fn scope_name(cell: &Cell) -> String {
    let Cell { model, scope: Scope { size, times, is_mistaken }, .. } = cell;
    if *is_mistaken {
        return format!("{} without ties, n = {size} (control)", model.title());
    }
    match (model.is_lock(), times) {
        (true, 1) => format!("{}, n = {size}, 1 entry each", model.title()),
        (true, _) => format!("{}, n = {size}, {times} entries each", model.title()),
        (false, _) => format!("{}, n = {size}", model.title()),
    }
}

fn line(tool: Tool, figures: &Figures) -> String {
    let Figures { count, second, holds, cpu_seconds, wall_seconds, build_seconds, memory } =
        figures;
    let states = match tool {
        Tool::TraceForge => format!("{} (and {} blocked)", grouped(*count), grouped(*second)),
        _ => grouped(*count),
    };
    if !holds {
        return "| – | violated | – | – | – |".into();
    }
    let verdict = "holds";
    let rate = grouped((*count as f64 / cpu_seconds) as u64);
    let bytes =
        memory.map_or_else(|| "–".into(), |bytes| grouped((bytes / *count as f64).round() as u64));
    let mut time = format!("{wall_seconds:.2} s");
    if *build_seconds > 0.0 {
        let _ = write!(time, " + {build_seconds:.1} s to build");
    }
    format!("| {states} | {verdict} | {rate} | {bytes} | {time} |")
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Replaces the table between two marks in a file.
///
/// # Panics
///
/// If the file cannot be read or written, or does not contain the marks.
pub(crate) fn write(path: &str, table: &str) {
    let text = std::fs::read_to_string(path).expect("the file is read");
    let (before, rest) = text.split_once(BEGIN).expect("the mark before the table");
    let (_, after) = rest.split_once(END).expect("the mark after the table");
    let text = format!("{before}{BEGIN}\n\n{table}\n{END}{after}");
    std::fs::write(path, text).expect("the file is written");
}
