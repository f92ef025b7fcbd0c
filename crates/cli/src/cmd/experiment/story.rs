//! Golden stories, performed on the real protocols.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tenure_core::{Group, ProcessId, Protocol};
use tenure_sim::{Settings, Simulation, UserCommand, UserEvent};
use tenure_trace::diagram::{Direction, Margin, View, lay_out};
use tenure_trace::{Course, Reader, Record, Script, Spoken, perform};

use super::Made;
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
    if let Value::Object(fields) = &mut data {
        fields.insert("told".to_owned(), json!(told));
    }
    Ok(Made { data, picture: Some(page.drawn()?) })
}

/// A configuration that is the same for everybody.
pub(crate) fn same_for_all<C: Clone>(config: C) -> impl Fn(Group) -> C {
    move |_| config.clone()
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
