//! Logs as SVG: integer coordinates, deterministic output, light and dark colors.

use std::borrow::Cow;
use std::fmt::Write;

use tenure_core::ProcessId;
use tenure_core::service::log::{Content, Entry};

use super::{Panel, ReplicatedLogDiagram};
use crate::diagram::svg::geometry::Point;
use crate::diagram::svg::style::{CROWN_PATH, escape_xml, estimated_text_width};
use crate::diagram::svg::{write_shape, write_text};
use crate::escaping::escape_invisible;
use crate::fold::logs::ReplicatedLogState;

/// Width of an entry's box. All lengths in this file are in pixels.
const BOX_WIDTH: i64 = 36;
const ROW_HEIGHT: i64 = 46;
const BOX_HEIGHT: i64 = 34;
/// Width of the process names, including the marks for a leader or a process that is down.
const NAMES_WIDTH: i64 = 78;
const ELLIPSIS_WIDTH: i64 = 20;
/// Height of the caption and the indexes above the boxes.
const HEADER_HEIGHT: i64 = 44;
/// Distance between two panels. Each panel shows the logs at one time.
const PANEL_GAP: i64 = 34;
/// Maximum width of a row of panels. Further panels begin a new row. A panel that is wider has a
/// row of its own.
const MAX_WIDTH: i64 = 960;
const MARGIN: i64 = 14;
/// Maximum number of letters that a box shows of the content of its entry, below the term.
const MAX_LETTERS: usize = 4;
/// Maximum number of digits of a term that fit into a box in letters of normal size.
const FULL_SIZE_DIGITS: usize = 3;
/// Maximum number of characters with which a box shows a term. If the term has more digits, the box
/// shows `…` and the last digits.
const MAX_DIGITS: usize = 4;
/// Number of colors for terms. Further terms use the same colors again. Each box also contains the
/// number of its term.
const COLOR_COUNT: u64 = 6;

