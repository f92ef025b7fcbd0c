//! Results of a check.

use std::path::Path;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use tenure_core::{Judgement, Property};

use crate::explain::description::StepwiseDescription;
use crate::limits::StopReason;
use crate::liveness::Fairness;
use crate::swarm::report::SwarmMemberCoverage;
use tenure_trace::{CreateError, Trace, WriteError, Writer, files};

/// Result of a check.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Number of processes.
    pub size: u32,
    /// Judgement of each property, in the order in which the check selected them.
    pub properties: Vec<(Property, Judgement)>,
    /// Number of distinct states, including the initial states.
    pub states: u64,
    /// Number of successors that the search generated, repetitions included, plus the number of
    /// initial states.
    pub transitions: u64,
    /// Greatest distance of a state from an initial state, in steps. If the search ended early, it
    /// may have found states that are one step farther away. In a depth-first search, this is the
    /// greatest number of steps of a run.
    pub depth: u32,
    /// Greatest number *n* such that the search has judged all runs of at most *n* steps within
    /// [`Self::bounds`]. `None` if no such number is known, for instance after a depth-first search
    /// or a search with a reduction.
    pub fully_explored_depth: Option<u32>,
    /// True if the search used a reduction, and may therefore have explored fewer states. Some
    /// reductions merge states that differ only in a shift of their timestamps or by a symmetry.
    /// Other reductions omit orders of steps.
    pub reduced: bool,
    /// True if the reduction by commuting deliveries was in effect. In some states, the search then
    /// took one delivery alone, because this delivery commutes with all later steps: see
    /// [`Check::reducing_by_commuting_deliveries`](crate::Check::reducing_by_commuting_deliveries).
    pub is_commuting: bool,
    /// Duration of the check, in seconds.
    pub seconds: f64,
    /// One counterexample for each violated property, in the order of [`Self::properties`]. A run
    /// of a breadth-first search to a violating step is a shortest one.
    pub counterexamples: Vec<Counterexample>,
    /// Declared bounds that had an effect on the search.
    pub bounds: ReachedBounds,
    /// True if terms are bounded, and some process had a term above 0 in some state. If false, a
    /// bound on terms has no effect.
    pub has_terms: bool,
    /// Limit that stopped the search, if any.
    pub reached_limit: Option<StopReason>,
    /// Fairness under which liveness was judged. `None` if no liveness property was selected, or if
    /// the search was a swarm search.
    pub fairness: Option<Fairness>,
    /// Probability that the search missed a state because its fingerprint equals that of another
    /// state. 0 if the search stores whole states.
    pub missed_state_probability: f64,
    /// Bypass bound, if the check measured it.
    pub bypass: Option<BypassBound>,
    /// Peak memory of the states, the visited set and the caches, in bytes.
    pub peak_bytes: usize,
    /// Coverage of a swarm search; `None` for an exhaustive search. A swarm search never reports
    /// that a property holds.
    pub swarm: Option<SwarmMemberCoverage>,
}

/// Measured bypass bound of a lock. It is exact unless [`Self::is_lower_bound`] is true.
#[derive(Clone, Debug)]
pub struct BypassBound {
    /// Greatest number of entries by one process during one wait of another process.
    pub max: u32,
    /// True if counting stopped at the cap of the check, or if a limit stopped the check. The true
    /// bound may then be greater than `max`.
    pub is_lower_bound: bool,
    /// A shortest run that reaches the bound.
    pub run: StepwiseDescription,
}

/// Declared bounds that had an effect on a search. A field is `None` if its bound had no effect. A
/// bound has an effect if the search prunes a state, or if a full link drops a message or prevents
/// a duplication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReachedBounds {
    /// Maximum number of messages in flight per link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<usize>,
    /// Highest term of a process. The search did not explore states with higher terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub term_max: Option<u64>,
    /// Maximum ticket of a process. The search did not explore states with higher tickets. This
    /// bound exists only for locks in shared memory whose algorithm sets no bound on tickets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_max: Option<u64>,
}

impl ReachedBounds {
    /// Returns true if none of the bounds had an effect.
    pub fn is_empty(self) -> bool {
        self == ReachedBounds::default()
    }
}

