//! Results of a measurement.

use std::fmt;
use std::path::Path;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use tenure_trace::Trace;

use crate::display::{bounds_in_words, render_run};
use crate::explain::description::StepwiseDescription;
use crate::limits::StopReason;
use crate::measure::Measure;
use crate::report::{ReachedBounds, TraceSaveError, save_trace};

/// Extremes of a measure over all schedules.
#[derive(Clone, Debug)]
pub struct MeasureReport {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Number of processes.
    pub size: u32,
    /// Measure whose extremes the report contains.
    pub measure: Measure,
    /// Kind of the messages that were counted; `None` for all kinds.
    pub message_kind: Option<String>,
    /// Greatest value of a run, whether or not the run serves all users. `None` if a limit stopped
    /// the analysis.
    pub maximum: Option<ExtremeRun>,
    /// Least value among the runs that serve all users. `None` if there is no such run, or if a
    /// limit stopped the analysis.
    pub minimum: Option<ExtremeRun>,
    /// Kind of state in which the run with the least value ends. `None` if there is no minimum.
    pub minimum_run_end: Option<FinalStateKind>,
    /// True if the search explored all states, no declared bound had an effect, and the analysis
    /// was not stopped. If false, the true maximum may be greater than reported, and the true
    /// minimum may be less than reported.
    pub is_complete: bool,
    /// Number of distinct states, including the initial states.
    pub states: u64,
    /// Number of successors that the search generated, plus the number of initial states.
    pub transitions: u64,
    /// Duration of the measurement, in seconds.
    pub seconds: f64,
    /// Declared bounds that had an effect on the search.
    pub bounds: ReachedBounds,
    /// Limit that stopped the search or the analysis, if any.
    pub reached_limit: Option<StopReason>,
    /// Probability that the search missed a state because its fingerprint equals that of another
    /// state. 0 if the search stores whole states.
    pub missed_state_probability: f64,
    /// Peak memory of the search, in bytes.
    pub peak_bytes: usize,
}

/// Extreme value of a measure, and a run with this value.
#[derive(Clone, Debug)]
pub struct ExtremeRun {
    /// Value of the measure in this run.
    pub value: MeasureValue,
    /// The run in words.
    pub run: StepwiseDescription,
    /// The run as a trace.
    pub trace: Trace,
}

/// Value of a measure in a run: an exact number, a lower bound, or unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureValue {
    /// The measure has exactly this value.
    Exactly(u32),
    /// Counting stopped at this value, so the true value of the measure may be greater.
    AtLeast(u32),
    /// The measure has no bound. The last steps of the run form a cycle that can repeat forever,
    /// and the measure counts some of these steps.
    Unbounded,
}

/// Kind of the last state of a run that serves all users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalStateKind {
    /// The run ends by itself: in its last state, no step is possible except a fault.
    Quiescent,
    /// In the last state, no user can issue a command and no user waits, but further steps are
    /// possible. The report contains this value only if no run that serves all users ends in a
    /// quiescent state.
    Served,
}

impl MeasureReport {
    /// Returns the maximum, or `None` if it is unbounded or was not determined exactly.
    pub fn exact_maximum(&self) -> Option<u32> {
        self.exact(self.maximum.as_ref())
    }

    /// Returns the minimum, or `None` if there is none or it was not determined exactly.
    pub fn exact_minimum(&self) -> Option<u32> {
        self.exact(self.minimum.as_ref())
    }

    fn exact(&self, extreme: Option<&ExtremeRun>) -> Option<u32> {
        match extreme?.value {
            MeasureValue::Exactly(value) if self.is_complete => Some(value),
            _ => None,
        }
    }

    /// Returns true if the search has shown that the measure has no bound.
    pub fn is_unbounded(&self) -> bool {
        self.maximum.as_ref().is_some_and(|maximum| maximum.value == MeasureValue::Unbounded)
    }

    /// Returns the maximum in words: a number, `at least` a number, or `unbounded`. If a limit
    /// stopped the analysis, returns `not known`.
    pub fn maximum_in_words(&self) -> String {
        match self.maximum.as_ref().map(|maximum| maximum.value) {
            None => "not known".to_owned(),
            Some(MeasureValue::Unbounded) => "unbounded".to_owned(),
            Some(MeasureValue::Exactly(value)) if self.is_complete => value.to_string(),
            Some(MeasureValue::Exactly(value) | MeasureValue::AtLeast(value)) => {
                format!("at least {value}")
            }
        }
    }

    /// Returns the minimum in words: a number, `at most` a number, or `at least` the number at
    /// which counting stopped. If no explored run serves all users, returns `no explored run serves
    /// all users`. If a limit stopped the analysis, returns `not known`.
    pub fn minimum_in_words(&self) -> String {
        match self.minimum.as_ref().map(|minimum| minimum.value) {
            Some(MeasureValue::Exactly(value)) if self.is_complete => value.to_string(),
            Some(MeasureValue::Exactly(value)) => format!("at most {value}"),
            Some(MeasureValue::AtLeast(value)) if self.is_complete => format!("at least {value}"),
            // An unexplored run may have a smaller value, and the explored runs a greater one.
            Some(MeasureValue::AtLeast(_)) => "not known".to_owned(),
            // An analysis that ended has determined the maximum.
            None if self.maximum.is_none() => "not known".to_owned(),
            Some(MeasureValue::Unbounded) | None => "no explored run serves all users".to_owned(),
        }
    }

