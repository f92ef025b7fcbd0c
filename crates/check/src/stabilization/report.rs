//! Results of a check of self-stabilization.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use tenure_core::{Judgement, Property};

use crate::measure::Measure;
use crate::measure::report::MeasureValue;
use crate::report::SerializedJudgements;
use crate::stabilization::StabilizationRun;

/// Result of a check of self-stabilization. The check covers every state of a system.
#[derive(Clone, Debug)]
pub struct StabilizationReport {
    /// Name of the system.
    pub algorithm: String,
    /// Number of machines.
    pub size: u32,
    /// True if convergence was judged under weak fairness; false if it was judged for all
    /// schedules.
    pub is_fair: bool,
    /// Number of states.
    pub states: u32,
    /// Number of legitimate states.
    pub legitimate_state_count: u32,
    /// Number of possible steps, summed over all states.
    pub transitions: u64,
    /// Judgements of the properties, in the order in which the report shows them.
    pub properties: Vec<(Property, Judgement)>,
    /// A violation of each violated property.
    pub counterexamples: Vec<StabilizationCounterexample>,
    /// Greatest number of moves from any state to a legitimate state.
    pub max_moves: MeasureValue,
    /// A schedule with the greatest number of moves, as a run. `None` if the number of moves has no
    /// bound.
    pub worst_run: Option<StabilizationRun>,
    /// Duration of the check, in seconds.
    pub seconds: f64,
}

/// A violation of a property, with a run that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StabilizationCounterexample {
    /// The violated property.
    pub property: Property,
    /// Explanation in one sentence.
    pub explanation: String,
    /// Run that violates the property.
    pub run: StabilizationRun,
}

impl StabilizationReport {
    /// Removes the judgements and counterexamples of all properties that are not in `properties`.
    /// Sorts the judgements in the order of `properties`.
    #[must_use]
    pub fn keep_only(mut self, properties: &[Property]) -> Self {
        let judged = |property: &Property| {
            self.properties.iter().copied().find(|(known, _)| known == property)
        };
        self.properties = properties.iter().filter_map(judged).collect();
        self.counterexamples.retain(|found| properties.contains(&found.property));
        self
    }

    /// Returns the overall judgement: violated if the report contains a violation, or else `holds`.
    pub fn judgement(&self) -> Judgement {
        match self.counterexamples.is_empty() {
            true => Judgement::Holds,
            false => Judgement::Violated,
        }
    }

    /// Returns the judgement of a property.
    ///
    /// # Panics
    ///
    /// Panics if the property was not judged.
    pub fn judgement_of(&self, property: Property) -> Judgement {
        let found = self.properties.iter().find(|(judged, _)| *judged == property);
        found.unwrap_or_else(|| panic!("property {property} was not judged")).1
    }

    fn moves_in_words(&self) -> String {
        match self.max_moves {
            MeasureValue::Exactly(moves) => moves.to_string(),
            MeasureValue::AtLeast(moves) => format!("at least {moves}"),
            MeasureValue::Unbounded => "unbounded".to_owned(),
        }
    }

    fn head(&self) -> String {
        let (states, legitimate) = (self.states, self.legitimate_state_count);
        let schedules = match self.is_fair {
            true => "all that are weakly fair, one step at a time",
            false => "all of a central daemon: one machine moves at a time",
        };
        let mut text = format!("{}, {} machines\n", self.algorithm, self.size);
        let mut row = |name: &str, value: &str| text.push_str(&format!("  {name:<24} {value}\n"));
        row("start", &format!("any of {states} states; {legitimate} are legitimate"));
        row("schedules", schedules);
        text
    }

    fn search_size(&self) -> String {
        let StabilizationReport { states, transitions, seconds, .. } = self;
        format!("  {states} states, {transitions} transitions, {seconds:.1} s\n")
    }

