//! Comparison of two runs.

use serde::Serialize;

use crate::alignment::{Place, align};
use crate::format::{Kind, Record};

/// Events of two runs, aligned. A common event appears once. An event that only one run contains
/// appears at its place in that run.
///
/// Events are compared by their description, not by their time. Records of states are not events,
/// and are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceDiff {
    /// Number of common events before the first difference.
    pub same_until: usize,
    /// Number of events that both runs have in common.
    pub both: usize,
    /// Events of both runs, in aligned order.
    pub events: Vec<AlignedEvent>,
}

/// An event of two aligned runs. It occurs in one of them or in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlignedEvent {
    /// Run in which the event occurs.
    pub run: Run,
    /// Description of the event.
    pub description: String,
}

/// The run or runs in which an event occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Run {
    /// The event occurs in both runs.
    Both,
    /// The event occurs in the first run only.
    First,
    /// The event occurs in the second run only.
    Second,
}

impl TraceDiff {
    /// Aligns the records of two runs.
    pub fn of(first: &[Record], second: &[Record]) -> Self {
        let words = |records: &[Record]| -> Vec<String> {
            let shown = records.iter().filter(|it| !matches!(it.kind, Kind::State(_)));
            shown.map(Record::describe).collect()
        };
        let (first, second) = (words(first), words(second));
        let event = |place| {
            let (run, description) = match place {
                Place::Both(at, _) => (Run::Both, &first[at]),
                Place::First(at) => (Run::First, &first[at]),
                Place::Second(at) => (Run::Second, &second[at]),
            };
            AlignedEvent { run, description: description.clone() }
        };
        let events: Vec<AlignedEvent> = align(&first, &second).into_iter().map(event).collect();
        let is_in_both = |event: &&AlignedEvent| event.run == Run::Both;
        TraceDiff {
            same_until: events.iter().take_while(is_in_both).count(),
            both: events.iter().filter(is_in_both).count(),
            events,
        }
    }

    /// Returns the number of events that occur only in the given run. For [`Run::Both`], returns
    /// the number of common events.
    pub fn alone(&self, run: Run) -> usize {
        self.events.iter().filter(|event| event.run == run).count()
    }
}
