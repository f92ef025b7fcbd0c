//! Text diagrams, up to 100 columns wide unless the caller wants more.

mod across;
mod down;
mod rows;
mod text_row;

use self::rows::append_wrapped;
use super::layout::DiagramLayout;
use super::options::{RowLabel, TimeDirection};

const DEFAULT_COLUMNS: usize = 100;

const MIN_COLUMNS: usize = 40;

impl DiagramLayout {
    /// Renders the diagram as text, at most 100 columns wide.
    pub fn to_text(&self, direction: TimeDirection, row_label: RowLabel) -> String {
        self.to_text_within(direction, row_label, DEFAULT_COLUMNS)
    }

    /// Renders the diagram as text of at most `columns` columns. If `columns` is below 40, the
    /// limit is 40 columns instead.
    pub fn to_text_within(
        &self,
        direction: TimeDirection,
        row_label: RowLabel,
        columns: usize,
    ) -> String {
        let columns = columns.max(MIN_COLUMNS);
        let mut drawn = match direction {
            TimeDirection::Down => down::DownwardDiagram::new(self, row_label, columns).draw(),
            TimeDirection::Right => across::draw(self, row_label, columns),
        };
        // A caller that requests step numbers, such as the checker, prints the violations itself.
        if row_label == RowLabel::Place {
            self.violation_lines().for_each(|mark| append_wrapped(&mut drawn, &mark, columns));
        }
        drawn
    }
}
