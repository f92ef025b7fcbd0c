use serde::Serialize;
use tenure_core::Property;

/// What is known of a property when a trace has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Nothing in the trace contradicts it.
    Holds,
    /// Something does.
    Violated,
    /// It is a property of how things end, and the trace does not show the end, or shows it too
    /// soon after something happened.
    Incomplete,
}

impl Judgement {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Judgement::Holds => "holds",
            Judgement::Violated => "violated",
            Judgement::Incomplete => "incomplete",
        }
    }
}

/// The first violation of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violated {
    /// The property.
    pub property: Property,
    /// When, in milliseconds (or virtual units) from the start of the trace.
    pub at: f64,
    /// What happened, in a sentence.
    pub says: String,
    /// Whether the algorithm promises the property, so that this is a failure.
    pub counts: bool,
}
