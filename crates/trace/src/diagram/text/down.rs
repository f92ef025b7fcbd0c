//! Text diagrams in which time runs down. Each process has a column, and each step has a row. A
//! message is drawn in the row of its arrival, loss or duplication.

use std::collections::BTreeSet;

use tenure_core::ProcessId;

use super::rows::{LegendSign, condition_sign, describe_arrow};
use super::text_row::TextRow;
use crate::diagram::layout::{DiagramLayout, StepCause};
use crate::diagram::options::{RowLabel, TimeDirection};
use crate::fold::process_state::ProcessCondition;

/// Maximum width of a process's column, in letters.
const MAX_COLUMN: usize = 26;
/// Minimum width of a process's column, in letters.
const MIN_COLUMN: usize = 3;

/// Text diagram under construction, in which time runs down.
pub(super) struct DownwardDiagram<'l> {
    layout: &'l DiagramLayout,
    /// Maximum width of a line, in letters.
    columns: usize,
    order: Vec<usize>,
    /// For each step, the index of its row; 0 if the step has no row.
    rows: Vec<usize>,
    /// For each row, the label of its step: the number, the time or the causal rank of the step.
    places: Vec<String>,
    /// For each row, the text at its head: the label of its step and, if clocks are requested, the
    /// clock.
    heads: Vec<String>,
    margin: usize,
    lanes: Vec<ProcessId>,
    width: usize,
    /// Conditions that the lifelines show, as [`DiagramLayout::conditions_by_row`] returns them.
    conditions: Vec<Vec<Option<ProcessCondition>>>,
    signs: BTreeSet<LegendSign>,
}

impl<'l> DownwardDiagram<'l> {
    pub(super) fn new(layout: &'l DiagramLayout, row_label: RowLabel, columns: usize) -> Self {
        let place = |step: usize| layout.row_label(step, row_label);
        let head = |step: usize| match layout.clock_label(step) {
            clock if clock.is_empty() => place(step),
            clock => format!("{} {clock}", place(step)),
        };
        let widest = (0..layout.steps.len()).map(|step| head(step).chars().count()).max();
        let margin = widest.unwrap_or(0).clamp(4, columns / 2) + 1;
        let lanes = layout.drawn_processes((columns - margin) / MIN_COLUMN);
        let (order, rows) = layout.row_order(&lanes);
        let places: Vec<String> = order.iter().map(|step| place(*step)).collect();
        let heads: Vec<String> = order.iter().map(|step| head(*step)).collect();
        let width = (columns - margin) / lanes.len().max(1);
        let width = width.clamp(MIN_COLUMN, MAX_COLUMN);
        let conditions = layout.conditions_by_row(&rows, order.len());
        let signs = BTreeSet::new();
        DownwardDiagram {
            layout,
            columns,
            order,
            rows,
            places,
            heads,
            margin,
            lanes,
            width,
            conditions,
            signs,
        }
    }

    pub(super) fn draw(mut self) -> String {
        let mut text = " ".repeat(self.margin);
        for process in &self.lanes {
            text += &format!("{:<width$}", process.to_string(), width = self.width);
        }
        let mut text = text.trim_end().to_owned() + "\n";
        for row in 0..self.order.len() {
            let head: String = self.heads[row].chars().take(self.margin - 1).collect();
            let broken =
                self.layout.violation_marks.iter().any(|mark| mark.step == self.order[row]);
            let sign = if broken { '✗' } else { ' ' };
            let head = format!("{head:>width$}{sign}", width = self.margin - 1);
            let line = head + &self.row(row);
            text.extend(line.trim_end().chars().take(self.columns));
            text.push('\n');
        }
        text + &self.layout.footer(self.lanes.len(), self.signs, self.columns)
    }

    /// Returns the position of a process's column, in letters. Returns `None` if the process is not
    /// drawn.
    fn column(&self, process: ProcessId) -> Option<usize> {
        self.lanes.binary_search(&process).ok().map(|lane| lane * self.width)
    }

    fn row(&mut self, row: usize) -> String {
        let layout = self.layout;
        let place = self.order[row];
        let step = &layout.steps[place];
        let mut text_row = TextRow::new(self.lanes.len() * self.width);
        if let (None, StepCause::Network(description) | StepCause::Note(description)) =
            (step.at, &step.cause)
        {
            self.lanes_as(&mut text_row, None, |_| ("┊", ""));
            text_row.write_text(2, &format!(" {description} "), usize::MAX);
            return text_row.to_text();
        }
        let conditions = std::mem::take(&mut self.conditions);
        let own = step.at.filter(|_| step.is_process_step());
        self.lanes_as(&mut text_row, own, |process| {
            condition_sign(conditions[process.index()][row + 1], TimeDirection::Down)
        });
        self.conditions = conditions;
        match (&step.cause, step.received) {
            (StepCause::Loses(arrow), _) => self.arrow(&mut text_row, *arrow, row, '×', ""),
            (StepCause::Duplicates(arrow), _) => self.arrow(&mut text_row, *arrow, row, '×', " ×2"),
            (_, Some(arrow)) => self.arrow(&mut text_row, arrow, row, '●', ""),
            _ => {}
        }
        let Some(at) = step.at else { return text_row.to_text() };
        let description = layout.step_description(step);
        let Some(column) = self.column(at) else {
            let last = self.lanes.len().saturating_sub(1) * self.width;
            text_row.write_text(last + 2, &format!("{at} {description}"), self.room(last));
            return text_row.to_text();
        };
        if step.is_process_step() {
            text_row.put_letter(column, if step.cause == StepCause::Crashes { '×' } else { '●' });
        }
        if !description.is_empty() {
            let from = step.received.map(|arrow| layout.arrows[arrow].from);
            self.beside(&mut text_row, (at, column), from, &description);
        }
        text_row.to_text()
    }

