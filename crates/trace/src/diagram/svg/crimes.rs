//! What went wrong: a band over it, a ring around the step that did it, and a sentence above.

use std::fmt::Write;

use super::geometry::{Area, Point};
use super::style::width;
use super::{Drawing, LINE, text};

impl Drawing<'_> {
    /// The violations.
    pub(super) fn crimes(&mut self) {
        let layout = self.layout;
        for crime in &layout.crimes {
            let extent = self.extent_of(Some(crime.step), crime.until);
            for at in &crime.who {
                let band = self.bar(extent, *at, self.lane - 16, "crime");
                self.ground.push_str(&band);
            }
            if let Some(Point { x, y }) = self.dot(crime.step) {
                let _ = writeln!(
                    self.dots,
                    "<circle class=\"guilty\" cx=\"{x}\" cy=\"{y}\" r=\"11\"/>"
                );
            }
        }
        let told: Vec<String> = layout.crimes_told().collect();
        for says in told.iter().rev() {
            let start = Point { x: 0, y: self.extent.top - LINE };
            let (top, bottom) = (start.y - LINE / 2, start.y + LINE / 2);
            self.extent =
                self.extent.with(Area { left: start.x, top, right: start.x + width(says), bottom });
            text(&mut self.texts, start, "start", says, "verdict");
        }
    }
}
