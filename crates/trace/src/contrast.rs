//! Two runs side by side.

use serde::Serialize;

use crate::alignment::{Place, align};
use crate::format::{Kind, Record};

/// What happened in two runs, beside each other: what happens in both stands once, in the order of
/// both, and what happens in one alone stands where it happens there.
///
/// Things are compared by what they are in words, whenever they happen. What processes hold is no
/// event, and is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contrast {
    /// How many events both runs begin with.
    pub same_until: usize,
    /// How many events happen in both.
    pub both: usize,
    /// Each event.
    pub events: Vec<Contrasted>,
}

/// An event of one run, or of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contrasted {
    /// Where it happens.
    pub run: Run,
    /// What happens, in words.
    pub says: String,
}

/// In which of two runs something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Run {
    /// In both.
    Both,
    /// In the first alone.
    First,
    /// In the second alone.
    Second,
}

impl Contrast {
    /// Of the records of two runs.
    pub fn of(first: &[Record], second: &[Record]) -> Self {
        let words = |records: &[Record]| -> Vec<String> {
            let told = records.iter().filter(|it| !matches!(it.kind, Kind::State(_)));
            told.map(Record::in_words).collect()
        };
        let (first, second) = (words(first), words(second));
        let event = |place| {
            let (run, says) = match place {
                Place::Both(at, _) => (Run::Both, &first[at]),
                Place::First(at) => (Run::First, &first[at]),
                Place::Second(at) => (Run::Second, &second[at]),
            };
            Contrasted { run, says: says.clone() }
        };
        let events: Vec<Contrasted> = align(&first, &second).into_iter().map(event).collect();
        let is_in_both = |event: &&Contrasted| event.run == Run::Both;
        Contrast {
            same_until: events.iter().take_while(is_in_both).count(),
            both: events.iter().filter(is_in_both).count(),
            events,
        }
    }

    /// How many events happen in one of the runs alone.
    pub fn alone(&self, run: Run) -> usize {
        self.events.iter().filter(|event| event.run == run).count()
    }
}
