//! Experiments of the same form: a check and its verdict, and several lines side by side.

use serde_json::Value;

use crate::cmd::experiment::Experiment;

/// A check that finds this property violated in so many steps, and draws how.
pub(super) fn violated(line: &str, property: &str, steps: u64) -> Experiment {
    verdict(line, property, "violated").is("steps", "/counterexample/length", steps).drawn()
}

/// A check in which this property holds, whatever the schedule.
pub(super) fn holds(line: &str, property: &str) -> Experiment {
    verdict(line, property, "holds")
}

/// A check, and what it says of a property.
pub(super) fn verdict(line: &str, property: &str, verdict: &str) -> Experiment {
    Experiment::line(line).is(property, format!("/properties/{property}"), verdict)
}

/// One line of several: its name, what is done, where to look, and what should be there.
pub(super) type Row<'a> = (&'a str, String, &'a str, Value);

/// Lines side by side, one figure of each; a line of several figures is done once. Broken: what is
/// done under one name is another line.
pub(super) fn side_by_side<'a>(
    rows: impl IntoIterator<Item = Row<'a>>,
    changed: &str,
    line: &str,
) -> Experiment {
    let rows: Vec<Row<'_>> = rows.into_iter().collect();
    let mut lines: Vec<(&str, String)> = Vec::new();
    let mut expected = Vec::new();
    for (name, done, pointer, value) in &rows {
        let place = lines.iter().position(|(_, known)| known == done).unwrap_or_else(|| {
            lines.push((*name, done.clone()));
            lines.len() - 1
        });
        expected.push((*name, format!("/{}{pointer}", lines[place].0), value.clone()));
    }
    let row = rows.iter().find(|row| row.0 == changed).expect("what is changed is a row");
    let broken = lines.clone().into_iter().map(|(name, done)| {
        let done = if done == row.1 { line.to_owned() } else { done };
        (name, done)
    });
    let experiment = Experiment::lines(lines.clone()).broken_lines(broken);
    expected.into_iter().fold(experiment, |it, (name, at, value)| it.is(name, at, value))
}

/// Checks side by side: the verdict of each.
pub(super) fn verdicts(rows: &[(&str, &str, &str)], changed: &str, line: &str) -> Experiment {
    let rows = rows.iter().map(|(name, done, verdict)| {
        (*name, format!("check {done}"), "/verdict", Value::from(*verdict))
    });
    side_by_side(rows, changed, &format!("check {line}"))
}
