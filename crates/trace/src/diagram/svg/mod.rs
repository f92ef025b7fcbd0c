//! Diagrams as SVG: integer coordinates, deterministic output, light and dark colors.

mod arrows;
mod frame;
pub(in crate::diagram) mod geometry;
mod kinds;
mod label_placer;
mod marks;
mod notes;
mod rows;
pub(in crate::diagram) mod style;
mod violations;

use std::fmt::Write;

use tenure_core::ProcessId;

use self::geometry::{Line, Point, Rect};
use self::label_placer::LabelPlacer;
use self::style::{STYLE_SHEET, SVG_DEFINITIONS, escape_xml, estimated_text_width, max_text_width};
use super::layout::{DiagramLayout, DiagramStep, ProcessCondition, StepCause};
use super::options::TimeDirection;

/// Height of a line of text. All lengths in this file are in pixels.
const LINE_HEIGHT: i64 = 16;
/// Distance from the process names to the first step.
const START_MARGIN: i64 = 44;
const END_MARGIN: i64 = 44;

impl DiagramLayout {
    /// Renders the diagram as an SVG file.
    pub fn to_svg(&self, direction: TimeDirection) -> String {
        let (sheet, body) = Drawing::of(self, direction).finish();
        sheet.around(&body)
    }
}

/// SVG picture of a layout, while it is being drawn.
struct Drawing<'l> {
    layout: &'l DiagramLayout,
    direction: TimeDirection,
    /// Minimum distance of two steps of one process along the time axis, in pixels.
    step: i64,
    /// Distance of two neighbouring lifelines, in pixels.
    lane: i64,
    /// Lowest layer of the picture: lifelines, shaded areas, and the lines of notes.
    ground: String,
    /// Layer of the bars of conditions, and of the arrows.
    lines: String,
    /// Layer of boxes. Each box lies behind a label and hides the lines that cross the label.
    papers: String,
    dots: String,
    texts: String,
    places: LabelPlacer,
    /// Bounding box of the labels, lifelines and shaded areas drawn so far.
    extent: Rect,
}

/// Area and texts of an SVG file with one or several pictures.
struct Canvas {
    area: Rect,
    title: String,
    description: String,
    /// SVG definitions of the arrow heads.
    heads: String,
}

impl Canvas {
    fn around(&self, body: &str) -> String {
        let Rect { left, top, right, bottom } = self.area;
        let (wide, high) = (right - left, bottom - top);
        let (title, description) = (escape_xml(&self.title), escape_xml(&self.description));
        let heads = &self.heads;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{left} {top} {wide} {high}\" \
             width=\"{wide}\" height=\"{high}\" role=\"img\" aria-labelledby=\"title summary\">\n\
             <title id=\"title\">{title}</title>\n<desc id=\"summary\">{description}</desc>\n\
             <style>\n{STYLE_SHEET}</style>\n<defs>\n{SVG_DEFINITIONS}{heads}</defs>\n\
             <rect class=\"paper\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\"/>\n\
             {body}</svg>\n"
        )
    }
}

impl<'l> Drawing<'l> {
    fn of(layout: &'l DiagramLayout, direction: TimeDirection) -> Self {
        let mut drawing = Drawing::new(layout, direction);
        drawing.draw_frame();
        drawing.draw_spans();
        drawing.draw_arrows();
        drawing.draw_step_marks();
        drawing.draw_violation_marks();
        drawing.draw_headline();
        drawing
    }

    fn new(layout: &'l DiagramLayout, direction: TimeDirection) -> Self {
        let labels = layout.arrows.iter().map(|arrow| estimated_text_width(&arrow.label()));
        let longest = labels.max().unwrap_or(0);
        let (step, lane) = match direction {
            TimeDirection::Right => ((longest + 40).clamp(56, 170), 92),
            TimeDirection::Down => (44, (longest + 44).clamp(110, 240)),
        };
        let origin = Rect { left: 0, top: 0, right: 1, bottom: 1 };
        Drawing {
            layout,
            direction,
            step,
            lane,
            ground: String::new(),
            lines: String::new(),
            papers: String::new(),
            dots: String::new(),
            texts: String::new(),
            places: LabelPlacer::default(),
            extent: origin,
        }
    }

    /// Returns the point at the position `along` of the time axis, in pixels. The point is `beside`
    /// pixels away from the lifeline of `process`, towards the next lifeline.
    fn point(&self, along: i64, process: ProcessId, beside: i64) -> Point {
        let across = process.index() as i64 * self.lane + beside;
        match self.direction {
            TimeDirection::Right => Point { x: along, y: across },
            TimeDirection::Down => Point { x: across, y: along },
        }
    }

    /// Converts a position in the unit of `DiagramLayout::column_positions` to pixels along the
    /// axis.
    fn along(&self, place: u32) -> i64 {
        START_MARGIN + i64::from(place) * self.step / 100
    }

    fn step_along(&self, step: usize) -> i64 {
        self.along(self.layout.axis_position(step))
    }

