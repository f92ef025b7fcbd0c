use tenure_core::{ProcessId, Property};

/// What a run says of a property. It never *proves* one: other seeds may say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Not violated in this run.
    Holds,
    /// Violated in this run.
    Violated,
    /// The run was stopped before it was decided.
    Incomplete,
}

impl Verdict {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Incomplete => "incomplete",
        }
    }
}

/// The verdict on one property, with the first violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The property.
    pub property: Property,
    /// The verdict.
    pub verdict: Verdict,
    /// The first violation.
    pub violation: Option<FirstViolation>,
}

/// Where and when a property was first violated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstViolation {
    /// At which tick.
    pub time: u64,
    /// Where the last straw fell.
    pub at: ProcessId,
    /// What happened, in a sentence.
    pub says: String,
}

impl Finding {
    pub(crate) fn violated(property: Property, time: u64, at: ProcessId, says: String) -> Self {
        let violation = Some(FirstViolation { time, at, says });
        Finding { property, verdict: Verdict::Violated, violation }
    }

    pub(crate) const fn undisputed(property: Property, verdict: Verdict) -> Self {
        Finding { property, verdict, violation: None }
    }
}
