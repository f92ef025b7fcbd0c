//! Remarks, and what befell the network: a line across all processes, and words outside of them,
//! where no message passes.

use tenure_core::ProcessId;

use super::crimes::broken;
use super::geometry::{Area, Line, Point};
use super::style::{ink, width};
use super::{Drawing, LINE, path, text};
use crate::diagram::layout::Mark;
use crate::diagram::view::Direction;

/// A remark at the side is broken into lines of so many letters, or more where there is no room
/// for so many lines.
const LEAST_LETTERS: i64 = 30;
/// Between a line across all processes and its words at the side.
const BESIDE: i64 = 8;

impl<'l> Drawing<'l> {
    /// Draws them all.
    pub(super) fn remarks(&mut self) {
        for (along, _) in self.remarked() {
            let first = self.point(along, ProcessId(0), -self.lane / 2);
            let last = self.point(along, self.last_process(), self.lane / 2);
            path(&mut self.ground, &Line::straight(first, last), "cut", "");
        }
        match self.direction {
            Direction::Right => self.remarks_above(),
            Direction::Down => self.remarks_aside(),
        }
    }

    /// How much room remarks take beside the lines of the processes.
    pub(super) fn room_aside(&self) -> i64 {
        let lines = self.remarks_in_lines().into_iter().flat_map(|(_, lines)| lines);
        lines.map(|line| BESIDE + width(&line)).max().unwrap_or(0)
    }

    /// Where on the axis, and what it says, in order.
    fn remarked(&self) -> Vec<(i64, &'l str)> {
        let layout = self.layout;
        let mut remarks = Vec::new();
        for (place, step) in layout.steps.iter().enumerate() {
            if let (None, Mark::Network(says) | Mark::Note(says)) = (step.at, &step.mark) {
                remarks.push((self.step_along(place), says.as_str()));
            }
        }
        remarks.sort_by_key(|(along, _)| *along);
        remarks
    }

    /// The same in lines, so many that the last is above the next remark.
    fn remarks_in_lines(&self) -> Vec<(i64, Vec<String>)> {
        let remarks = self.remarked();
        let next = remarks.iter().skip(1).map(|(along, _)| *along).chain([i64::MAX]);
        let rooms: Vec<i64> =
            remarks.iter().zip(next).map(|((along, _), next)| (next - along) / LINE).collect();
        let longest = remarks.iter().map(|(_, says)| says.chars().count() as i64).max();
        let mut letters = LEAST_LETTERS;
        let fits = |letters: i64| {
            let mut each = remarks.iter().zip(&rooms);
            each.all(|((_, says), room)| broken(says, letters).len() as i64 <= *room)
        };
        while Some(letters) < longest && !fits(letters) {
            letters += 5;
        }
        remarks.iter().map(|(along, says)| (*along, broken(says, letters))).collect()
    }

    /// Rows above the first process, the lowest that is free.
    fn remarks_above(&mut self) {
        let mut ends: Vec<i64> = Vec::new();
        for (along, says) in self.remarked() {
            let row = ends.iter().position(|end| *end < along).unwrap_or(ends.len());
            if row == ends.len() {
                ends.push(0);
            }
            ends[row] = along + width(says) + 12;
            let top = self.point(along, ProcessId(0), -self.lane / 2).y - 10;
            let start = Point { x: along, y: top - row as i64 * (LINE + 2) };
            self.keep_clear(start, says);
            let center = Point { x: start.x + ink(says) / 2, ..start };
            self.write_over(center, says, "halo");
        }
    }

    /// Behind the line across all processes.
    fn remarks_aside(&mut self) {
        for (along, lines) in self.remarks_in_lines() {
            let mut start = self.point(along, self.last_process(), self.lane / 2 + BESIDE);
            for line in lines {
                self.keep_clear(start, &line);
                text(&mut self.texts, start, "start", &line, "halo");
                start.y += LINE;
            }
        }
    }

    /// Something is written from here on.
    fn keep_clear(&mut self, start: Point, says: &str) {
        let (left, right) = (start.x - 2, start.x + width(says));
        let (top, bottom) = (start.y - LINE / 2, start.y + LINE / 2);
        let area = Area { left, top, right, bottom };
        self.places.take(area);
        self.extent = self.extent.with(area);
    }
}
