//! Notes and network events. A note is a line across all lifelines. The text of the note is next to
//! the lifelines, where there are no messages.

use tenure_core::ProcessId;

use super::geometry::{Line, Point, Rect};
use super::style::{estimated_text_width, max_text_width};
use super::violations::wrap_lines;
use super::{Drawing, LINE_HEIGHT, path, write_text};
use crate::diagram::layout::StepCause;
use crate::diagram::options::TimeDirection;

/// Usual maximum length of the lines of a note, in letters. If a note has no room for the resulting
/// number of lines, the maximum is raised for all notes.
const USUAL_LINE_LETTERS: i64 = 30;
/// Distance between the line of a note and its text, in pixels.
const TEXT_GAP: i64 = 8;

impl<'l> Drawing<'l> {
    pub(super) fn draw_notes(&mut self) {
        for (along, _) in self.notes_in_order() {
            let first = self.point(along, ProcessId(0), -self.lane / 2);
            let last = self.point(along, self.last_process(), self.lane / 2);
            path(&mut self.ground, &Line::straight(first, last), "cut", "");
        }
        match self.direction {
            TimeDirection::Right => self.notes_above(),
            TimeDirection::Down => self.notes_aside(),
        }
    }

    /// Returns the width of the space that notes need beside the lifelines if time runs down, in
    /// pixels.
    pub(super) fn note_width(&self) -> i64 {
        let lines = self.wrapped_notes().into_iter().flat_map(|(_, lines)| lines);
        lines.map(|line| TEXT_GAP + estimated_text_width(&line)).max().unwrap_or(0)
    }

    /// Returns the notes and network events in the order of the time axis, each as its position
    /// along this axis and its text.
    fn notes_in_order(&self) -> Vec<(i64, &'l str)> {
        let layout = self.layout;
        let mut notes = Vec::new();
        for (place, step) in layout.steps.iter().enumerate() {
            if let (None, StepCause::Network(description) | StepCause::Note(description)) =
                (step.at, &step.cause)
            {
                notes.push((self.step_along(place), description.as_str()));
            }
        }
        notes.sort_by_key(|(along, _)| *along);
        notes
    }

    /// Breaks the text of each note into lines, and returns the position of the note with its
    /// lines. If a note has too many lines to fit above the next note, makes the lines of all notes
    /// longer.
    fn wrapped_notes(&self) -> Vec<(i64, Vec<String>)> {
        let notes = self.notes_in_order();
        let next = notes.iter().skip(1).map(|(along, _)| *along).chain([i64::MAX]);
        let rooms: Vec<i64> =
            notes.iter().zip(next).map(|((along, _), next)| (next - along) / LINE_HEIGHT).collect();
        let longest = notes.iter().map(|(_, description)| description.chars().count() as i64).max();
        let mut letters = USUAL_LINE_LETTERS;
        let fits = |letters: i64| {
            let mut each = notes.iter().zip(&rooms);
            each.all(|((_, description), room)| {
                wrap_lines(description, letters).len() as i64 <= *room
            })
        };
        while Some(letters) < longest && !fits(letters) {
            letters += 5;
        }
        notes
            .iter()
            .map(|(along, description)| (*along, wrap_lines(description, letters)))
            .collect()
    }

    /// Writes the notes in rows above the first lifeline. Each note is in the lowest row that has
    /// room for the note.
    fn notes_above(&mut self) {
        let mut ends: Vec<i64> = Vec::new();
        for (along, description) in self.notes_in_order() {
            let row = ends.iter().position(|end| *end < along).unwrap_or(ends.len());
            if row == ends.len() {
                ends.push(0);
            }
            ends[row] = along + estimated_text_width(description) + 12;
            let top = self.point(along, ProcessId(0), -self.lane / 2).y - 10;
            let start = Point { x: along, y: top - row as i64 * (LINE_HEIGHT + 2) };
            self.keep_clear(start, description);
            let center = Point { x: start.x + max_text_width(description) / 2, ..start };
            self.write_over(center, description, "halo");
        }
    }

    /// Writes the text of each note beside the lifelines, where the line of the note ends.
    fn notes_aside(&mut self) {
        for (along, lines) in self.wrapped_notes() {
            let mut start = self.point(along, self.last_process(), self.lane / 2 + TEXT_GAP);
            for line in lines {
                self.keep_clear(start, &line);
                write_text(&mut self.texts, start, "start", &line, "halo");
                start.y += LINE_HEIGHT;
            }
        }
    }

    /// Reserves the area of a text that starts at the point `start`, so that no label covers the
    /// text.
    fn keep_clear(&mut self, start: Point, description: &str) {
        let (left, right) = (start.x - 2, start.x + estimated_text_width(description));
        let (top, bottom) = (start.y - LINE_HEIGHT / 2, start.y + LINE_HEIGHT / 2);
        self.claim(Rect { left, top, right, bottom });
    }
}