/// A run that violates a property, with an explanation. [`CheckReport::counterexamples`] states
/// when the run is a shortest one.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The violated property.
    pub property: Property,
    /// Kind of the violation.
    pub kind: ViolationKind,
    /// Explanation in one sentence.
    pub explanation: String,
    /// The run in words.
    pub run: StepwiseDescription,
    /// The run as a trace.
    pub trace: Trace,
}

/// Ways in which a run can violate a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// The last step of the run violates the property. If the run has no steps, its initial state
    /// violates the property.
    Step,
    /// After the run, two or more waiting processes can never be served, or no process can ever
    /// enter again.
    Deadlock,
    /// After the run, one waiting process can never be served, or an event that an expression
    /// demands can never happen.
    Blocked,
    /// The last steps of the run can repeat forever: a process then waits forever, or an event that
    /// an expression demands never happens. Other steps would serve the process or cause the event,
    /// or lead to states that the search did not explore.
    Starvation,
    /// The last steps of the run can repeat forever. During these steps, processes wait and no
    /// process enters. Other steps would let a process enter, or lead to states that the search did
    /// not explore.
    Livelock,
    /// The run may end in its last state, or stay in this state forever. The property permits
    /// neither.
    End,
}

impl ViolationKind {
    /// Returns the name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ViolationKind::Step => "step",
            ViolationKind::Deadlock => "deadlock",
            ViolationKind::Blocked => "blocked",
            ViolationKind::Starvation => "starvation",
            ViolationKind::Livelock => "livelock",
            ViolationKind::End => "end",
        }
    }
}

impl Counterexample {
    /// Returns the number of steps. Steps in which only time passes, and ends of steps that take
    /// time, do not count.
    pub fn step_count(&self) -> usize {
        self.run.step_count()
    }

    /// Returns the input of each counted step in words: see [`StepwiseDescription::step_inputs`].
    pub fn step_inputs(&self) -> Vec<String> {
        self.run.step_inputs()
    }

    /// Writes the run as a trace.
    ///
    /// # Errors
    ///
    /// Returns a [`TraceSaveError`]. After an error, the file may exist and contain a part of the
    /// trace.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), TraceSaveError> {
        save_trace(&self.trace, path)
    }
}

/// Returns the judgement of a property. A limit makes the judgement incomplete, unless a violation
/// was found.
pub(crate) fn judgement(is_violated: bool, limit: Option<StopReason>) -> Judgement {
    match limit {
        _ if is_violated => Judgement::Violated,
        Some(_) => Judgement::Incomplete,
        None => Judgement::Holds,
    }
}

pub(crate) fn save_trace(trace: &Trace, path: impl AsRef<Path>) -> Result<(), TraceSaveError> {
    let path = path.as_ref();
    let failed = |error| CreateError { path: path.into(), error };
    let file = files::create(path).map_err(failed)?;
    let mut writer = Writer::new(file, &trace.header)?;
    for record in &trace.records {
        writer.write(record.clone())?;
    }
    Ok(writer.flush()?)
}

