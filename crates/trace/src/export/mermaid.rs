//! Export of traces to sequence diagrams of [Mermaid](https://mermaid.js.org), which many web pages
//! render.

use std::collections::BTreeMap;
use std::fmt::Write;

use tenure_core::ProcessId;

use crate::diagram::{DiagramLayout, DiagramOptions, ProcessCondition, StepCause, lay_out};
use crate::format::{Header, Record};

/// Renders the records of one run as a sequence diagram. A message appears at its arrival or loss.
/// A critical section is an activation. Notes describe the other events of a step, such as
/// commands, entries and crashes.
pub fn to_mermaid<'r>(header: &Header, records: impl IntoIterator<Item = &'r Record>) -> String {
    let layout = lay_out(header, records, DiagramOptions::default());
    let mut text = "sequenceDiagram\n".to_owned();
    for number in 1..=header.n {
        let _ = writeln!(text, "    participant P{number}");
    }
    let mut bars: BTreeMap<usize, Vec<(bool, ProcessId)>> = BTreeMap::new();
    for span in layout.spans.iter().filter(|span| span.condition == ProcessCondition::Inside) {
        for (step, begins) in [(span.from, true), (span.until, false)] {
            let Some(step) = step else { continue };
            bars.entry(step).or_default().push((begins, span.at));
        }
    }
    for place in 0..layout.steps.len() {
        step(&mut text, &layout, place, bars.get(&place).map_or(&[], Vec::as_slice));
    }
    text
}

fn step(text: &mut String, layout: &DiagramLayout, place: usize, bars: &[(bool, ProcessId)]) {
    let step = &layout.steps[place];
    match (&step.cause, step.received) {
        (StepCause::Loses(arrow), _) => message(text, layout, *arrow, "-x", ""),
        (StepCause::Duplicates(arrow), _) => message(text, layout, *arrow, "-x", " (twice)"),
        (_, Some(arrow)) => message(text, layout, arrow, "->>", ""),
        _ => {}
    }
    for (_, at) in bars.iter().filter(|(begins, _)| !begins) {
        let _ = writeln!(text, "    deactivate {at}");
    }
    let all_lanes = format!("P1,P{}", layout.header.n);
    let description = match (&step.cause, step.at) {
        (StepCause::Network(description) | StepCause::Note(description), None) => {
            let _ = writeln!(text, "    Note over {all_lanes}: {}", plain(description));
            return;
        }
        _ => layout.step_description(step),
    };
    if let Some(at) = step.at.filter(|_| !description.is_empty()) {
        let _ = writeln!(text, "    Note over {at}: {}", plain(&description));
    }
    for (_, at) in bars.iter().filter(|(begins, _)| *begins) {
        let _ = writeln!(text, "    activate {at}");
    }
}

fn message(text: &mut String, layout: &DiagramLayout, index: usize, sign: &str, more: &str) {
    let arrow = &layout.arrows[index];
    let (from, to, description) = (arrow.from, arrow.to, plain(&arrow.label()));
    let _ = writeln!(text, "    {from}{sign}{to}: {description}{more}");
}

fn plain(description: &str) -> String {
    description.replace([';', '#'], " ")
}
