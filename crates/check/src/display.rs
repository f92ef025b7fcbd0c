//! A report as people read it.

use std::fmt;

use tenure_trace::diagram::{Direction, Margin, View, lay_out};

use crate::report::{Counterexample, Report};
use tenure_core::Judgement;

/// The assumption under which liveness is judged.
const FAIRNESS: &str = "weak fairness: what stays possible for ever happens; requests and faults \
    need not";

impl Counterexample {
    /// A space–time diagram in text, at most 100 columns wide, whose rows are numbered as the
    /// story's steps are.
    pub fn diagram(&self) -> String {
        self.diagram_within(usize::MAX)
    }

    fn diagram_within(&self, columns: usize) -> String {
        let layout = lay_out(&self.trace.header, &self.trace.records, View::default());
        layout.to_text_within(Direction::Down, Margin::Number, columns)
    }
}

/// Its diagrams are as wide as the precision says: `{:.60}`.
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
            writeln!(f, "  {:<24} {at_least}{}", "bypass", bypass.most)?;
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
        if self.properties.iter().any(|(property, _)| property.is_of_liveness()) {
            writeln!(f, "  {FAIRNESS}")?;
        }
        if let Some(limit) = self.limit {
            write!(f, "  stopped: {}", limit.says())?;
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
        let in_flight = self.bounds.in_flight.map(|most| match most {
            1 => "1 message on a link".to_owned(),
            most => format!("{most} messages on a link"),
        });
        let term = self.bounds.term_max.map(|most| format!("terms up to {most}"));
        let bounds: Vec<String> = in_flight.into_iter().chain(term).collect();
        bounds.join(" and ")
    }
}

/// Its diagram is as wide as the precision says: `{:.60}`.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (property, length, manner) = (&self.property, self.length(), self.manner.name());
        writeln!(f, "{property} violated after {length} steps ({manner}): {}", self.says)?;
        writeln!(f, "{}", self.story)?;
        f.write_str(&self.diagram_within(f.precision().unwrap_or(usize::MAX)))
    }
}
