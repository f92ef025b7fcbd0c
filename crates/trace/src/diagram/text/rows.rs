//! Parts that text diagrams of both directions share.

use std::collections::BTreeSet;

use tenure_core::ProcessId;

use crate::diagram::layout::{DiagramLayout, MessageArrow, MessageOutcome};
use crate::diagram::options::{RowLabel, TimeAxis, TimeDirection};
use crate::fold::process_state::ProcessCondition;

/// A sign of a text diagram, and its meaning for the legend.
pub(super) type LegendSign = (&'static str, &'static str);

impl DiagramLayout {
    /// Returns two lists. The first list contains the indices of the steps that have a row, in the
    /// order of the rows. The second list contains, for each step, the index of its row, or 0 if it
    /// has none. Only steps of the processes `drawn`, steps that violate a property and steps
    /// without a process have a row. `drawn` is sorted.
    pub(super) fn row_order(&self, drawn: &[ProcessId]) -> (Vec<usize>, Vec<usize>) {
        let is_marked = |step: usize| self.violation_marks.iter().any(|mark| mark.step == step);
        let is_drawn = |at: ProcessId| drawn.binary_search(&at).is_ok();
        let mut order: Vec<usize> = (0..self.steps.len())
            .filter(|step| self.steps[*step].at.is_none_or(is_drawn) || is_marked(*step))
            .collect();
        if self.options.scale == TimeAxis::Causal {
            order.sort_by_key(|step| (self.steps[*step].axis_order, *step));
        }
        let mut rows = vec![0; self.steps.len()];
        order.iter().enumerate().for_each(|(row, step)| rows[*step] = row);
        (order, rows)
    }

    /// Returns the label of a step's row: its number, its time or its causal rank. Returns an empty
    /// string if the step has no number.
    pub(super) fn row_label(&self, step: usize, row_label: RowLabel) -> String {
        match (row_label, self.options.scale, self.steps[step].number) {
            (RowLabel::Number, _, number) => number.map_or_else(String::new, |it| it.to_string()),
            (RowLabel::Place, _, None) => String::new(),
            (RowLabel::Place, TimeAxis::Time, _) => self.time_label(step),
            (RowLabel::Place, TimeAxis::Causal, _) => {
                (self.steps[step].axis_order.1 + 1).to_string()
            }
        }
    }

    /// For each process, returns the conditions that its lifeline shows. The first element is the
    /// condition before the first row. Each further element is the condition after one row. If
    /// several conditions hold at the same time, the element is the most important of them.
    /// `row_of_step[step]` is the row of a step.
    pub(super) fn conditions_by_row(
        &self,
        row_of_step: &[usize],
        row_count: usize,
    ) -> Vec<Vec<Option<ProcessCondition>>> {
        let mut conditions = vec![vec![None; row_count + 1]; self.process_count()];
        let weight = |condition: ProcessCondition| match condition {
            ProcessCondition::Down => 5,
            ProcessCondition::Stopped => 4,
            ProcessCondition::Inside => 3,
            ProcessCondition::Waiting => 2,
            ProcessCondition::Leading(_) => 1,
            ProcessCondition::Token => 0,
        };
        for span in &self.spans {
            let from = span.from.map_or(0, |step| row_of_step[step] + 1);
            let until = span.until.map_or(row_count + 1, |step| row_of_step[step] + 1);
            for held in conditions[span.at.index()].iter_mut().take(until).skip(from) {
                if held.is_none_or(|other| weight(other) < weight(span.condition)) {
                    *held = Some(span.condition);
                }
            }
        }
        conditions
    }

    /// Returns the processes to draw. These are all processes if there are at most `max_count`.
    /// Otherwise, these are the `max_count` processes with the lowest numbers among those that take
    /// a step, or send or receive a message.
    pub(super) fn drawn_processes(&self, max_count: usize) -> Vec<ProcessId> {
        let all = (0..self.process_count()).map(ProcessId::from_index);
        if self.process_count() <= max_count {
            return all.collect();
        }
        let moved = self.steps.iter().filter_map(|step| step.at);
        let met = self.arrows.iter().flat_map(|arrow| [arrow.from, arrow.to]);
        let busy: BTreeSet<ProcessId> = moved.chain(met).collect();
        busy.into_iter().take(max_count).collect()
    }

    /// Returns the text below a diagram, in lines of at most `columns` columns. The text lists the
    /// messages that are still under way, and explains the signs of the diagram. If the diagram
    /// does not show all processes, the text contains the number `drawn` of drawn processes.
    pub(super) fn footer(
        &self,
        drawn: usize,
        mut signs: BTreeSet<LegendSign>,
        columns: usize,
    ) -> String {
        let in_flight = |arrow: &&MessageArrow| arrow.outcome == MessageOutcome::UnderWay;
        let open: Vec<String> = self.arrows.iter().filter(in_flight).map(describe_arrow).collect();
        let mut foot = String::new();
        if !open.is_empty() {
            list(&mut foot, "under way:", &open, ",", columns);
        }
        if drawn < self.process_count() {
            foot += &format!("{} of {} processes are drawn\n", drawn, self.process_count());
        }
        if !self.violation_marks.is_empty() {
            signs.insert(("✗", "violated"));
        }
        let signs: Vec<String> =
            signs.iter().map(|(sign, description)| format!("{sign} {description}")).collect();
        if !signs.is_empty() {
            list(&mut foot, "", &signs, " ", columns);
        }
        foot
    }
}

pub(super) fn describe_arrow(arrow: &MessageArrow) -> String {
    format!("{} {}→{}", arrow.label(), arrow.from, arrow.to)
}

/// Appends a list of items after `head`, broken into lines of at most `columns` columns. Items are
/// separated by commas if `between` is a comma, and otherwise by blanks.
fn list(to: &mut String, head: &str, items: &[String], between: &str, columns: usize) {
    let mut line = head.to_owned();
    for (place, item) in items.iter().enumerate() {
        let between = match (line.is_empty(), place, between) {
            (true, ..) => "",
            (_, 0, _) => " ",
            (.., ",") => ", ",
            _ => "   ",
        };
        if line.chars().count() + between.chars().count() + item.chars().count() > columns {
            to.push_str(line.trim_end());
            to.push('\n');
            line = " ".repeat(4) + item;
        } else {
            line = line + between + item;
        }
    }
    to.push_str(line.trim_end());
    to.push('\n');
}

/// Appends a sentence, broken into lines of at most `columns` columns. A longer word has a line of
/// its own.
pub(super) fn append_wrapped(to: &mut String, description: &str, columns: usize) {
    let mut line = String::new();
    for word in description.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            *to += &line;
            to.push('\n');
            line = " ".to_owned();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    *to += &line;
    to.push('\n');
}

pub(super) fn condition_sign(
    condition: Option<ProcessCondition>,
    direction: TimeDirection,
) -> LegendSign {
    let lane = |down, right| if direction == TimeDirection::Down { down } else { right };
    match condition {
        None => (lane("│", "─"), ""),
        Some(ProcessCondition::Waiting) => ("▒", "waits"),
        Some(ProcessCondition::Inside) => ("█", "inside"),
        Some(ProcessCondition::Leading(_)) => (lane("║", "═"), "leads"),
        Some(ProcessCondition::Token) => (lane("┃", "━"), "has the token"),
        Some(ProcessCondition::Down) => ("·", "down"),
        Some(ProcessCondition::Stopped) => (lane("╎", "╌"), "stopped"),
    }
}
