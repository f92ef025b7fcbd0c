//! Marks of violations. A violation has a band over its interval, a ring around its step, and a
//! sentence above the picture. If the trace names a command that reproduces the run, the picture
//! also has a headline with a description of the diagram and this command.

use std::fmt::Write;

use super::geometry::{Point, Rect};
use super::style::estimated_text_width;
use super::{Drawing, LINE_HEIGHT, write_text};
use crate::escape_invisible;

/// Minimum width of the lines of the replay command in the headline, in letters. A wide picture has
/// longer lines.
const MIN_LETTERS: i64 = 60;

impl Drawing<'_> {
    pub(super) fn draw_violation_marks(&mut self) {
        let layout = self.layout;
        for mark in &layout.violation_marks {
            let extent = self.span_extent(Some(mark.step), mark.conflict_end_step);
            for at in &mark.conflicting_processes {
                let band = self.bar(extent, *at, self.lane - 16, "violation");
                self.ground.push_str(&band);
            }
            if let Some(Point { x, y }) = self.dot(mark.step) {
                let _ = writeln!(
                    self.dots,
                    "<circle class=\"violation-step\" cx=\"{x}\" cy=\"{y}\" r=\"11\"/>"
                );
            }
        }
        let lines: Vec<String> = layout.violation_lines().collect();
        for description in lines.iter().rev() {
            self.above(description, "verdict");
        }
    }

    /// Writes the headline: a description of the diagram, and below it the command that reproduces
    /// the run. Does nothing if the header contains no such command.
    pub(super) fn draw_headline(&mut self) {
        let Some(command) = &self.layout.header.replay else { return };
        let letters = (self.extent.right / estimated_text_width("m")).max(MIN_LETTERS);
        for line in wrap_lines(&escape_invisible(command), letters).iter().rev() {
            self.above(line, "small");
        }
        self.above(&self.layout.caption(), "name");
    }

    /// Writes a line of text above everything that is drawn so far.
    fn above(&mut self, description: &str, class: &str) {
        let start = Point { x: 0, y: self.extent.top - LINE_HEIGHT };
        let (top, bottom) = (start.y - LINE_HEIGHT / 2, start.y + LINE_HEIGHT / 2);
        self.extent = self.extent.union(Rect {
            left: start.x,
            top,
            right: start.x + estimated_text_width(description),
            bottom,
        });
        write_text(&mut self.texts, start, "start", description, class);
    }
}

/// Breaks a text between words into lines of at most `max_letters` letters. A longer word has a
/// line of its own.
pub(super) fn wrap_lines(text: &str, max_letters: i64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let fits = |line: &&mut String| {
            (line.chars().count() + 1 + word.chars().count()) as i64 <= max_letters
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
    fn breaks_command_between_words() {
        assert_eq!(wrap_lines("tenure check central -n 2", 12), ["tenure check", "central -n 2"]);
        assert_eq!(wrap_lines("tenure simulate-it", 4), ["tenure", "simulate-it"]);
        assert_eq!(wrap_lines("", 4), [""; 0]);
    }
}
