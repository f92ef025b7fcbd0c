//! What a picture is to show.

use std::ops::RangeInclusive;

/// What a picture is to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What the steps are placed by.
    pub scale: Scale,
    /// The clock that is written at each step.
    pub clock: Clock,
    /// Which part of the trace.
    pub window: Window,
    /// The fields of what messages say that are written beside their names: `stamp`, `rank`.
    pub fields: Vec<String>,
}

/// What the steps are placed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// By when they happened. Distances grow with time, but steps of one process keep a least
    /// distance, and long pauses are cut short; the axis says the times.
    #[default]
    Time,
    /// By the length of the longest chain of steps, each of which happened before the next.
    Causal,
}

/// The clock that is written at each step. A step is one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// None.
    #[default]
    None,
    /// Lamport's.
    Lamport,
    /// A vector clock.
    Vector,
}

/// Where later steps lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Below earlier ones.
    Down,
    /// To the right of earlier ones.
    Right,
}

/// What is written at the head of each row of a diagram in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// The number of the step.
    Number,
    /// Its place on the scale: its time or its rank.
    Place,
}

/// Which part of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// From this time on, in ticks since the beginning of the trace.
    pub from: Option<u64>,
    /// Up to this time, in ticks since the beginning of the trace.
    pub to: Option<u64>,
    /// Only the records with these numbers, the first being 1.
    pub events: Option<RangeInclusive<u64>>,
    /// No more than so many records.
    pub most: Option<u64>,
}

impl Window {
    /// Whether a record lies in the window; `kept` records before it did.
    pub(super) fn shows(&self, number: u64, since_start: u64, kept: u64) -> bool {
        self.from.is_none_or(|from| since_start >= from)
            && self.to.is_none_or(|to| since_start <= to)
            && self.events.as_ref().is_none_or(|events| events.contains(&number))
            && self.most.is_none_or(|most| kept < most)
    }
}