/// Error while saving a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceSaveError {
    /// The file could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl CheckReport {
    /// Returns the overall judgement: violated if any property is violated, or else incomplete if
    /// any is incomplete, or else `holds`. If the report has no properties or has a bypass bound,
    /// it is also incomplete after a swarm search, and if a limit stopped the check.
    pub fn judgement(&self) -> Judgement {
        let any = |wanted| self.properties.iter().any(|(_, judgement)| *judgement == wanted);
        if any(Judgement::Violated) {
            Judgement::Violated
        } else if any(Judgement::Incomplete)
            || (self.properties.is_empty() || self.bypass.is_some())
                && (self.reached_limit.is_some() || self.swarm.is_some())
        {
            Judgement::Incomplete
        } else {
            Judgement::Holds
        }
    }

    /// Combines this report with the report of another check of the same group. The numbers of
    /// states and transitions and the durations are added up. The properties of `other` come after
    /// the properties of this report. For the limit, the fairness, the bounds and the bypass, the
    /// values of this report take precedence.
    #[must_use]
    pub fn combined_with(mut self, other: CheckReport) -> Self {
        self.properties.extend(other.properties);
        self.counterexamples.extend(other.counterexamples);
        self.states += other.states;
        self.transitions += other.transitions;
        self.depth = self.depth.max(other.depth);
        self.fully_explored_depth = match (self.reached_limit, other.reached_limit) {
            (Some(_), Some(_)) => {
                let depths = self.fully_explored_depth.zip(other.fully_explored_depth);
                depths.map(|(one, other)| one.min(other))
            }
            (None, Some(_)) => other.fully_explored_depth,
            (_, None) => self.fully_explored_depth,
        };
        self.reduced |= other.reduced;
        self.is_commuting |= other.is_commuting;
        self.seconds += other.seconds;
        self.bounds.in_flight = self.bounds.in_flight.or(other.bounds.in_flight);
        self.bounds.term_max = self.bounds.term_max.or(other.bounds.term_max);
        self.bounds.ticket_max = self.bounds.ticket_max.or(other.bounds.ticket_max);
        self.has_terms |= other.has_terms;
        self.reached_limit = self.reached_limit.or(other.reached_limit);
        self.fairness = self.fairness.or(other.fairness);
        self.missed_state_probability += other.missed_state_probability;
        self.bypass = self.bypass.or(other.bypass);
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.swarm = self.swarm.or(other.swarm);
        self
    }

    /// Returns true if every property holds.
    pub fn holds(&self) -> bool {
        self.judgement() == Judgement::Holds
    }

    /// Returns the judgement of the property with this name.
    ///
    /// # Panics
    ///
    /// Panics if the property was not selected.
    pub fn judgement_of(&self, property: &str) -> Judgement {
        let found = self.properties.iter().find(|(selected, _)| selected.name() == property);
        found.unwrap_or_else(|| panic!("property {property} was not selected")).1
    }

    /// Returns the counterexample to the property with this name, if it is violated.
    pub fn counterexample(&self, property: &str) -> Option<&Counterexample> {
        self.counterexamples.iter().find(|found| found.property.name() == property)
    }

    /// Returns the shortest counterexample. `None` if no property is violated.
    pub fn shortest_counterexample(&self) -> Option<&Counterexample> {
        self.counterexamples.iter().min_by_key(|found| found.step_count())
    }

    /// Asserts that every property holds. For use in tests.
    ///
    /// # Panics
    ///
    /// Panics if a property is violated or undecided. The message of the panic is this report.
    pub fn assert_holds(&self) {
        assert!(self.holds(), "{self}");
    }

    /// Returns the peak memory per state, in bytes.
    pub fn bytes_per_state(&self) -> f64 {
        self.peak_bytes as f64 / self.states.max(1) as f64
    }
}

/// Judgements of properties, serialized as a map.
pub(crate) struct SerializedJudgements<'a>(pub(crate) &'a [(Property, Judgement)]);

impl Serialize for SerializedJudgements<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().copied())
    }
}

impl Serialize for Counterexample {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Counterexample", 3)?;
        fields.serialize_field("property", &self.property)?;
        fields.serialize_field("length", &self.step_count())?;
        fields.serialize_field("steps", &self.step_inputs())?;
        fields.end()
    }
}

impl Serialize for CheckReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Report", 15)?;
        fields.serialize_field("algorithm", &self.algorithm)?;
        fields.serialize_field("n", &self.size)?;
        fields.serialize_field("verdict", &self.judgement())?;
        fields.serialize_field("properties", &SerializedJudgements(&self.properties))?;
        if let Some(fairness) = self.fairness {
            fields.serialize_field("fairness", fairness.name())?;
        }
        fields.serialize_field("states", &self.states)?;
        fields.serialize_field("transitions", &self.transitions)?;
        fields.serialize_field("depth", &self.depth)?;
        fields.serialize_field("reduction", if self.reduced { "auto" } else { "none" })?;
        fields.serialize_field("seconds", &((self.seconds * 1000.0).round() / 1000.0))?;
        if !self.bounds.is_empty() {
            fields.serialize_field("bounds", &self.bounds)?;
        }
        if let Some(limit) = &self.reached_limit {
            fields.serialize_field("limit", limit)?;
        }
        if let Some(bypass) = &self.bypass {
            fields.serialize_field("bypass_max", &bypass.max)?;
        }
        if let Some(swarm) = &self.swarm {
            fields.serialize_field("swarm", swarm)?;
        }
        fields.serialize_field("counterexample", &self.shortest_counterexample())?;
        fields.serialize_field("counterexamples", &self.counterexamples)?;
        fields.end()
    }
}