const STYLE: &str = "\
text{font:12px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#1b1f24}
.name{font-weight:bold;font-size:14px}
.term{font-weight:bold;font-size:15px}
.small{font-size:11px;fill:#4d555e}
.says{font-size:11px;fill:#1b1f24}
.paper{fill:#fff}
.crown{fill:#e69f00;stroke:#5c4000}
.entry{stroke:#4d555e;stroke-width:1.2;stroke-dasharray:4 3}
.safe{stroke:#1b1f24;stroke-width:1.6;stroke-dasharray:none}
.snapshot{fill:#e3e6ea}
.mark{stroke:#a0348f;stroke-width:5;fill:none}
.t0{fill:#e6def6}.t1{fill:#cfe6f7}.t2{fill:#fbe6ba}.t3{fill:#c9eddb}
.t4{fill:#f7d5e6}.t5{fill:#fad4c3}
@media (prefers-color-scheme:dark){
text,.says{fill:#f2f4f6}
.small{fill:#aab2bb}
.paper{fill:#12161b}
.crown{fill:#f0c040;stroke:#fff3c4}
.entry{stroke:#aab2bb}
.safe{stroke:#f2f4f6}
.snapshot{fill:#343c45}
.mark{stroke:#e79bd8}
.t0{fill:#4a3f73}.t1{fill:#1d4f76}.t2{fill:#6b4e0c}.t3{fill:#15573f}
.t4{fill:#6d2f52}.t5{fill:#74361c}
}
";

impl ReplicatedLogDiagram {
    /// Renders the logs as an SVG file. Shows the last `max_entries` log indices, up to the highest
    /// index in any log. A shorter log may therefore have no box.
    pub fn to_svg(&self, max_entries: u64) -> String {
        let (first, last) = self.shown(max_entries);
        let mut drawing =
            Drawing { picture: self, first, last, left: 0, top: 0, drawn: String::new() };
        let (across, down) = drawing.panel_size();
        let beside = ((MAX_WIDTH + PANEL_GAP) / (across + PANEL_GAP)).max(1);
        for (place, panel) in self.panels.iter().enumerate() {
            let place = place as i64;
            drawing.left = place % beside * (across + PANEL_GAP);
            drawing.top = place / beside * (down + PANEL_GAP);
            drawing.panel(panel);
        }
        let count = self.panels.len() as i64;
        let columns = count.min(beside);
        let rows = (count + beside - 1) / beside;
        let high = rows * (down + PANEL_GAP) - PANEL_GAP;
        (drawing.left, drawing.top) = (0, 0);
        let legend = drawing.legend(high + 24);
        let wide = (columns * (across + PANEL_GAP) - PANEL_GAP).max(legend);
        drawing.finish(wide, high + 34)
    }

    /// Describes the picture in words, for screen readers.
    fn summary(&self) -> String {
        let mut summary = String::from("The logs of all processes.");
        for panel in &self.panels {
            if summary.len() > 1_000 {
                summary += " And so on.";
                break;
            }
            let _ = write!(summary, " {}:", panel.caption);
            for at in self.processes() {
                let Some(kept) = panel.logs.log(at) else { continue };
                let leads = if kept.leading_term.is_some() { " leads and" } else { "" };
                let snapshot = match kept.snapshot_index {
                    0 => String::new(),
                    index => format!(" a snapshot up to {index} and"),
                };
                let terms: Vec<String> =
                    kept.entries.iter().map(|it| it.term.to_string()).collect();
                let terms = if terms.is_empty() { "nothing".to_owned() } else { terms.join(" ") };
                let _ = write!(
                    summary,
                    " {at}{leads} has{snapshot} {terms}, committed {};",
                    kept.commit_index
                );
            }
        }
        summary
    }
}

struct Drawing<'p> {
    picture: &'p ReplicatedLogDiagram,
    first: u64,
    last: u64,
    /// Left edge of the panel that is being drawn.
    left: i64,
    top: i64,
    drawn: String,
}

impl Drawing<'_> {
    fn more(&self) -> i64 {
        if self.first > 1 { ELLIPSIS_WIDTH } else { 0 }
    }

    fn panel_size(&self) -> (i64, i64) {
        let boxes = (self.last + 1 - self.first) as i64;
        let across = NAMES_WIDTH + self.more() + boxes.max(1) * BOX_WIDTH;
        (across, HEADER_HEIGHT + i64::from(self.picture.header.n) * ROW_HEIGHT)
    }

    fn left_of(&self, index: u64) -> i64 {
        self.left + NAMES_WIDTH + self.more() + (index - self.first) as i64 * BOX_WIDTH
    }

    fn panel(&mut self, panel: &Panel) {
        let (left, top) = (self.left, self.top);
        if self.picture.panels.len() > 1 {
            self.text(left, top + 12, "start", "name", &panel.caption);
        }
        if self.last > 0 {
            for index in self.first..=self.last {
                let middle = self.left_of(index) + BOX_WIDTH / 2;
                self.text(middle, top + HEADER_HEIGHT - 8, "middle", "small", &index.to_string());
            }
        }
        for at in self.picture.processes() {
            let row = top + HEADER_HEIGHT + at.index() as i64 * ROW_HEIGHT;
            self.name(at, panel.logs.log(at), row);
            if let Some(kept) = panel.logs.log(at) {
                self.row(kept, row);
            }
        }
    }

    fn name(&mut self, at: ProcessId, kept: Option<&ReplicatedLogState>, top: i64) {
        let middle = top + BOX_HEIGHT / 2;
        let left = self.left;
        self.text(left, middle + 5, "start", "name", &at.to_string());
        let Some(kept) = kept else { return };
        if kept.leading_term.is_some() {
            let crown = Point { x: left + NAMES_WIDTH - 22, y: middle };
            write_shape(&mut self.drawn, crown, CROWN_PATH, "crown");
        } else if kept.is_down {
            self.text(left + NAMES_WIDTH - 8, middle + 4, "end", "small", "down");
        }
    }

    fn row(&mut self, kept: &ReplicatedLogState, top: i64) {
        if kept.last_index() > 0 && self.first > 1 {
            self.text(self.left + NAMES_WIDTH + 4, top + BOX_HEIGHT / 2 + 4, "start", "small", "…");
        }
        if kept.last_index() > 0 && kept.last_index() < self.first {
            let label = format!("ends at {}", kept.last_index());
            let x = self.left + NAMES_WIDTH + ELLIPSIS_WIDTH;
            self.text(x, top + BOX_HEIGHT / 2 + 4, "start", "small", &label);
        }
        if kept.snapshot_index >= self.first {
            self.snapshot(kept.snapshot_index, top);
        }
        for index in self.first..=kept.last_index() {
            let Some(entry) = kept.entry(index) else { continue };
            self.entry(entry, index <= kept.commit_index, self.left_of(index), top);
        }
        if kept.commit_index >= self.first {
            let right = self.left_of(kept.commit_index.min(self.last)) + BOX_WIDTH - 1;
            self.mark(right, top - 4, top + BOX_HEIGHT + 4);
        }
    }

    /// Draws the mark after the entry at the commit index.
    fn mark(&mut self, x: i64, top: i64, bottom: i64) {
        let _ = writeln!(self.drawn, "<path class=\"mark\" d=\"M{x} {top}V{bottom}\"/>");
    }

    /// Draws the box that represents a snapshot, which covers all entries up to `index`.
    fn snapshot(&mut self, index: u64, top: i64) {
        let (left, right) = (self.left_of(self.first), self.left_of(index) + BOX_WIDTH);
        let _ = writeln!(
            self.drawn,
            "<rect class=\"entry safe snapshot\" x=\"{}\" y=\"{top}\" width=\"{}\" \
             height=\"{BOX_HEIGHT}\" rx=\"2\"/>",
            left + 1,
            right - left - 4
        );
        let label = if right - left > 2 * BOX_WIDTH { "snapshot" } else { "sn." };
        self.text((left + right) / 2 - 1, top + 21, "middle", "says", label);
    }

    fn entry(&mut self, entry: &Entry, safe: bool, left: i64, top: i64) {
        let colour = entry.term % COLOR_COUNT;
        let class = if safe { "entry safe" } else { "entry" };
        let _ = writeln!(
            self.drawn,
            "<g><title>{}</title><rect class=\"{class} t{colour}\" x=\"{}\" y=\"{top}\" \
             width=\"{}\" height=\"{BOX_HEIGHT}\" rx=\"2\"/></g>",
            escape_xml(&escape_invisible(&entry.to_string())),
            left + 1,
            BOX_WIDTH - 4
        );
        let middle = left + BOX_WIDTH / 2 - 1;
        let label = label(entry);
        let term = entry.term.to_string();
        let below = if label.is_empty() { top + 22 } else { top + 16 };
        let class = if term.len() > FULL_SIZE_DIGITS { "term says" } else { "term" };
        self.text(middle, below, "middle", class, &shortened(&term, MAX_DIGITS));
        if !label.is_empty() {
            self.text(middle, top + 29, "middle", "says", &label);
        }
    }

    fn legend(&mut self, y: i64) -> i64 {
        let mut x = 0;
        let committed = self.picture.all().any(|(_, kept)| kept.commit_index >= self.first);
        let leads = self.picture.all().any(|(_, kept)| kept.leading_term.is_some());
        if committed {
            self.mark(x + 3, y - 11, y + 3);
            x = self.sign(x + 12, y, "committed, as far as each knows");
        }
        if leads {
            write_shape(&mut self.drawn, Point { x: x + 9, y: y - 4 }, CROWN_PATH, "crown");
            x = self.sign(x + 22, y, "leads");
        }
        if self.first > 1 {
            x = self.sign(x, y, &format!("… {} earlier entries", self.first - 1));
        }
        x
    }

    fn sign(&mut self, x: i64, y: i64, label: &str) -> i64 {
        self.text(x, y, "start", "small", label);
        x + estimated_text_width(label) + 10
    }

    fn text(&mut self, x: i64, y: i64, anchor: &str, class: &str, label: &str) {
        write_text(&mut self.drawn, Point { x, y: y - 4 }, anchor, label, class);
    }

    fn finish(self, wide: i64, high: i64) -> String {
        let title = escape_xml(&escape_invisible(&self.picture.header.algorithm));
        let description = escape_xml(&self.picture.summary());
        let (wide, high) = (wide + 2 * MARGIN, high + 2 * MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-{MARGIN} -{MARGIN} {wide} {high}\" \
             width=\"{wide}\" height=\"{high}\" role=\"img\" aria-labelledby=\"title summary\">\n\
             <title id=\"title\">{title}: logs</title>\n<desc id=\"summary\">{description}</desc>\n\
             <style>\n{STYLE}</style>\n\
             <rect class=\"paper\" x=\"-{MARGIN}\" y=\"-{MARGIN}\" \
             width=\"{wide}\" height=\"{high}\"/>\n\
             {}</svg>\n",
            self.drawn
        )
    }
}

/// Shortens a number to at most `most` characters. A longer number becomes `…`, followed by its
/// last `most` − 1 digits.
fn shortened(number: &str, most: usize) -> Cow<'_, str> {
    match number.len().checked_sub(most) {
        None | Some(0) => number.into(),
        Some(_) => format!("…{}", &number[number.len() - (most - 1)..]).into(),
    }
}

/// Formats the content of an entry in at most [`MAX_LETTERS`] letters. Returns an empty string if
/// the entry has no content.
fn label(entry: &Entry) -> String {
    let label = match &entry.content {
        Content::Nothing => return String::new(),
        Content::Payload(payload) => payload.to_string(),
        Content::Members(members) => members.to_text(),
    };
    let label = escape_invisible(&label).into_owned();
    if label.chars().count() <= MAX_LETTERS {
        return label;
    }
    label.chars().take(MAX_LETTERS - 1).chain(['…']).collect()
}