    /// Returns the least and the greatest number of moves as text, with a schedule that has the
    /// greatest number.
    pub fn moves_summary(&self) -> String {
        let mut text = self.head();
        let moves = self.moves_in_words();
        let mut row = |name: &str, value: &str| text.push_str(&format!("  {name:<24} {value}\n"));
        row("measure", "moves until a legitimate state is reached");
        row("maximum", &moves);
        row("minimum", "0 (from a legitimate state)");
        text.push_str(&self.search_size());
        if let Some(worst) = &self.worst_run {
            text.push_str(&format!("\nmaximum {moves}, in {} steps\n{worst}", worst.step_count()));
        } else if let Some(found) = self.counterexamples.iter().find(|it| it.is_of_convergence()) {
            text.push_str(&format!("\n{found}"));
        }
        text
    }

    /// Returns a value that serializes as the least and the greatest number of moves.
    pub fn serializable_moves_summary(&self) -> impl Serialize + '_ {
        Extremes(self)
    }
}

impl fmt::Display for StabilizationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head())?;
        for (property, judgement) in &self.properties {
            writeln!(f, "  {property:<24} {judgement}")?;
        }
        let bound = if self.max_moves == MeasureValue::Unbounded { "" } else { "at most " };
        writeln!(f, "  {:<24} {bound}{}", "moves", self.moves_in_words())?;
        f.write_str(&self.search_size())?;
        for found in &self.counterexamples {
            write!(f, "\n{found}")?;
        }
        Ok(())
    }
}

impl StabilizationCounterexample {
    fn is_of_convergence(&self) -> bool {
        self.property == Property::Convergence
    }
}

impl fmt::Display for StabilizationCounterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StabilizationCounterexample { property, explanation, run } = self;
        let steps = match run.step_count() {
            1 => "1 step".to_owned(),
            steps => format!("{steps} steps"),
        };
        writeln!(f, "{property} violated in {steps}: {explanation}")?;
        run.fmt(f)
    }
}

impl Serialize for StabilizationCounterexample {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("StabilizationCounterexample", 4)?;
        fields.serialize_field("property", &self.property)?;
        fields.serialize_field("length", &self.run.step_count())?;
        fields.serialize_field("start", &self.run.initial_machine_states())?;
        fields.serialize_field("steps", &self.run.step_descriptions())?;
        fields.end()
    }
}

impl Serialize for StabilizationReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("StabilizationReport", 10)?;
        fields.serialize_field("algorithm", &self.algorithm)?;
        fields.serialize_field("n", &self.size)?;
        fields.serialize_field("verdict", &self.judgement())?;
        fields.serialize_field("properties", &SerializedJudgements(&self.properties))?;
        fields.serialize_field("states", &self.states)?;
        fields.serialize_field("legitimate", &self.legitimate_state_count)?;
        fields.serialize_field("transitions", &self.transitions)?;
        fields.serialize_field("moves", &self.max_moves)?;
        fields.serialize_field("counterexample", &self.counterexamples.first())?;
        fields.serialize_field("counterexamples", &self.counterexamples)?;
        fields.end()
    }
}

/// The least and the greatest number of moves, serialized with the keys of a
/// [`MeasureReport`](crate::MeasureReport).
struct Extremes<'a>(&'a StabilizationReport);

impl Serialize for Extremes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Extremes(report) = self;
        let maximum = Extreme { value: report.max_moves, run: report.worst_run.as_ref() };
        let minimum = Extreme { value: MeasureValue::Exactly(0), run: None };
        let mut fields = to.serialize_struct("Extremes", 8)?;
        fields.serialize_field("algorithm", &report.algorithm)?;
        fields.serialize_field("n", &report.size)?;
        fields.serialize_field("measure", Measure::Moves.name())?;
        fields.serialize_field("exact", &true)?;
        fields.serialize_field("maximum", &maximum)?;
        fields.serialize_field("minimum", &minimum)?;
        fields.serialize_field("states", &report.states)?;
        fields.serialize_field("transitions", &report.transitions)?;
        fields.end()
    }
}

struct Extreme<'a> {
    value: MeasureValue,
    run: Option<&'a StabilizationRun>,
}

impl Serialize for Extreme<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Extreme", 4)?;
        fields.serialize_field("value", &self.value)?;
        fields.serialize_field("length", &self.run.map_or(0, StabilizationRun::step_count))?;
        fields.serialize_field("start", &self.run.map(StabilizationRun::initial_machine_states))?;
        fields.serialize_field("steps", &self.run.map(StabilizationRun::step_descriptions))?;
        fields.end()
    }
}