    /// Returns the measure and its extremes as text, without the schedules.
    pub fn summary(&self) -> String {
        let processes = if self.size == 1 { "process" } else { "processes" };
        let kind =
            self.message_kind.as_ref().map_or(String::new(), |kind| format!(" of kind {kind}"));
        let mut text = format!("{}, {} {processes}\n", self.algorithm, self.size);
        let mut row = |name: &str, value: &str| text.push_str(&format!("  {name:<24} {value}\n"));
        row("measure", &format!("{}{kind}", self.measure.description()));
        let within = match self.bounds.is_empty() {
            true => String::new(),
            false => format!(" within {}", bounds_in_words(self.bounds)),
        };
        row("maximum", &format!("{}{within}", self.maximum_in_words()));
        let ends = match self.minimum_run_end {
            Some(FinalStateKind::Served) => ", until all users are served: no run ends by itself",
            Some(FinalStateKind::Quiescent) | None => "",
        };
        row("minimum", &format!("{}{ends}", self.minimum_in_words()));
        text
    }

    /// Returns the size of the search as text: its states, transitions, time and memory, and the
    /// limit that stopped it.
    pub fn search_size_in_words(&self) -> String {
        let (states, transitions, seconds) = (self.states, self.transitions, self.seconds);
        let bytes = self.peak_bytes as f64 / states.max(1) as f64;
        let missed = match self.missed_state_probability > 0.0 {
            true => {
                format!(", a state missed with probability {:.0e}", self.missed_state_probability)
            }
            false => String::new(),
        };
        let stopped = self
            .reached_limit
            .map_or(String::new(), |limit| format!("  stopped: {}\n", limit.description()));
        format!(
            "  {states} states, {transitions} transitions, {seconds:.1} s, {bytes:.0} bytes a \
             state{missed}\n{stopped}"
        )
    }

    /// Returns the schedules that attain the maximum and the minimum, in words and as diagrams of
    /// at most this many columns. If maximum and minimum are equal, returns only the schedule that
    /// attains the maximum.
    pub fn schedules_in_words(&self, columns: usize) -> String {
        let mut text = String::new();
        let same = self.maximum.as_ref().zip(self.minimum.as_ref());
        let is_constant = same.is_some_and(|(one, other)| one.value == other.value);
        let minimum = self.minimum.as_ref().filter(|_| !is_constant);
        let extremes = [
            ("maximum", self.maximum_in_words(), self.maximum.as_ref()),
            ("minimum", self.minimum_in_words(), minimum),
        ];
        for (name, value, extreme) in extremes {
            let Some(extreme) = extreme else { continue };
            let (length, run) = (extreme.run.step_count(), &extreme.run);
            let steps = match run.repeated_step_count() {
                0 => format!("in {length} steps"),
                repeated => format!("the last {repeated} of {length} steps repeat"),
            };
            let drawn = render_run(run, &extreme.trace, columns);
            text.push_str(&format!("\n{name} {value}, {steps}\n{drawn}"));
        }
        text
    }
}

impl ExtremeRun {
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

/// Writes the report with its diagrams. The precision of the format limits their width: `{:.60}`
/// means 60 columns. Without a precision, the width is not limited.
impl fmt::Display for MeasureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        f.write_str(&self.search_size_in_words())?;
        f.write_str(&self.schedules_in_words(f.precision().unwrap_or(usize::MAX)))
    }
}

impl Serialize for MeasureValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            MeasureValue::Exactly(value) | MeasureValue::AtLeast(value) => to.serialize_u32(*value),
            MeasureValue::Unbounded => to.serialize_str("unbounded"),
        }
    }
}

impl Serialize for ExtremeRun {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Extreme", 4)?;
        fields.serialize_field("value", &self.value)?;
        fields.serialize_field("length", &self.run.step_count())?;
        fields.serialize_field("repeats_last", &self.run.repeated_step_count())?;
        fields.serialize_field("steps", &self.run.step_inputs())?;
        fields.end()
    }
}

impl Serialize for MeasureReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("MeasureReport", 14)?;
        fields.serialize_field("algorithm", &self.algorithm)?;
        fields.serialize_field("n", &self.size)?;
        fields.serialize_field("measure", self.measure.name())?;
        if let Some(kind) = &self.message_kind {
            fields.serialize_field("kind", kind)?;
        }
        let capped =
            matches!(&self.maximum, Some(ExtremeRun { value: MeasureValue::AtLeast(_), .. }));
        fields.serialize_field("exact", &(self.is_complete && !capped))?;
        fields.serialize_field("maximum", &self.maximum)?;
        fields.serialize_field("minimum", &self.minimum)?;
        let ends = self.minimum_run_end.map(|ends| match ends {
            FinalStateKind::Quiescent => "quiescent",
            FinalStateKind::Served => "served",
        });
        fields.serialize_field("ends", &ends)?;
        fields.serialize_field("states", &self.states)?;
        fields.serialize_field("transitions", &self.transitions)?;
        fields.serialize_field("seconds", &((self.seconds * 1000.0).round() / 1000.0))?;
        if !self.bounds.is_empty() {
            fields.serialize_field("bounds", &self.bounds)?;
        }
        if let Some(limit) = &self.reached_limit {
            fields.serialize_field("limit", limit)?;
        }
        fields.end()
    }
}
