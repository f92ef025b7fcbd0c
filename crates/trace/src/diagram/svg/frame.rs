//! Frame of a diagram: process names, lifelines, axis, partitions and legend.

use std::fmt::Write;

use tenure_core::ProcessId;

use super::geometry::{Line, Point, Rect};
use super::kinds::arrow_style;
use super::style::{CROSS_PATH, CROWN_PATH, GEM_PATH, estimated_text_width};
use super::{Drawing, END_MARGIN, LINE_HEIGHT, START_MARGIN, path, write_shape, write_text};
use crate::diagram::layout::{MessageArrow, MessageOutcome, ProcessCondition};
use crate::diagram::options::{TimeAxis, TimeDirection};

/// Sign that an entry of the legend explains.
enum Sign<'l> {
    /// CSS class of a sign for a condition, an event or the outcome of a message.
    Named(&'static str),
    Message(&'l MessageArrow),
}

/// Minimum distance of two numbers on the axis, in pixels.
const MIN_NUMBER_GAP: i64 = 14;

impl<'l> Drawing<'l> {
    /// Draws the frame of the picture: partitions, process names, lifelines, axis, notes and
    /// legend.
    pub(super) fn draw_frame(&mut self) {
        self.regions();
        for at in (0..self.layout.process_count()).map(ProcessId::from_index) {
            self.name(at);
            self.line_of(at);
        }
        self.axis();
        self.draw_notes();
        self.legend();
    }

    fn name(&mut self, at: ProcessId) {
        let name = at.to_string();
        let center = match self.direction {
            TimeDirection::Right => self.point(-estimated_text_width(&name) / 2, at, 0),
            TimeDirection::Down => self.point(8, at, 0),
        };
        self.claim(Rect::around(center, estimated_text_width(&name) + 8, LINE_HEIGHT));
        write_text(&mut self.texts, center, "middle", &name, "name");
    }

    /// Draws the lifeline of a process. The line is dotted while the process is down or stopped.
    fn line_of(&mut self, at: ProcessId) {
        let mut from = START_MARGIN / 2;
        let end = self.end();
        let mut gaps: Vec<(i64, i64)> = Vec::new();
        for span in self.layout.spans.iter().filter(|span| span.at == at) {
            if matches!(span.condition, ProcessCondition::Down | ProcessCondition::Stopped) {
                gaps.push(self.span_extent(span.from, span.until));
            }
        }
        gaps.sort_unstable();
        for (start, until) in gaps.into_iter().chain([(end, end)]) {
            let line = Line::straight(self.point(from, at, 0), self.point(start.max(from), at, 0));
            path(&mut self.ground, &line, "lane", "");
            from = until.max(from);
            if until > start {
                let gap = Line::straight(self.point(start, at, 0), self.point(until, at, 0));
                path(&mut self.ground, &gap, "down", "");
            }
        }
        let (start, stop) = (self.point(START_MARGIN / 2, at, -3), self.point(end, at, 3));
        let area = Rect { left: start.x, top: start.y, right: stop.x, bottom: stop.y };
        self.places.reserve_lane(area);
        self.extent = self.extent.union(area);
    }

    /// Returns the start and the end of an interval on the time axis, in pixels. `from` and `until`
    /// are the steps in which the interval begins and ends. If one of them is `None`, the interval
    /// extends to that edge of the picture.
    pub(super) fn span_extent(&self, from: Option<usize>, until: Option<usize>) -> (i64, i64) {
        let from = from.map_or(START_MARGIN / 2, |step| self.step_along(step));
        (from, until.map_or_else(|| self.end(), |step| self.step_along(step)))
    }

    /// Draws each partition. Each side of a partition is a shaded band behind the lifelines of its
    /// processes.
    fn regions(&mut self) {
        for region in &self.layout.partition_spans {
            let extent = self.span_extent(region.from, region.until);
            for (place, side) in region.sides.iter().enumerate() {
                for at in side.iter().filter(|at| at.index() < self.layout.process_count()) {
                    let class = if place % 2 == 0 { "side0" } else { "side1" };
                    let bar = self.bar(extent, *at, self.lane - 8, class);
                    self.ground.push_str(&bar);
                    let [start, end] = [(extent.0, -1), (extent.1, 1)]
                        .map(|(along, side)| self.point(along, *at, side * self.lane / 2));
                    let (left, top) = (start.x, start.y);
                    let area = Rect { left, top, right: end.x, bottom: end.y };
                    self.extent = self.extent.union(area);
                }
            }
        }
    }

    /// Returns the point at the position `along` on the time axis, `pixels` pixels beyond the last
    /// lifeline.
    fn below(&self, along: i64, pixels: i64) -> Point {
        self.point(along, self.last_process(), pixels)
    }

    /// Returns the distance between the last lifeline and the numbers of the time axis, in pixels.
    /// Notes are drawn in this space.
    fn beyond(&self) -> i64 {
        let least = self.lane / 2 + 14;
        if self.direction == TimeDirection::Right {
            return least;
        }
        least.max(self.lane / 2 + self.note_width() + 10)
    }

    /// Draws the numbers of the time axis. If there is no room for all numbers, leaves some of them
    /// out.
    fn axis(&mut self) {
        let layout = self.layout;
        let mut columns: Vec<(i64, String)> = Vec::new();
        for (place, step) in layout.steps.iter().enumerate() {
            if step.at.is_none()
                || !step.is_process_step() && layout.options.scale == TimeAxis::Causal
            {
                continue;
            }
            let number = match layout.options.scale {
                TimeAxis::Time => layout.time_label(place),
                TimeAxis::Causal => (step.axis_order.1 + 1).to_string(),
            };
            columns.push((self.step_along(place), number));
        }
        columns.sort();
        columns.dedup_by(|later, earlier| later.1 == earlier.1);
        let unit = match layout.options.scale {
            TimeAxis::Time => format!("time in {}, not to scale", layout.time_unit()),
            TimeAxis::Causal => "longest chain of steps".to_owned(),
        };
        let beyond = self.beyond();
        let mut free = i64::MIN;
        for (along, number) in columns {
            let room = if self.direction == TimeDirection::Right {
                estimated_text_width(&number)
            } else {
                LINE_HEIGHT
            };
            if along - room / 2 < free {
                continue;
            }
            free = along + room / 2 + MIN_NUMBER_GAP;
            let [start, end] = [-6, -10].map(|pixels| self.below(along, beyond + pixels));
            path(&mut self.ground, &Line::straight(start, end), "grid", "");
            let center = match self.direction {
                TimeDirection::Right => self.below(along, beyond + 4),
                TimeDirection::Down => {
                    self.below(along, beyond + estimated_text_width(&number) / 2)
                }
            };
            self.write(center, &number, "small");
        }
        let center = match self.direction {
            TimeDirection::Right => {
                let center = self.below(self.end(), beyond + 4 + LINE_HEIGHT);
                // The unit is to the right of the process names, even if the axis is short.
                Point {
                    x: (center.x - estimated_text_width(&unit) / 2)
                        .max(estimated_text_width(&unit) / 2),
                    ..center
                }
            }
            TimeDirection::Down => self.below(8, beyond + estimated_text_width(&unit) / 2),
        };
        self.write(center, &unit, "small");
    }

    /// Returns the signs of the legend that the diagram needs, each with its description.
    fn legend_entries(&self) -> Vec<(Sign<'l>, String)> {
        let layout = self.layout;
        let has_condition = |wanted| layout.any(|condition| condition == wanted);
        let has_outcome = |outcome| layout.arrows.iter().any(move |arrow| arrow.outcome == outcome);
        let down = has_condition(ProcessCondition::Down);
        let leads = layout.any(|condition| matches!(condition, ProcessCondition::Leading(_)));
        let learns = layout.steps.iter().any(|step| {
            step.leader.is_some_and(|term| step.at.is_some() && step.at != Some(term.leader))
        });
        let signs = [
            (has_condition(ProcessCondition::Waiting), "waits", "waits to enter"),
            (has_condition(ProcessCondition::Inside), "inside", "is inside"),
            (has_condition(ProcessCondition::Token), "token", "has the token"),
            (leads, "crown", "leads"),
            (learns, "learns", "learns the leader"),
            (has_outcome(MessageOutcome::Lost), "lost", "lost"),
            (has_outcome(MessageOutcome::UnderWay), "open", "under way"),
            (down, "cross", "crashes"),
            (down, "down", "is down"),
        ];
        let signs = signs.into_iter().filter(|(is_shown, ..)| *is_shown);
        let signs = signs.map(|(_, sign, description)| (Sign::Named(sign), description.to_owned()));
        let kinds = self.legend_arrows().into_iter();
        let kinds = kinds.map(|kind| (Sign::Message(kind), kind.message.to_string()));
        kinds.chain(signs).collect()
    }

    fn legend(&mut self) {
        let entries = self.legend_entries();
        let Point { x: mut left, y: mut top } = match self.direction {
            TimeDirection::Right => self.below(4, self.lane / 2 + 18 + LINE_HEIGHT),
            TimeDirection::Down => Point { x: 0, y: self.end() + 20 },
        };
        let mut right = match self.direction {
            TimeDirection::Right => self.end() - 170,
            TimeDirection::Down => self.below(0, self.lane / 2).x,
        };
        let two =
            entries.iter().map(|(_, it)| 2 * (56 + estimated_text_width(it))).max().unwrap_or(0);
        if self.direction == TimeDirection::Right && right < left + two {
            // The legend does not fit beside the name of the scale, so it begins one line lower.
            (top, right) = (top + LINE_HEIGHT + 6, self.end());
        }
        let begin = left;
        for (sign, description) in entries {
            let wide = 42 + estimated_text_width(&description) + 14;
            if left > begin && left + wide > right.max(begin + 2 * wide) {
                (left, top) = (begin, top + LINE_HEIGHT + 6);
            }
            let at = Point { x: left, y: top };
            match sign {
                Sign::Named(sign) => self.sign(at, sign),
                Sign::Message(kind) => {
                    let (class, head) = arrow_style(kind);
                    let end = Point { x: left + 32, y: top };
                    path(&mut self.dots, &Line::straight(at, end), &class, &head);
                }
            }
            let start = Point { x: left + 42, y: top };
            write_text(&mut self.texts, start, "start", &description, "small");
            let area = Rect {
                left,
                top: top - LINE_HEIGHT / 2,
                right: left + wide,
                bottom: top + LINE_HEIGHT,
            };
            self.extent = self.extent.union(area);
            left += wide;
        }
    }

    fn sign(&mut self, at: Point, sign: &str) {
        let Point { x, y } = at;
        let middle = Point { x: x + 15, y };
        let line = Line::straight(at, Point { x: x + 30, y });
        match sign {
            "waits" | "inside" => {
                let y = y - 6;
                let _ = writeln!(
                    self.dots,
                    "<rect class=\"{sign}\" x=\"{x}\" y=\"{y}\" width=\"30\" height=\"12\" \
                     rx=\"2\"/>"
                );
            }
            "crown" | "learns" => write_shape(&mut self.dots, middle, CROWN_PATH, sign),
            "token" => {
                path(&mut self.dots, &line, "token", "");
                write_shape(&mut self.dots, middle, GEM_PATH, "gem");
            }
            "cross" => write_shape(&mut self.dots, middle, CROSS_PATH, sign),
            "lost" => {
                path(&mut self.dots, &line, sign, "");
                write_shape(&mut self.dots, line.to, CROSS_PATH, "cross");
            }
            _ => path(&mut self.dots, &line, sign, ""),
        }
    }

    /// Draws the bars on the lifelines. They show when a process waits for the critical section, is
    /// inside it, leads, or has the token.
    pub(super) fn draw_spans(&mut self) {
        for span in &self.layout.spans {
            let (from, mut until) = self.span_extent(span.from, span.until);
            if span.until.is_none() {
                until -= END_MARGIN / 3;
            }
            let bar = match span.condition {
                ProcessCondition::Waiting => self.bar((from, until), span.at, 12, "waits"),
                ProcessCondition::Inside => self.bar((from, until), span.at, 14, "inside"),
                ProcessCondition::Leading(_) => self.bar((from, until), span.at, 20, "leads"),
                ProcessCondition::Token => {
                    let [start, end] = [from, until].map(|along| self.point(along, span.at, 11));
                    let mut token = String::new();
                    path(&mut token, &Line::straight(start, end), "token", "");
                    write_shape(&mut token, start.interpolated(end, 50), GEM_PATH, "gem");
                    token
                }
                ProcessCondition::Down | ProcessCondition::Stopped => continue,
            };
            self.lines.push_str(&bar);
            let [start, end] = [(from, -12), (until, 12)]
                .map(|(along, beside)| self.point(along, span.at, beside));
            let (left, top) = (start.x, start.y);
            self.places.reserve_lane(Rect { left, top, right: end.x, bottom: end.y });
        }
    }
}
