//! What went wrong: a band over it, a ring around the step that did it, and a sentence above; and
//! above all, for whoever is handed the picture alone, what it shows and the command that shows it.

use std::fmt::Write;

use super::geometry::{Area, Point};
use super::style::width;
use super::{Drawing, LINE, text};
use crate::plain;

/// A command is broken into lines of so many letters, or as many as the picture has room for.
const LEAST_LETTERS: i64 = 60;

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
            self.above(says, "verdict");
        }
    }

    /// What the picture shows, and the command that makes the run again, where there is one.
    pub(super) fn headline(&mut self) {
        let Some(command) = &self.layout.header.replay else { return };
        let letters = (self.extent.right / width("m")).max(LEAST_LETTERS);
        for line in broken(&plain(command), letters).iter().rev() {
            self.above(line, "small");
        }
        self.above(&self.layout.caption(), "name");
    }

    /// A line above everything else.
    fn above(&mut self, says: &str, class: &str) {
        let start = Point { x: 0, y: self.extent.top - LINE };
        let (top, bottom) = (start.y - LINE / 2, start.y + LINE / 2);
        self.extent =
            self.extent.with(Area { left: start.x, top, right: start.x + width(says), bottom });
        text(&mut self.texts, start, "start", says, class);
    }
}

/// Words in lines of at most so many letters, where no word is longer.
pub(super) fn broken(words: &str, letters: i64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        let fits = |line: &&mut String| {
            (line.chars().count() + 1 + word.chars().count()) as i64 <= letters
        };
        match lines.last_mut().filter(fits) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_broken_between_its_words() {
        assert_eq!(broken("tenure check central -n 2", 12), ["tenure check", "central -n 2"]);
        assert_eq!(broken("tenure simulate-it", 4), ["tenure", "simulate-it"]);
        assert_eq!(broken("", 4), [""; 0]);
    }
}
