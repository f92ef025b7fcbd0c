//! Diagrams as SVG: whole coordinates, the same bytes for the same trace, light and dark.

mod arrows;
mod crimes;
mod frame;
mod geometry;
mod kinds;
mod marks;
mod place;
mod remarks;
mod rows;
pub(in crate::diagram) mod style;

use std::fmt::Write;

use tenure_core::ProcessId;

use self::geometry::{Area, Line, Point};
use self::place::Places;
use self::style::{DEFINITIONS, STYLE, escaped, ink, width};
use super::layout::{Hold, Layout, Mark, Step};
use super::view::Direction;

/// The height of a line of text.
const LINE: i64 = 16;
/// Between the names of the processes and the first step.
const BEFORE: i64 = 44;
/// Behind the last step.
const AFTER: i64 = 44;

impl Layout {
    /// The diagram as an SVG file.
    pub fn to_svg(&self, direction: Direction) -> String {
        let (sheet, body) = Drawing::of(self, direction).finish();
        sheet.around(&body)
    }
}

/// A picture that is being drawn.
struct Drawing<'l> {
    layout: &'l Layout,
    direction: Direction,
    /// What the least distance of two steps takes.
    step: i64,
    /// The distance of two processes.
    lane: i64,
    /// Below everything else.
    ground: String,
    lines: String,
    /// What lies between lines and the words on them.
    papers: String,
    dots: String,
    texts: String,
    places: Places,
    /// Everything that was drawn lies in it.
    extent: Area,
}

/// What a picture, or several, are drawn upon.
struct Sheet {
    /// All of it.
    area: Area,
    title: String,
    /// What is to be seen, in words.
    told: String,
    heads: String,
}

impl Sheet {
    /// The file.
    fn around(&self, body: &str) -> String {
        let Area { left, top, right, bottom } = self.area;
        let (wide, high) = (right - left, bottom - top);
        let (title, told) = (escaped(&self.title), escaped(&self.told));
        let heads = &self.heads;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{left} {top} {wide} {high}\" \
             width=\"{wide}\" height=\"{high}\" role=\"img\" aria-labelledby=\"title summary\">\n\
             <title id=\"title\">{title}</title>\n<desc id=\"summary\">{told}</desc>\n\
             <style>\n{STYLE}</style>\n<defs>\n{DEFINITIONS}{heads}</defs>\n\
             <rect class=\"paper\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\"/>\n\
             {body}</svg>\n"
        )
    }
}

impl<'l> Drawing<'l> {
    /// Everything that is to be seen.
    fn of(layout: &'l Layout, direction: Direction) -> Self {
        let mut drawing = Drawing::new(layout, direction);
        drawing.frame();
        drawing.spans();
        drawing.arrows();
        drawing.marks();
        drawing.crimes();
        drawing.headline();
        drawing
    }

