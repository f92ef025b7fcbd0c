//! Options of a diagram.

use std::ops::RangeInclusive;

/// Options of a diagram: its content, and its scale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiagramOptions {
    /// Scale of the axis.
    pub scale: TimeAxis,
    /// Clock displayed at each step.
    pub clock: DiagramClock,
    /// Part of the trace that the diagram shows.
    pub window: TraceWindow,
    /// Names of message fields that the diagram shows beside the messages, such as `stamp` or
    /// `rank`.
    pub fields: Vec<String>,
}

/// Time axis: real or virtual time, or causal order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeAxis {
    /// Real or virtual time. Steps of one process keep a minimum distance, and long pauses are
    /// shortened. The axis shows the times.
    #[default]
    Time,
    /// Causal scale. The position of a step is its causal rank: the length of the longest causal
    /// chain of steps up to this step.
    Causal,
}

/// Clock that a diagram shows at each step. The clock treats each step as one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiagramClock {
    /// No clock is displayed.
    #[default]
    None,
    /// Lamport's logical clock.
    Lamport,
    /// Vector clock: one number per process.
    Vector,
}

/// Direction of the time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeDirection {
    /// Time runs downwards.
    Down,
    /// Time runs to the right.
    Right,
}

/// Content of the label in the margin of each row of a text diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLabel {
    /// Number of the step, as in [`DiagramStep::number`](super::DiagramStep::number).
    Number,
    /// Position of the step on the [`TimeAxis`]: its time, or its causal rank.
    Place,
}

/// Part of a trace that a diagram shows. Each field is a bound, and `None` means no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceWindow {
    /// First time to show, in ticks or nanoseconds. Virtual time counts from 0, and real time from
    /// the first record.
    pub from: Option<u64>,
    /// Last time to show, counted like `from`.
    pub to: Option<u64>,
    /// Range of record numbers to show, from 1.
    pub record_numbers: Option<RangeInclusive<u64>>,
    /// Maximum number of records in the window. The window ends after this number of records.
    pub max_records: Option<u64>,
}

impl TraceWindow {
    /// Returns true if the window contains a record. `record_number` is the number of the record,
    /// from 1. `since_start` is the time of the record, counted like `from`. `kept_count` is the
    /// number of earlier records in the window.
    pub(super) fn contains_record(
        &self,
        record_number: u64,
        since_start: u64,
        kept_count: u64,
    ) -> bool {
        self.from.is_none_or(|from| since_start >= from)
            && self.to.is_none_or(|to| since_start <= to)
            && self.record_numbers.as_ref().is_none_or(|events| events.contains(&record_number))
            && self.max_records.is_none_or(|most| kept_count < most)
    }
}
