//! Golden stories, performed on the real protocols.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tenure_core::{Group, ProcessId, Protocol};
use tenure_sim::{Settings, Simulation, UserCommand, UserEvent};
use tenure_trace::diagram::{Direction, Margin, View, lay_out};
use tenure_trace::{Course, Reader, Record, Script, Spoken, perform};

use super::{Made, Observable};
use crate::cmd::failure::Failure;

/// Performs a script on `P`. The data is that of a run of `tenure simulate` with the same course,
/// and `told`: the lines of the story, block by block.
pub(crate) fn story<P>(
    algorithm: &str,
    script: &str,
    config: impl Fn(Group) -> P::Config,
) -> Result<Made, Failure>
where
    P: Protocol,
    P::Command: UserCommand + Spoken,
    P::Event: UserEvent,
{
    let script: Script = script.parse().map_err(Failure::violated)?;
    let told = perform::<P>(&script, &config).map_err(Failure::violated)?;
    let told: Vec<Vec<&str>> = told
        .iter()
        .zip(&script.blocks)
        .filter(|(_, block)| block.actions().next().is_some())
        .map(|(told, _)| told.lines().collect())
        .collect();
    let course = Course::of_script::<P>(&script, &config).map_err(Failure::violated)?;
    let course = course.last().ok_or_else(|| Failure::violated("the story has no group"))?;
    let page = Page::default();
    let group = Group::new(ProcessId(0), course.size);
    let simulation = Simulation::<P>::new(config(group), Settings::new(course.size));
    let report = simulation.named(algorithm.to_owned()).follow(course, page.clone());
    let mut data =
        serde_json::to_value(report.map_err(Failure::violated)?).map_err(Failure::environment)?;
    let sends = |lines: &Vec<&str>| lines.iter().filter(|it| it.starts_with("  sends ")).count();
    let sent: Vec<usize> = told.iter().map(sends).collect();
    if let Value::Object(fields) = &mut data {
        fields.insert("sent".to_owned(), json!(sent));
        fields.insert("told".to_owned(), json!(told));
    }
    Ok(Made { data, picture: Some(page.drawn()?) })
}

/// A configuration that is the same for everybody.
pub(crate) fn same_for_all<C: Clone>(config: C) -> impl Fn(Group) -> C {
    move |_| config.clone()
}

/// What a script that looks at a process sees in a field of its state, in this block.
pub(crate) fn looked(block: usize, at: &str, field: &str) -> Observable {
    let (head, field) = (format!("{at} is "), format!("{field}: "));
    Observable::found(move |data| {
        let mut told =
            data["told"][block].as_array().into_iter().flatten().filter_map(Value::as_str);
        let line = told.rfind(|line| line.starts_with(&head));
        line.and_then(|line| line.split_once(&field)).map(|(_, rest)| value_at_front(rest))
    })
}

/// The value that a text begins with, whose brackets are closed.
fn value_at_front(text: &str) -> String {
    let mut open = 0_i32;
    let ends = |letter: char| {
        open += match letter {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        open < 0 || open == 0 && letter == ','
    };
    text.split(ends).next().unwrap_or_default().trim().to_owned()
}

/// A script in which two processes have changed places.
pub(crate) fn swapped(script: &str, one: &str, other: &str) -> String {
    script.replace(one, "\u{0}").replace(other, one).replace('\u{0}', other)
}

/// A file in memory that outlives its writer.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn drawn(&self) -> Result<String, Failure> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = Reader::new(bytes.as_slice(), "story").map_err(Failure::violated)?;
        let header = reader.header().clone();
        let records: Result<Vec<Record>, _> = reader.by_ref().collect();
        let records = records.map_err(Failure::violated)?;
        let layout = lay_out(&header, &records, View::default());
        Ok(layout.to_text(Direction::Down, Margin::Place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_its_brackets_are_closed() {
        let cases = [
            ("[(15, P2)] })", "[(15, P2)]"),
            ("[], clock: 3", "[]"),
            (
                "Waiting { request: (1, P1), awaited: {P3} }, requests: []",
                "Waiting { request: (1, P1), awaited: {P3} }",
            ),
            ("3 }", "3"),
        ];
        for (text, value) in cases {
            assert_eq!(value_at_front(text), value);
        }
    }

    #[test]
    fn who_changes_places_does_so_everywhere() {
        assert_eq!(swapped("enter p1; enter p6", "p1", "p6"), "enter p6; enter p1");
    }
}
