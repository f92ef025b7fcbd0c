//! Diagrams in text, at most 100 columns wide, or as wide as is asked for.

mod across;
mod down;
mod grid;
mod rows;

use self::rows::wrap;
use super::layout::Layout;
use super::view::{Direction, Margin};

/// The widest line.
const MOST_COLUMNS: usize = 100;

/// In less nothing can be drawn.
const LEAST_COLUMNS: usize = 40;

impl Layout {
    /// The diagram in text, at most 100 columns wide.
    pub fn to_text(&self, direction: Direction, margin: Margin) -> String {
        self.to_text_within(direction, margin, MOST_COLUMNS)
    }

    /// The diagram in text, at most so many columns wide; fewer than 40 are 40, more than 100 are
    /// 100.
    pub fn to_text_within(&self, direction: Direction, margin: Margin, columns: usize) -> String {
        let columns = columns.clamp(LEAST_COLUMNS, MOST_COLUMNS);
        let mut drawn = match direction {
            Direction::Down => down::Down::new(self, margin, columns).draw(),
            Direction::Right => across::draw(self, margin, columns),
        };
        // Where steps are numbered somebody has said before what they show.
        if margin == Margin::Place {
            self.crimes_told().for_each(|crime| wrap(&mut drawn, &crime, columns));
        }
        drawn
    }
}
