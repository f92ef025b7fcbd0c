//! Text diagrams in which time runs to the right. Each process has a line, and each step has a
//! column. The descriptions of the steps follow below.

use std::collections::BTreeSet;

use tenure_core::ProcessId;

use super::rows::{LegendSign, condition_sign, describe_arrow};
use crate::diagram::layout::{DiagramLayout, StepCause};
use crate::diagram::options::{RowLabel, TimeDirection};
use crate::fold::process_state::ProcessCondition;

const PER_PANEL: usize = 22;
/// Least width of a step's column, in letters. It fits numbers of up to three digits.
const MIN_STEP_WIDTH: usize = 4;
/// Width of the process names, in letters.
const NAMES_WIDTH: usize = 6;
const MAX_PROCESSES: usize = 40;

/// Draws the steps in panels below each other. Each panel has as many steps as there is room for,
/// but at most [`PER_PANEL`].
pub(super) fn draw(layout: &DiagramLayout, row_label: RowLabel, columns: usize) -> String {
    let lanes = layout.drawn_processes(MAX_PROCESSES);
    let (order, rows) = layout.row_order(&lanes);
    let width = step_width(order.len());
    let per_panel = ((columns - NAMES_WIDTH) / width).min(PER_PANEL);
    let conditions = layout.conditions_by_row(&rows, order.len());
    let mut signs = BTreeSet::new();
    let mut text = String::new();
    for (panel, steps) in order.chunks(per_panel).enumerate() {
        let first = panel * per_panel;
        let mut drawing = Panel::new(layout, &lanes, steps, first, width);
        drawing.lines(&conditions, &mut signs);
        steps.iter().enumerate().for_each(|(column, step)| drawing.step(column, *step));
        text += &drawing.text();
        text.push('\n');
        for (column, step) in steps.iter().enumerate() {
            let head = layout.row_label(*step, row_label);
            let clock = layout.clock_label(*step);
            let description = [description(layout, *step), clock].join("  ");
            text += &format!("{:>5}  {head:>8}  {}\n", first + column + 1, description.trim_end());
        }
        text.push('\n');
    }
    let cut = |line: &'_ str| line.chars().take(columns).chain(['\n']).collect::<String>();
    let text: String = text.lines().map(cut).collect();
    text + &layout.footer(lanes.len(), signs, columns)
}

/// Returns the width of a step's column in a diagram of `steps` steps, in letters. Two neighbouring
/// numbers have a space between them.
fn step_width(steps: usize) -> usize {
    (steps.to_string().len() + 1).max(MIN_STEP_WIDTH)
}

fn description(layout: &DiagramLayout, place: usize) -> String {
    let step = &layout.steps[place];
    let about = match (&step.cause, step.received) {
        (StepCause::Network(description) | StepCause::Note(description), _) => description.clone(),
        (StepCause::Loses(arrow), _) => describe_arrow(&layout.arrows[*arrow]) + " is lost",
        (StepCause::Duplicates(arrow), _) => {
            describe_arrow(&layout.arrows[*arrow]) + " is duplicated"
        }
        (_, Some(arrow)) => describe_arrow(&layout.arrows[arrow]),
        _ => step.at.map_or_else(String::new, |at| at.to_string()),
    };
    match (layout.step_description(step), step.received) {
        (description, _) if description.is_empty() || description == about => about,
        (description, None) => format!("{about} {description}"),
        (description, Some(_)) => format!("{about}: {description}"),
    }
}

struct Panel<'l> {
    layout: &'l DiagramLayout,
    lanes: &'l [ProcessId],
    steps: &'l [usize],
    first: usize,
    step_width: usize,
    /// Lines of the picture. Each process has two lines: its lifeline, and the gap below it. The
    /// last process has only a lifeline.
    lines: Vec<Vec<char>>,
}

impl<'l> Panel<'l> {
    fn new(
        layout: &'l DiagramLayout,
        lanes: &'l [ProcessId],
        steps: &'l [usize],
        first: usize,
        step_width: usize,
    ) -> Self {
        let count = (2 * lanes.len()).saturating_sub(1);
        let lines = vec![vec![' '; steps.len() * step_width]; count];
        Panel { layout, lanes, steps, first, step_width, lines }
    }

    /// Draws the lifelines. Between two steps, a lifeline shows the condition of its process.
    fn lines(
        &mut self,
        conditions: &[Vec<Option<ProcessCondition>>],
        signs: &mut BTreeSet<LegendSign>,
    ) {
        for (lane, process) in self.lanes.iter().enumerate() {
            let width = self.step_width;
            for letter in 0..self.steps.len() * width {
                // A step is drawn in the middle of its column.
                let behind = usize::from(letter % width >= width / 2);
                let held = conditions[process.index()][self.first + letter / width + behind];
                let (sign, means) = condition_sign(held, TimeDirection::Right);
                self.lines[2 * lane].splice(letter..=letter, sign.chars());
                signs.extend((!means.is_empty()).then_some((sign, means)));
            }
        }
    }

    fn step(&mut self, column: usize, place: usize) {
        let middle = column * self.step_width + self.step_width / 2;
        let step = &self.layout.steps[place];
        let arrow = match (&step.cause, step.received) {
            (StepCause::Loses(arrow) | StepCause::Duplicates(arrow), _) => Some(*arrow),
            (_, received) => received,
        };
        let Some(at) = step.at else {
            for line in &mut self.lines {
                line[middle] = '┊';
            }
            return;
        };
        let arrow = arrow.map(|arrow| &self.layout.arrows[arrow]);
        let ends = arrow.and_then(|arrow| Some((self.line(arrow.from)?, self.line(arrow.to)?)));
        if let Some((from, to)) = ends {
            let (top, bottom) = (from.min(to), from.max(to));
            for line in top + 1..bottom {
                let letter = &mut self.lines[line][middle];
                *letter = match *letter {
                    '─' => '┼',
                    ' ' if line % 2 == 1 => '│',
                    bar => bar,
                };
            }
            if self.lines[from][middle] == '─' {
                self.lines[from][middle] = if from < to { '┬' } else { '┴' };
            }
            let head = if !step.is_process_step() {
                '×'
            } else if from < to {
                '▼'
            } else {
                '▲'
            };
            let end = if from < to { to - 1 } else { (to + 1).min(self.lines.len() - 1) };
            self.lines[end][middle] = head;
        }
        if step.is_process_step() {
            let Some(line) = self.line(at) else { return };
            self.lines[line][middle] = if step.cause == StepCause::Crashes { '×' } else { '●' };
        }
    }

    /// Returns the index of a process's lifeline. Returns `None` if the process is not drawn.
    fn line(&self, process: ProcessId) -> Option<usize> {
        self.lanes.binary_search(&process).ok().map(|lane| 2 * lane)
    }

    fn text(&self) -> String {
        let mut text = " ".repeat(NAMES_WIDTH);
        let width = self.step_width;
        for column in 0..self.steps.len() {
            text += &format!("{:^width$}", self.first + column + 1);
        }
        text.push('\n');
        for (line, letters) in self.lines.iter().enumerate() {
            let name = if line % 2 == 0 { self.lanes[line / 2].to_string() } else { String::new() };
            let letters: String = letters.iter().collect();
            text += &format!("{name:<NAMES_WIDTH$}{}", letters.trim_end());
            text = text.trim_end().to_owned() + "\n";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::step_width;

    #[test]
    fn numbers_of_steps_do_not_touch() {
        for (steps, width) in [(0, 4), (999, 4), (1_000, 5), (20_000, 6)] {
            assert_eq!(step_width(steps), width, "{steps} steps");
        }
    }
}