    /// Returns the position of the end of the time axis, in pixels.
    fn end(&self) -> i64 {
        self.along(self.layout.axis_end()) + END_MARGIN
    }

    fn dot(&self, step: usize) -> Option<Point> {
        let at = self.layout.steps[step].at?;
        Some(self.point(self.step_along(step), at, 0))
    }

    fn last_process(&self) -> ProcessId {
        ProcessId::from_index(self.layout.process_count().saturating_sub(1))
    }

    /// Returns the SVG element of a bar along the lifeline of a process. The bar extends from
    /// `from` to `to` on the time axis. `thick` is the width of the bar. All lengths are in pixels.
    fn bar(&self, (from, to): (i64, i64), at: ProcessId, thick: i64, class: &str) -> String {
        let (start, end) = (self.point(from, at, -thick / 2), self.point(to, at, thick / 2));
        let (width, height) = (end.x - start.x, end.y - start.y);
        format!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" \
             rx=\"2\"/>\n",
            start.x, start.y
        )
    }

    /// Reserves an area, so that no label covers it, and extends the picture to include it.
    fn claim(&mut self, area: Rect) {
        self.places.reserve_area(area);
        self.extent = self.extent.union(area);
    }

    /// Writes a text centered at a point, and reserves its area.
    fn write(&mut self, center: Point, label: &str, class: &str) {
        self.claim(Rect::around(center, estimated_text_width(label), LINE_HEIGHT));
        write_text(&mut self.texts, center, "middle", label, class);
    }

    /// Writes a text centered at a point, even if lines cross the text. A box behind the text hides
    /// these lines completely. A halo around the letters would not hide the lines between two
    /// words. Does not reserve the area of the text.
    fn write_over(&mut self, center: Point, label: &str, class: &str) {
        if label.is_empty() {
            return;
        }
        let Rect { left, top, right, bottom } =
            Rect::around(center, max_text_width(label) + 4, LINE_HEIGHT - 2);
        let (wide, high) = (right - left, bottom - top);
        let _ = writeln!(
            self.papers,
            "<rect class=\"paper\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\"/>"
        );
        write_text(&mut self.texts, center, "middle", label, class);
    }

    /// Returns the canvas of the picture, and its content as SVG.
    fn finish(self) -> (Canvas, String) {
        let pad = 14;
        let Rect { left, top, right, bottom } = self.extent;
        let area =
            Rect { left: left - pad, top: top - pad, right: right + pad, bottom: bottom + pad };
        let (title, description) = (self.layout.caption(), self.layout.summary());
        let sheet = Canvas { area, title, description, heads: self.arrowhead_definitions() };
        let Drawing { ground, lines, papers, dots, texts, .. } = self;
        (sheet, format!("{ground}{lines}{papers}{dots}{texts}"))
    }
}

impl DiagramLayout {
    /// Describes the picture in words, for screen readers. A long description ends after about
    /// 1,000 bytes.
    fn summary(&self) -> String {
        let (steps, messages) = (self.steps.len(), self.arrows.len());
        let mut summary = format!("A space–time diagram of {steps} steps and {messages} messages.");
        for step in &self.steps {
            let tells = step.enters
                || step.exits
                || !step.agreement_events.is_empty()
                || step.leader.is_some_and(|term| step.at == Some(term.leader))
                || matches!(
                    step.cause,
                    StepCause::Crashes | StepCause::Recovers | StepCause::Network(_)
                );
            if !tells {
                continue;
            }
            if summary.len() > 1_000 {
                summary += " And so on.";
                break;
            }
            let _ = write!(summary, " {}.", self.step_summary(step));
        }
        summary
    }

    fn step_summary(&self, step: &DiagramStep) -> String {
        match (&step.cause, step.at) {
            (StepCause::Network(text), _) => text.clone(),
            (_, Some(at)) => format!("{at} {}", self.step_description(step)),
            (_, None) => self.step_description(step),
        }
    }

    fn any(&self, wanted: impl Fn(ProcessCondition) -> bool) -> bool {
        self.spans.iter().any(|span| wanted(span.condition))
    }
}

pub(in crate::diagram) fn write_text(
    to: &mut String,
    at: Point,
    anchor: &str,
    label: &str,
    class: &str,
) {
    let (x, y) = (at.x, at.y + 4);
    let anchor =
        if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
    let label = escape_xml(label);
    let _ = writeln!(to, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{label}</text>");
}

fn path(to: &mut String, line: &Line, class: &str, more: &str) {
    let _ = writeln!(to, "<path class=\"{class}\" d=\"{}\"{more}/>", line.path_data());
}

pub(in crate::diagram) fn write_shape(to: &mut String, at: Point, shape: &str, class: &str) {
    let Point { x, y } = at;
    let moved = format!("transform=\"translate({x} {y})\"");
    let _ = writeln!(to, "<path class=\"{class}\" {moved} d=\"{shape}\"/>");
}
