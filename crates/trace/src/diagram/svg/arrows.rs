//! Arrows that represent messages.

use std::fmt::Write;

use tenure_core::ProcessId;

use super::geometry::{Line, Point, Rect};
use super::kinds::arrow_style;
use super::style::{CROSS_PATH, escape_xml, estimated_text_width};
use super::{Drawing, LINE_HEIGHT, path, write_shape};
use crate::diagram::layout::{MessageArrow, MessageOutcome};
use crate::diagram::options::TimeDirection;

/// Distance between the center of a step's dot and the end of an arrow, in pixels.
const DOT_RADIUS: i64 = 7;
/// Minimum distance of a message's line from the dots of other processes, in pixels. A line that
/// would be closer is bent if possible.
const MIN_CLEARANCE: i64 = 12;

impl Drawing<'_> {
    /// Draws the arrows of all messages, then the labels of steps, and then the labels of messages.
    pub(super) fn draw_arrows(&mut self) {
        for step in 0..self.layout.steps.len() {
            if let Some(dot) = self.dot(step).filter(|_| self.layout.steps[step].is_process_step())
            {
                self.places.reserve_area(Rect::around(dot, 2 * DOT_RADIUS, 2 * DOT_RADIUS));
            }
        }
        let layout = self.layout;
        let lines: Vec<Option<Line>> = layout.arrows.iter().map(|arrow| self.line(arrow)).collect();
        let mut numbers = Vec::new();
        for line in &lines {
            numbers.push(line.map(|line| self.places.reserve_line(line)));
        }
        for (arrow, line) in layout.arrows.iter().zip(&lines) {
            if let Some(line) = line {
                self.arrow(arrow, line);
            }
        }
        self.draw_step_labels();
        for ((arrow, line), own) in layout.arrows.iter().zip(&lines).zip(numbers) {
            if let Some(line) = line {
                self.label(arrow, line, own);
            }
        }
    }

    fn line(&self, arrow: &MessageArrow) -> Option<Line> {
        let sent = arrow.sent_in_step.map(|step| self.step_along(step));
        let ended = arrow.ended_in_step.map(|step| self.step_along(step));
        let at = |along: i64, process| self.point(along, process, 0);
        let MessageArrow { from, to, outcome, .. } = arrow;
        let line = match (sent, ended, outcome) {
            (Some(sent), Some(ended), MessageOutcome::Arrives) => {
                self.bent(Line::straight(at(sent, *from), at(ended, *to)), (*from, *to))
            }
            // The message was sent before the window, so only the end of the line is drawn.
            (None, Some(ended), MessageOutcome::Arrives) => {
                let far = at(ended - self.step, *from);
                let to = at(ended, *to);
                Line::straight(
                    to.moved_towards(far, to.distance(far).min(3 * DOT_RADIUS + self.lane / 3)),
                    to,
                )
            }
            (Some(sent), ended, _) => {
                let ended = ended.filter(|ended| *ended > sent).unwrap_or(sent + self.step);
                let (start, far) = (at(sent, *from), at(ended, *to));
                let part = if *outcome == MessageOutcome::Lost { 70 } else { 45 };
                Line::straight(start, start.interpolated(far, part))
            }
            _ => return None,
        };
        if arrow.from == arrow.to {
            return Some(self.bow(line));
        }
        let start =
            if sent.is_some() { line.from.moved_towards(line.to, DOT_RADIUS) } else { line.from };
        let arrives = *outcome == MessageOutcome::Arrives;
        let end = if arrives {
            line.to.moved_towards(line.control_point.unwrap_or(line.from), DOT_RADIUS)
        } else {
            line.to
        };
        Some(Line { from: start, control_point: line.control_point, to: end })
    }

    /// Bends the line of a message that a process sends to itself, so that the line is not on the
    /// lifeline.
    fn bow(&self, line: Line) -> Line {
        let middle = line.point_at(50);
        let past = match self.direction {
            TimeDirection::Right => Point { y: middle.y - 44, ..middle },
            TimeDirection::Down => Point { x: middle.x + 44, ..middle },
        };
        Line { control_point: Some(past), ..line }
    }

    /// If `line` would pass near a dot of a process between `from` and `to`, returns a bent line
    /// that passes near no such dot. If there is no such bent line, or if none is needed, returns
    /// `line` unchanged.
    fn bent(&self, line: Line, (from, to): (ProcessId, ProcessId)) -> Line {
        let between = |at: ProcessId| at > from.min(to) && at < from.max(to);
        let hits = |line: &Line| {
            (0..self.layout.steps.len()).any(|step| {
                let of = &self.layout.steps[step];
                of.is_process_step()
                    && of.at.is_some_and(between)
                    && self.dot(step).is_some_and(|dot| {
                        line.intersects(Rect::around(dot, 2 * MIN_CLEARANCE, 2 * MIN_CLEARANCE))
                    })
            })
        };
        if to.0.abs_diff(from.0) < 2 || !hits(&line) {
            return line;
        }
        let middle = line.point_at(50);
        let bends = [40, -40, 70, -70].map(|bend| {
            let past = match self.direction {
                TimeDirection::Right => Point { x: middle.x + bend, ..middle },
                TimeDirection::Down => Point { y: middle.y + bend, ..middle },
            };
            Line { control_point: Some(past), ..line }
        });
        bends.into_iter().find(|bent| !hits(bent)).unwrap_or(line)
    }

    fn arrow(&mut self, arrow: &MessageArrow, line: &Line) {
        let MessageArrow { from, to, .. } = arrow;
        let (class, head) = match arrow.outcome {
            MessageOutcome::Lost => ("lost".to_owned(), String::new()),
            MessageOutcome::UnderWay => {
                ("open".to_owned(), " marker-end=\"url(#head)\"".to_owned())
            }
            MessageOutcome::Arrives => arrow_style(arrow),
        };
        let description = escape_xml(&format!("{} from {from} to {to}", arrow.label()));
        let outcome = match arrow.outcome {
            MessageOutcome::Arrives => "",
            MessageOutcome::Lost => ", lost",
            MessageOutcome::UnderWay => ", under way",
        };
        let _ = writeln!(self.lines, "<g><title>{description}{outcome}</title>");
        path(&mut self.lines, line, &class, &head);
        if arrow.outcome == MessageOutcome::Lost {
            write_shape(&mut self.lines, line.to, CROSS_PATH, "cross");
            self.places.reserve_area(Rect::around(line.to, 12, 12));
        }
        self.lines.push_str("</g>\n");
    }

    fn label(&mut self, arrow: &MessageArrow, line: &Line, own: Option<usize>) {
        let description = arrow.label();
        let wide = estimated_text_width(&description);
        // Places the label on the line if possible, and otherwise slightly beside the line.
        let spots = self.spots(arrow, line);
        let aside = wide / 2 + 5;
        let beside: [(i64, i64); 13] = [
            (0, 0),
            (0, -11),
            (0, 11),
            (-aside, 0),
            (aside, 0),
            (-aside, -11),
            (aside, -11),
            (-aside, 11),
            (aside, 11),
            (0, -22),
            (0, 22),
            (0, -33),
            (0, 33),
        ];
        let candidates = beside.into_iter().flat_map(|(x, y)| {
            let away = if y.abs() > LINE_HEIGHT { y.abs() - LINE_HEIGHT / 2 } else { 0 };
            spots.iter().map(move |hundredths| {
                let on = line.point_at(*hundredths);
                let center = Point { x: on.x + x, y: on.y + y };
                (Rect::around(center, wide + 4, LINE_HEIGHT), away, center)
            })
        });
        let Some((area, center)) = self.places.best_place(candidates, own) else { return };
        self.claim(area);
        self.write_over(center, &description, "halo");
    }

    /// Returns candidate positions for a label on the line, the best first. A position is the
    /// distance from the start of the line, in hundredths of the length of the line. The middle of
    /// a gap between two lifelines is best. If there are several gaps, the gap next to the receiver
    /// comes first.
    fn spots(&self, arrow: &MessageArrow, line: &Line) -> Vec<i64> {
        let across = |point: Point| match self.direction {
            TimeDirection::Right => point.y,
            TimeDirection::Down => point.x,
        };
        let gaps = (across(line.to) - across(line.from)).abs() / self.lane + 1;
        let gaps = if arrow.outcome == MessageOutcome::Arrives && arrow.sent_in_step.is_some() {
            gaps
        } else {
            1
        };
        let parts = [50, 44, 56, 38, 62, 32, 68, 26, 74, 20, 80, 15, 85];
        let mut spots = Vec::new();
        for part in parts {
            spots.extend((0..gaps).rev().map(|gap| (gap * 100 + part) / gaps));
        }
        spots
    }
}
