//! Comparison of two runs.

use serde::Serialize;

use crate::alignment::{AlignedItem, Alignment, align};
use crate::format::{Record, RecordKind};

/// Events of two runs, aligned. A common event appears once. An event that only one run contains
/// appears at its place in that run.
///
/// Two events are equal if their descriptions are equal, even if their times differ. Records of
/// states are not events, and are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceDiff {
    /// Number of common events before the first event that only one run contains.
    pub same_until: usize,
    /// Number of events that both runs have in common.
    pub both: usize,
    /// True if the runs are so long and differ so much that the comparison may have missed common
    /// events.
    pub is_approximate: bool,
    /// Events of both runs in one order. An event that both runs have in common appears once.
    pub events: Vec<AlignedEvent>,
}

/// An event of two aligned runs. The event occurs in one of the runs or in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlignedEvent {
    /// Run or runs in which the event occurs.
    pub run: DiffSide,
    /// Description of the event.
    pub description: String,
}

/// The run or runs in which an event occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiffSide {
    /// The event occurs in both runs.
    Both,
    /// The event occurs in the first run only.
    First,
    /// The event occurs in the second run only.
    Second,
}

impl TraceDiff {
    /// Aligns the records of two runs.
    pub fn between(first: &[Record], second: &[Record]) -> Self {
        let words = |records: &[Record]| -> Vec<String> {
            let shown = records.iter().filter(|it| !matches!(it.kind, RecordKind::State(_)));
            shown.map(Record::describe).collect()
        };
        let (first, second) = (words(first), words(second));
        let event = |place| {
            let (run, description) = match place {
                AlignedItem::Both(at, _) => (DiffSide::Both, &first[at]),
                AlignedItem::First(at) => (DiffSide::First, &first[at]),
                AlignedItem::Second(at) => (DiffSide::Second, &second[at]),
            };
            AlignedEvent { run, description: description.clone() }
        };
        let Alignment { items, is_approximate } = align(&first, &second);
        let events: Vec<AlignedEvent> = items.into_iter().map(event).collect();
        let is_in_both = |event: &&AlignedEvent| event.run == DiffSide::Both;
        TraceDiff {
            same_until: events.iter().take_while(is_in_both).count(),
            both: events.iter().filter(is_in_both).count(),
            is_approximate,
            events,
        }
    }

    /// Returns the number of events that occur only in the given run. If `membership` is
    /// [`DiffSide::Both`], returns the number of common events.
    pub fn event_count(&self, membership: DiffSide) -> usize {
        self.events.iter().filter(|event| event.run == membership).count()
    }
}
