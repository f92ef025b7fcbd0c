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

/// Lines side by side, one figure of each. Broken: what is done under one name is another line.
pub(super) fn side_by_side<'a>(
    rows: impl IntoIterator<Item = Row<'a>>,
    changed: &str,
    line: &str,
) -> Experiment {
    let rows: Vec<Row<'_>> = rows.into_iter().collect();
    assert!(rows.iter().any(|row| row.0 == changed), "there is a row {changed}");
    let lines = rows.iter().map(|(name, done, ..)| (*name, done.clone()));
    let broken = lines.clone().map(|(name, done)| {
        let done = if name == changed { line.to_owned() } else { done };
        (name, done)
    });
    let experiment = Experiment::lines(lines).broken_lines(broken.collect::<Vec<_>>());
    rows.iter().fold(experiment, |experiment, (name, _, pointer, value)| {
        experiment.is(*name, format!("/{name}{pointer}"), value.clone())
    })
}

/// Checks side by side: the verdict of each.
pub(super) fn verdicts(rows: &[(&str, &str, &str)], changed: &str, line: &str) -> Experiment {
    let rows = rows.iter().map(|(name, done, verdict)| {
        (*name, format!("check {done}"), "/verdict", Value::from(*verdict))
    });
    side_by_side(rows, changed, &format!("check {line}"))
}