    fn new(layout: &'l Layout, direction: Direction) -> Self {
        let labels = layout.crossings.iter().map(|crossing| width(&crossing.label()));
        let longest = labels.max().unwrap_or(0);
        let (step, lane) = match direction {
            Direction::Right => ((longest + 40).clamp(56, 170), 92),
            Direction::Down => (44, (longest + 44).clamp(110, 240)),
        };
        let origin = Area { left: 0, top: 0, right: 1, bottom: 1 };
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
            places: Places::default(),
            extent: origin,
        }
    }

    /// A point: so far along the axis of time, at the line of a process, and so many pixels
    /// beside it.
    fn point(&self, along: i64, process: ProcessId, beside: i64) -> Point {
        let across = process.index() as i64 * self.lane + beside;
        match self.direction {
            Direction::Right => Point { x: along, y: across },
            Direction::Down => Point { x: across, y: along },
        }
    }

    /// How far along the axis something in hundredths of a step lies.
    fn along(&self, place: u32) -> i64 {
        BEFORE + i64::from(place) * self.step / 100
    }

    fn step_along(&self, step: usize) -> i64 {
        self.along(self.layout.place(step))
    }

    /// Where the axis ends.
    fn end(&self) -> i64 {
        self.along(self.layout.end()) + AFTER
    }

    fn dot(&self, step: usize) -> Option<Point> {
        let at = self.layout.steps[step].at?;
        Some(self.point(self.step_along(step), at, 0))
    }

    fn last_process(&self) -> ProcessId {
        ProcessId::at(self.layout.size().saturating_sub(1))
    }

    /// A bar along the line of a process, or beside it.
    fn bar(&self, (from, to): (i64, i64), at: ProcessId, thick: i64, class: &str) -> String {
        let (start, end) = (self.point(from, at, -thick / 2), self.point(to, at, thick / 2));
        let (width, height) = (end.x - start.x, end.y - start.y);
        format!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" \
             rx=\"2\"/>\n",
            start.x, start.y
        )
    }

    /// Writes a text, centred at a point, that others keep clear of.
    fn write(&mut self, center: Point, says: &str, class: &str) {
        let area = Area::around(center, width(says), LINE);
        self.places.take(area);
        self.extent = self.extent.with(area);
        text(&mut self.texts, center, "middle", says, class);
    }

    /// Writes words that may lie over lines, centred at a point. A halo follows the letters, and
    /// where there is none, between two words, a line would be seen: there is paper below them.
    fn write_over(&mut self, center: Point, says: &str, class: &str) {
        if says.is_empty() {
            return;
        }
        let Area { left, top, right, bottom } = Area::around(center, ink(says) + 4, LINE - 2);
        let (wide, high) = (right - left, bottom - top);
        let _ = writeln!(
            self.papers,
            "<rect class=\"paper\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\"/>"
        );
        text(&mut self.texts, center, "middle", says, class);
    }

    /// What it is drawn upon, and what is drawn.
    fn finish(self) -> (Sheet, String) {
        let pad = 14;
        let Area { left, top, right, bottom } = self.extent;
        let area =
            Area { left: left - pad, top: top - pad, right: right + pad, bottom: bottom + pad };
        let (title, told) = (self.layout.caption(), self.layout.summary());
        let sheet = Sheet { area, title, told, heads: self.heads() };
        let Drawing { ground, lines, papers, dots, texts, .. } = self;
        (sheet, format!("{ground}{lines}{papers}{dots}{texts}"))
    }
}

impl Layout {
    /// The picture in words, for those who do not see it.
    fn summary(&self) -> String {
        let (steps, messages) = (self.steps.len(), self.crossings.len());
        let mut summary = format!("A space–time diagram of {steps} steps and {messages} messages.");
        for step in &self.steps {
            let tells = step.enters
                || step.exits
                || !step.agrees.is_empty()
                || step.leader.is_some_and(|term| step.at == Some(term.leader))
                || matches!(step.mark, Mark::Crashes | Mark::Recovers | Mark::Network(_));
            if !tells {
                continue;
            }
            if summary.len() > 1_000 {
                summary += " And so on.";
                break;
            }
            let _ = write!(summary, " {}.", self.told(step));
        }
        summary
    }

    fn told(&self, step: &Step) -> String {
        match (&step.mark, step.at) {
            (Mark::Network(says), _) => says.clone(),
            (_, Some(at)) => format!("{at} {}", self.says(step)),
            (_, None) => self.says(step),
        }
    }

    fn any(&self, wanted: impl Fn(Hold) -> bool) -> bool {
        self.spans.iter().any(|span| wanted(span.hold))
    }
}

fn text(to: &mut String, at: Point, anchor: &str, says: &str, class: &str) {
    let (x, y) = (at.x, at.y + 4);
    let anchor =
        if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
    let says = escaped(says);
    let _ = writeln!(to, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{says}</text>");
}

fn path(to: &mut String, line: &Line, class: &str, more: &str) {
    let _ = writeln!(to, "<path class=\"{class}\" d=\"{}\"{more}/>", line.path());
}

fn shape(to: &mut String, at: Point, shape: &str, class: &str) {
    let Point { x, y } = at;
    let moved = format!("transform=\"translate({x} {y})\"");
    let _ = writeln!(to, "<path class=\"{class}\" {moved} d=\"{shape}\"/>");
}
