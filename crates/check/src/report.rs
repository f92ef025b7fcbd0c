//! What a check found.

use std::path::Path;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use tenure_core::{Judgement, Property};

use crate::limits::Limit;
use crate::tell::story::Story;
use tenure_trace::{CreateError, Trace, WriteError, Writer};

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the algorithm.
    pub algorithm: String,
    /// How many processes.
    pub size: u32,
    /// What is known of each property, in the order in which they were asked for.
    pub properties: Vec<(Property, Judgement)>,
    /// Different worlds seen, the first included.
    pub states: u64,
    /// Successors generated, and the first world.
    pub transitions: u64,
    /// The length of the longest run without a detour.
    pub depth: u32,
    /// Whether states were brought into a canonical form.
    pub reduced: bool,
    /// How long it took.
    pub seconds: f64,
    /// One shortest counterexample for each violated property.
    pub counterexamples: Vec<Counterexample>,
    /// The declared bounds that cut something off.
    pub bounds: Bounds,
    /// Whether any process was ever in a term: where none is, no bound on terms cuts anything.
    pub has_terms: bool,
    /// The limit that cut the search, if one did.
    pub limit: Option<Limit>,
    /// The probability that a world was missed because it was taken for another; 0 in exact
    /// mode.
    pub missed: f64,
    /// The most entries of one process during one wait of another, where it was measured.
    pub bypass: Option<Bypassing>,
    /// The most memory that worlds, visited set and caches took.
    pub bytes: usize,
}

/// The exact bypass bound.
#[derive(Clone, Debug)]
pub struct Bypassing {
    /// The most entries of one process during one wait of another.
    pub most: u32,
    /// Whether counting stopped there: the true bound is at least this.
    pub at_least: bool,
    /// A shortest run that shows it.
    pub story: Story,
}

/// The declared bounds that cut something off; none where nothing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// The most messages on a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<usize>,
    /// The highest term.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub term_max: Option<u64>,
}

impl Bounds {
    /// Whether nothing was cut off.
    pub fn is_empty(self) -> bool {
        self == Bounds::default()
    }
}

/// A shortest run that violates a property.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The property.
    pub property: Property,
    /// How it is violated.
    pub manner: Manner,
    /// What is wrong, in a sentence.
    pub says: String,
    /// The run.
    pub story: Story,
    /// The run as a trace.
    pub trace: Trace,
}

/// How a property is violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Manner {
    /// The last step does what must not be done.
    Step,
    /// From here two or more that wait can never be served.
    Deadlock,
    /// From here one that waits can never be served.
    Blocked,
    /// One can wait for ever although it could be served: the end of the run repeats.
    Starvation,
    /// Processes can wait for ever, and none enters, although one could: the end of the run
    /// repeats.
    Livelock,
    /// The run can end, or go on for ever, in a way that must not last.
    End,
}

impl Manner {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Manner::Step => "step",
            Manner::Deadlock => "deadlock",
            Manner::Blocked => "blocked",
            Manner::Starvation => "starvation",
            Manner::Livelock => "livelock",
            Manner::End => "end",
        }
    }
}

impl Counterexample {
    /// How many steps it takes.
    pub fn length(&self) -> usize {
        self.story.length()
    }

    /// The steps in words.
    pub fn steps(&self) -> Vec<String> {
        self.story.steps()
    }

    /// Writes the run as a trace.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; the file may exist by then, with a part of the trace.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        let mut writer = Writer::create(path, &self.trace.header)?;
        for record in &self.trace.records {
            writer.write(record.clone())?;
        }
        Ok(writer.flush()?)
    }
}

/// A trace could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The file could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Report {
    /// What is known on the whole: violated if anything is, else incomplete if anything is.
    pub fn judgement(&self) -> Judgement {
        let any = |wanted| self.properties.iter().any(|(_, judgement)| *judgement == wanted);
        if any(Judgement::Violated) {
            Judgement::Violated
        } else if any(Judgement::Incomplete) || self.properties.is_empty() && self.limit.is_some() {
            Judgement::Incomplete
        } else {
            Judgement::Holds
        }
    }

    /// This report and another of the same group, whose properties follow these.
    #[must_use]
    pub fn and(mut self, other: Report) -> Self {
        self.properties.extend(other.properties);
        self.counterexamples.extend(other.counterexamples);
        self.states += other.states;
        self.transitions += other.transitions;
        self.depth = self.depth.max(other.depth);
        self.reduced |= other.reduced;
        self.seconds += other.seconds;
        self.bounds.in_flight = self.bounds.in_flight.or(other.bounds.in_flight);
        self.bounds.term_max = self.bounds.term_max.or(other.bounds.term_max);
        self.has_terms |= other.has_terms;
        self.limit = self.limit.or(other.limit);
        self.missed += other.missed;
        self.bypass = self.bypass.or(other.bypass);
        self.bytes = self.bytes.max(other.bytes);
        self
    }

    /// Whether every property holds.
    pub fn holds(&self) -> bool {
        self.judgement() == Judgement::Holds
    }

    /// What is known of one property.
    ///
    /// # Panics
    ///
    /// When it was not asked for.
    pub fn of(&self, property: &str) -> Judgement {
        let found = self.properties.iter().find(|(asked, _)| asked.name() == property);
        found.unwrap_or_else(|| panic!("the property {property} was not asked for")).1
    }

    /// The counterexample to one property, if it is violated.
    pub fn counterexample(&self, property: &str) -> Option<&Counterexample> {
        self.counterexamples.iter().find(|found| found.property.name() == property)
    }

    /// The shortest counterexample of all.
    pub fn shortest(&self) -> Option<&Counterexample> {
        self.counterexamples.iter().min_by_key(|found| found.length())
    }

    /// Fails a test, with the whole story, unless every property holds.
    ///
    /// # Panics
    ///
    /// When a property is violated or undecided.
    pub fn assert_holds(&self) {
        assert!(self.holds(), "{self}");
    }

    /// Memory per world at the peak.
    pub fn bytes_per_state(&self) -> f64 {
        self.bytes as f64 / self.states.max(1) as f64
    }
}

struct Properties<'a>(&'a [(Property, Judgement)]);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().copied())
    }
}

impl Serialize for Counterexample {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Counterexample", 3)?;
        fields.serialize_field("property", &self.property)?;
        fields.serialize_field("length", &self.length())?;
        fields.serialize_field("steps", &self.steps())?;
        fields.end()
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Report", 14)?;
        fields.serialize_field("algorithm", &self.algorithm)?;
        fields.serialize_field("n", &self.size)?;
        fields.serialize_field("verdict", &self.judgement())?;
        fields.serialize_field("properties", &Properties(&self.properties))?;
        if self.properties.iter().any(|(property, _)| property.is_of_liveness()) {
            fields.serialize_field("fairness", "weak")?;
        }
        fields.serialize_field("states", &self.states)?;
        fields.serialize_field("transitions", &self.transitions)?;
        fields.serialize_field("depth", &self.depth)?;
        fields.serialize_field("reduction", if self.reduced { "auto" } else { "none" })?;
        fields.serialize_field("seconds", &((self.seconds * 1000.0).round() / 1000.0))?;
        if !self.bounds.is_empty() {
            fields.serialize_field("bounds", &self.bounds)?;
        }
        if let Some(limit) = &self.limit {
            fields.serialize_field("limit", limit)?;
        }
        if let Some(bypass) = &self.bypass {
            fields.serialize_field("bypass_max", &bypass.most)?;
        }
        fields.serialize_field("counterexample", &self.shortest())?;
        fields.serialize_field("counterexamples", &self.counterexamples)?;
        fields.end()
    }
}
