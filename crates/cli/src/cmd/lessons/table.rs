//! Formats the results of experiments as a table of actions, expected results and observed results.

use std::fmt::Write;

use serde_json::Value;

use crate::cmd::output::{line_width, wrap};
use crate::cmd::rows::format_figure;
use crate::lessons::{CompletedExperiment, ExpectationResult, ExperimentResults};

/// Positions at which the second, third and last column begin, in characters, if the table is 100
/// characters wide.
const COLUMNS: [usize; 3] = [36, 64, 92];

/// Returns the positions of the columns, scaled to the width of the terminal.
fn columns() -> [usize; 3] {
    COLUMNS.map(|column| column * line_width() / 100)
}

pub(super) fn format_results(results: &ExperimentResults) -> String {
    results.0.iter().map(result_table).collect::<Vec<_>>().join("\n")
}

fn result_table(made: &CompletedExperiment) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        writeln!(text, "{}", line.trim_end()).expect("writing to a string succeeds");
    };
    if !made.description.is_empty() {
        wrap(&made.description, line_width()).iter().for_each(|part| line(part));
    }
    for act in &made.acts {
        action_lines(act).iter().for_each(|part| line(part));
    }
    if let Some(picture) = &made.picture {
        line("");
        picture.lines().for_each(&mut line);
        line("");
    }
    line(&cells(["", "expected", "observed", ""]));
    made.findings.iter().for_each(|finding| finding_rows(finding, &mut line));
    text
}

/// Formats an action for the first column of the table, wrapped to several lines. A command line
/// gets a backslash at each line break, so that a reader can copy it into a shell.
fn action_lines(act: &str) -> Vec<String> {
    let (mark, joint) = if act.starts_with("tenure ") { ("$", " \\") } else { ("·", "") };
    // Keeps an option and its value on one line.
    let glued = act.replace(' ', "\u{a0}").replace("\u{a0}--", " --");
    let words = if joint.is_empty() { act } else { glued.as_str() };
    let mut lines = wrap(words, line_width() - 8);
    let last = lines.len() - 1;
    for (place, line) in lines.iter_mut().enumerate() {
        let mark = if place == 0 { mark } else { "   " };
        let joint = if place < last { joint } else { "" };
        *line = format!("  {mark} {}{joint}", line.replace('\u{a0}', " "));
    }
    lines
}

fn finding_rows(finding: &ExpectationResult, line: &mut impl FnMut(&str)) {
    let [first, second, last] = columns();
    let name = wrap(&finding.name, first - 6);
    let expected = wrap(&format_expectation(&finding.expected), second - first - 2);
    let observed = wrap(&format_value(&finding.observed), last - second - 2);
    let height = name.len().max(expected.len()).max(observed.len());
    for row in 0..height {
        let part = |lines: &[String]| lines.get(row).cloned().unwrap_or_default();
        let mark = match (row, finding.holds) {
            (0, true) => "✓",
            (0, false) => "✗",
            _ => "",
        };
        line(&cells([&part(&name), &part(&expected), &part(&observed), mark]));
    }
}

fn cells([name, expected, observed, mark]: [&str; 4]) -> String {
    let [first, second, last] = columns();
    let mut line = format!("    {name}");
    for (column, text) in [(first, expected), (second, observed), (last, mark)] {
        let gap = column.saturating_sub(line.chars().count()).max(1);
        line.push_str(&" ".repeat(gap));
        line.push_str(text);
    }
    line
}

fn format_expectation(expected: &Value) -> String {
    let number = |key: &str| expected.get(key).and_then(Value::as_f64).map(format_figure);
    match (number("at_least"), number("at_most"), expected.get("mentions")) {
        (Some(least), Some(most), _) => format!("{least} … {most}"),
        (Some(least), None, _) => format!("≥ {least}"),
        (None, Some(most), _) => format!("≤ {most}"),
        (None, None, Some(value)) => format!("… {} …", format_value(value)),
        _ => format_value(expected),
    }
}

fn format_value(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => format_figure(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(format_value).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let field = |(name, value)| format!("{name}: {}", format_value(value));
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_values_as_text() {
        assert_eq!(format_value(&json!([3, 2.5])), "3, 2.5");
        assert_eq!(format_value(&json!({"1": null, "2": true})), "1: nothing, 2: yes");
        assert_eq!(format_expectation(&json!({"at_least": 0.0, "at_most": 8.0})), "0 … 8");
        assert_eq!(format_expectation(&json!({"at_most": 8.0})), "≤ 8");
        assert_eq!(format_expectation(&json!({"mentions": "P2"})), "… P2 …");
    }

    #[test]
    fn rows_fit_the_terminal_width() {
        let finding = ExpectationResult {
            name: "something that takes many words to be told in a table".to_owned(),
            expected: json!({ "mentions": "no waiting process is bypassed more than once" }),
            observed: json!((0..40).collect::<Vec<_>>()),
            holds: false,
        };
        let result_table = CompletedExperiment {
            description: String::new(),
            acts: vec![format!("tenure check central{}", " --entries 1".repeat(10))],
            findings: vec![finding],
            picture: None,
        };
        let text = format_results(&ExperimentResults(vec![result_table]));
        assert!(text.lines().all(|line| line.chars().count() <= line_width()), "{text}");
        assert_eq!(text.matches('✗').count(), 1, "{text}");
        assert!(
            text.starts_with("  $ tenure check") && text.contains(" \\\n      --entries"),
            "{text}"
        );
    }
}
