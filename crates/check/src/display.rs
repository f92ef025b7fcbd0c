//! Text output of reports and counterexamples.

use std::fmt;

use tenure_trace::Trace;
use tenure_trace::diagram::{DiagramOptions, RowLabel, TimeDirection, lay_out};

use crate::explain::description::StepwiseDescription;
use crate::report::{CheckReport, Counterexample, ReachedBounds};
use crate::swarm::report::SwarmMemberCoverage;
use tenure_core::Judgement;

impl Counterexample {
    /// Returns a space–time diagram as text. Its width grows with the number of processes, and is
    /// not limited. Its row numbers are the step numbers of the run description.
    pub fn diagram(&self) -> String {
        render_diagram(&self.trace, usize::MAX)
    }
}

/// Returns a run in words, and its diagram of at most this many columns. If `columns` is below 40,
/// the limit is 40 columns. Returns an empty text for a run without steps.
pub(crate) fn render_run(run: &StepwiseDescription, trace: &Trace, columns: usize) -> String {
    if run.steps.is_empty() {
        return String::new();
    }
    format!("{run}\n{}", render_diagram(trace, columns))
}

fn render_diagram(trace: &Trace, columns: usize) -> String {
    let layout = lay_out(&trace.header, &trace.records, DiagramOptions::default());
    layout.to_text_within(TimeDirection::Down, RowLabel::Number, columns)
}

pub(crate) fn bounds_in_words(bounds: ReachedBounds) -> String {
    let in_flight = bounds.in_flight.map(|max| match max {
        1 => "1 message on a link".to_owned(),
        max => format!("{max} messages on a link"),
    });
    let term = bounds.term_max.map(|max| format!("terms up to {max}"));
    let ticket = bounds.ticket_max.map(|max| format!("tickets up to {max}"));
    let bounds: Vec<String> = in_flight.into_iter().chain(term).chain(ticket).collect();
    bounds.join(" and ")
}

/// Writes the report with its diagrams. The precision of the format limits their width: `{:.60}`
/// means 60 columns. Without a precision, the width is not limited.
impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = if self.size == 1 { "process" } else { "processes" };
        write!(f, "{}, {} {many}", self.algorithm, self.size)?;
        if let Some(SwarmMemberCoverage { member, members, .. }) = self.swarm {
            write!(f, ", swarm search {member}/{members}")?;
        }
        writeln!(f)?;
        for (name, judgement) in &self.properties {
            match (self.swarm, judgement) {
                (Some(_), Judgement::Incomplete) => {
                    write!(f, "  {name:<24} no violation found in {} states", self.states)?;
                }
                _ => write!(f, "  {name:<24} {judgement}")?,
            }
            if *judgement == Judgement::Holds && !self.bounds.is_empty() {
                write!(f, " within {}", bounds_in_words(self.bounds))?;
            }
            writeln!(f)?;
        }
        if let Some(bypass) = &self.bypass {
            let at_least = if bypass.is_lower_bound { "at least " } else { "" };
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
        if self.missed_state_probability > 0.0 {
            write!(f, ", a state missed with probability {:.0e}", self.missed_state_probability)?;
        }
        writeln!(f)?;
        if self.is_commuting {
            writeln!(f, "  deliveries that commute with all later steps: explored in one order")?;
        }
        if let Some(fairness) = self.fairness {
            writeln!(f, "  {}", fairness.description())?;
        }
        if let Some(swarm) = &self.swarm {
            swarm.fmt(f)?;
        }
        if let Some(limit) = self.reached_limit {
            write!(f, "  stopped: {}", limit.description())?;
            if let Some(depth) = self.fully_explored_depth
                && self.counterexamples.is_empty()
            {
                write!(f, "; within depth {depth}")?;
                if !self.bounds.is_empty() {
                    write!(f, " and {}", bounds_in_words(self.bounds))?;
                }
                write!(f, " no step violates anything")?;
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

/// Writes the counterexample with its diagram. The precision of the format limits the width of
/// the diagram: `{:.60}` means at most 60 columns. A precision below 40 counts as 40. Without a
/// precision, the width is not limited. A run without steps has no diagram.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (property, length, kind) = (&self.property, self.step_count(), self.kind.name());
        writeln!(f, "{property} violated after {length} steps ({kind}): {}", self.explanation)?;
        let columns = f.precision().unwrap_or(usize::MAX);
        f.write_str(&render_run(&self.run, &self.trace, columns))
    }
}
