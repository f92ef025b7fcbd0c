//! Diagrams in text, at most 100 columns wide.

mod across;
mod down;
mod grid;
mod rows;

use super::layout::Layout;
use super::view::{Direction, Margin};

impl Layout {
    /// The diagram in text, at most 100 columns wide.
    pub fn to_text(&self, direction: Direction, margin: Margin) -> String {
        let drawn = match direction {
            Direction::Down => down::Down::new(self, margin).draw(),
            Direction::Right => across::draw(self, margin),
        };
        // Where steps are numbered somebody has said before what they show.
        match margin {
            Margin::Number => drawn,
            Margin::Place => self.crimes_told().fold(drawn, |text, crime| text + &crime + "\n"),
        }
    }
}
