//! Text output of reports and counterexamples.

use std::fmt;

use tenure_trace::diagram::{Direction, Margin, View, lay_out};

use crate::report::{Counterexample, Report};
use tenure_core::Judgement;

/// Assumption of all liveness judgements.
const FAIRNESS: &str = "weak fairness: a step that stays possible for ever is taken; \
    requests and faults need not";

impl Counterexample {
    /// Returns a space–time diagram as text of at most 100 columns. Its row numbers are the step
    /// numbers of the run description.
    pub fn diagram(&self) -> String {
        self.diagram_within(usize::MAX)
    }

    fn diagram_within(&self, columns: usize) -> String {
        let layout = lay_out(&self.trace.header, &self.trace.records, View::default());
        layout.to_text_within(Direction::Down, Margin::Number, columns)
    }
}

/// The precision limits the width of the diagrams: `{:.60}`.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = if self.size == 1 { "process" } else { "processes" };
        writeln!(f, "{}, {} {many}", self.algorithm, self.size)?;
        for (name, judgement) in &self.properties {
            write!(f, "  {name:<24} {judgement}")?;
            if *judgement == Judgement::Holds && !self.bounds.is_empty() {
                write!(f, " within {}", self.within())?;
            }
            writeln!(f)?;
        }
        if let Some(bypass) = &self.bypass {
            let at_least = if bypass.at_least { "at least " } else { "" };
            writeln!(f, "  {:<24} {at_least}{}", "bypass", bypass.max)?;
        }
        write!(
            f,
            "  {} states, {} transitions, depth {}, {:.1} s, {:.0} bytes a state",
            self.states,
            self.transitions,
            self.depth,
            self.seconds,
            self.bytes_per_state()
        )?;
        if self.missed > 0.0 {
            write!(f, ", a state missed with probability {:.0e}", self.missed)?;
        }
        writeln!(f)?;
        if self.properties.iter().any(|(property, _)| property.is_liveness()) {
            writeln!(f, "  {FAIRNESS}")?;
        }
        if let Some(limit) = self.limit {
            write!(f, "  stopped: {}", limit.description())?;
            if self.counterexamples.is_empty() {
                write!(f, "; within depth {} no step violates anything", self.depth)?;
            }
            writeln!(f)?;
        }
        for found in &self.counterexamples {
            writeln!(f)?;
            found.fmt(f)?;
        }
        Ok(())
    }
}

impl Report {
    fn within(&self) -> String {
        let in_flight = self.bounds.in_flight.map(|max| match max {
            1 => "1 message on a link".to_owned(),
            max => format!("{max} messages on a link"),
        });
        let term = self.bounds.term_max.map(|max| format!("terms up to {max}"));
        let bounds: Vec<String> = in_flight.into_iter().chain(term).collect();
        bounds.join(" and ")
    }
}

/// The precision limits the width of the diagram: `{:.60}`.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (property, length, kind) = (&self.property, self.length(), self.kind.name());
        writeln!(f, "{property} violated after {length} steps ({kind}): {}", self.explanation)?;
        writeln!(f, "{}", self.run)?;
        f.write_str(&self.diagram_within(f.precision().unwrap_or(usize::MAX)))
    }
}