    /// Draws one sign for the lifeline of each process into a row of the diagram, and adds the
    /// signs to the legend. Does not add the sign of the process `covered` to the legend, because a
    /// mark will cover this sign.
    fn lanes_as(
        &mut self,
        text_row: &mut TextRow,
        covered: Option<ProcessId>,
        sign: impl Fn(ProcessId) -> LegendSign,
    ) {
        for (lane, process) in self.lanes.iter().enumerate() {
            let (sign, means) = sign(*process);
            text_row.draw_lifeline(lane * self.width, sign);
            let seen = !means.is_empty() && covered != Some(*process);
            self.signs.extend(seen.then_some((sign, means)));
        }
    }

    /// Draws the arrow of the message with the index `index` in the row `row`. If `end` is `×`, the
    /// arrow ends with `×`. Otherwise the arrow ends with an arrow head at the receiver. `more` is
    /// appended to the label of the message. If only the sender or only the receiver is drawn,
    /// writes the label and both names instead. If neither of them is drawn, does nothing.
    fn arrow(&mut self, text_row: &mut TextRow, index: usize, row: usize, end: char, more: &str) {
        let arrow = &self.layout.arrows[index];
        let (start, stop) = match (self.column(arrow.from), self.column(arrow.to)) {
            (Some(start), Some(stop)) => (start, stop),
            (None, None) => return,
            (Some(drawn), None) | (None, Some(drawn)) => {
                let text = describe_arrow(arrow) + if end == '×' { " ×" } else { more };
                return text_row.write_text(drawn + 2, &text, self.room(drawn));
            }
        };
        let label = arrow.label() + more;
        if start == stop {
            text_row.write_text(start + 2, &label, usize::MAX);
            return;
        }
        let right = start < stop;
        text_row.draw_arrow(
            start,
            stop,
            if end == '×' {
                '×'
            } else if right {
                '►'
            } else {
                '◄'
            },
        );
        let sent = arrow.sent_in_step.filter(|sent| self.rows[*sent] + 1 < row);
        let since = sent.map(|sent| self.places[self.rows[sent]].clone());
        let since = since.filter(|since| !since.is_empty());
        let long = since.map_or_else(|| label.clone(), |since| format!("{label} ‹{since}›"));
        let written = text_row.write_on_arrow(start, stop, self.width, &long);
        if !written {
            text_row.write_on_arrow(start, stop, self.width, &label);
        } else if long != label {
            self.signs.insert(("‹k›", "sent at k"));
        }
        if end == '×' && more.is_empty() {
            self.signs.insert(("×", "lost"));
        }
    }

    /// Writes `description` to the right of the mark of the process `at`, cut off after
    /// [`Self::room`] letters. If other signs are in the way, writes it to the left of the mark,
    /// provided that all of it fits before the lifeline on the left. Otherwise, writes the name of
    /// the process `at` and `description` to the right of the lifeline of `from`, also cut off.
    /// Omits the description if other signs are in the way there too, or if `from` is `None` or is
    /// not drawn.
    fn beside(
        &self,
        text_row: &mut TextRow,
        (at, column): (ProcessId, usize),
        from: Option<ProcessId>,
        description: &str,
    ) {
        let length = description.chars().count();
        if text_row.is_free(column + 2, length.min(self.room(column))) {
            text_row.write_text(column + 2, description, self.room(column));
        } else if length + 2 < self.width && column >= self.width {
            text_row.write_text(column - 1 - length, description, usize::MAX);
        } else if let Some(column) = from.and_then(|from| self.column(from)) {
            let description = format!("{at} {description}");
            if text_row.is_free(column + 2, description.chars().count().min(self.room(column))) {
                text_row.write_text(column + 2, &description, self.room(column));
            }
        }
    }

    /// Returns the number of letters for which there is room to the right of a mark in the column
    /// at `column`.
    fn room(&self, column: usize) -> usize {
        let last = column + self.width >= self.lanes.len() * self.width;
        let wide = if last { self.columns - self.margin - column } else { self.width };
        wide.saturating_sub(3)
    }
}
