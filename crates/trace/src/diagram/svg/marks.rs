//! Marks of steps: the dot, its label, the crown of a leader, and the clock.

use std::fmt::Write;

use super::geometry::{Point, Rect};
use super::style::{CROSS_PATH, CROWN_PATH, escape_xml, estimated_text_width};
use super::{Drawing, LINE_HEIGHT, write_shape};
use crate::diagram::layout::{DiagramStep, StepCause};
use crate::diagram::options::TimeDirection;

/// Width of the crown that precedes the label of a step, in pixels.
const CROWN_WIDTH: i64 = 22;

struct Label {
    crown: Option<&'static str>,
    description: String,
}

impl Drawing<'_> {
    pub(super) fn draw_step_marks(&mut self) {
        let layout = self.layout;
        for (place, step) in layout.steps.iter().enumerate() {
            let Some(dot) = self.dot(place).filter(|_| step.is_process_step()) else { continue };
            let words = escape_xml(&step.descriptions.join("; "));
            let time = escape_xml(&layout.time_label(place));
            let _ = writeln!(self.dots, "<g><title>{time}: {words}</title>");
            let Point { x, y } = dot;
            if step.cause == StepCause::Crashes {
                write_shape(&mut self.dots, dot, CROSS_PATH, "cross");
            } else {
                let class = if step.cause == StepCause::Recovers { "ring" } else { "dot" };
                let circle = format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"5\"/>\n");
                self.dots.push_str(&circle);
            }
            self.dots.push_str("</g>\n");
        }
    }

    /// Draws the label and the clock of each step, and the crown that marks a leader.
    pub(super) fn draw_step_labels(&mut self) {
        let layout = self.layout;
        for (place, step) in layout.steps.iter().enumerate() {
            let Some(dot) = self.dot(place) else { continue };
            let Label { crown, description } = label(step);
            let room = if crown.is_some() { CROWN_WIDTH } else { 0 };
            if room > 0 || !description.is_empty() {
                let wide = estimated_text_width(&description) + room;
                let (area, center) = self.beside(dot, wide, crown.is_some());
                self.claim(area);
                if let Some(class) = crown {
                    let at = Point { x: area.left + 11, y: center.y };
                    write_shape(&mut self.texts, at, CROWN_PATH, class);
                }
                let at = Point { x: center.x + room / 2, ..center };
                self.write_over(at, &description, "halo");
            }
            let clock = layout.clock_label(place);
            if !clock.is_empty() {
                let (area, center) = self.beside(dot, estimated_text_width(&clock), false);
                self.claim(area);
                self.write_over(center, &clock, "small halo");
            }
        }
    }

    /// Returns the area and the center of a label next to a dot. Chooses the place with the lowest
    /// cost for [`LabelPlacer::best_place`](super::LabelPlacer::best_place). `wide` is the width of
    /// the label in pixels. If `crowned` is true, the label has a crown.
    fn beside(&self, dot: Point, wide: i64, crowned: bool) -> (Rect, Point) {
        let half = wide / 2;
        let offsets: [(i64, i64); 8] = match self.direction {
            TimeDirection::Right => [
                (0, -21),
                (0, 21),
                (half - 6, -21),
                (half - 6, 21),
                (6 - half, -21),
                (6 - half, 21),
                (0, -35),
                (0, 35),
            ],
            TimeDirection::Down => [
                (half + 14, 0),
                (-half - 14, 0),
                (half + 14, -10),
                (half + 14, 10),
                (-half - 14, -10),
                (-half - 14, 10),
                (half + 14, -18),
                (half + 14, 18),
            ],
        };
        let high = if crowned { LINE_HEIGHT + 2 } else { LINE_HEIGHT };
        let candidates = offsets.into_iter().map(|(x, y)| {
            let center = Point { x: dot.x + x, y: dot.y + y };
            (Rect::around(center, wide + 4, high), 0, center)
        });
        let around = Rect::around(dot, wide, high);
        self.places.best_place(candidates, None).unwrap_or((around, dot))
    }
}

fn label(step: &DiagramStep) -> Label {
    let mut description: Vec<String> = Vec::new();
    match &step.cause {
        StepCause::OtherCause(text) | StepCause::Note(text) => description.push(text.clone()),
        StepCause::Crashes => description.push("crashes".to_owned()),
        StepCause::Recovers => description.push("recovers".to_owned()),
        StepCause::Duplicates(_) => description.push("×2".to_owned()),
        _ => {}
    }
    description.extend(step.agreement_events.iter().cloned());
    let crown = step.leader.map(|term| {
        let leads = step.at == Some(term.leader);
        if !leads {
            description.push(term.leader.to_string());
        }
        if term.number > 0 {
            description.push(format!("term {}", term.number));
        }
        if leads { "crown" } else { "learns" }
    });
    Label { crown, description: description.join(", ") }
}
