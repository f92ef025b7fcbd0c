//! Drawing of a long run as several rows.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::geometry::Rect;
use super::{Canvas, Drawing};
use crate::diagram::layout::DiagramLayout;
use crate::diagram::options::TimeDirection;

impl DiagramLayout {
    /// Renders consecutive windows of one run as one SVG file. The first window is the top row.
    /// Only the first row has a headline.
    pub fn stack_to_svg(mut rows: Vec<DiagramLayout>, direction: TimeDirection) -> String {
        let title = rows.first().map(DiagramLayout::caption).unwrap_or_default();
        for row in rows.iter_mut().skip(1) {
            row.header.replay = None;
        }
        let (mut wide, mut high) = (1, 0);
        let (mut description, mut body) = (Vec::new(), String::new());
        let mut heads = BTreeSet::new();
        for row in &rows {
            let (sheet, drawn) = Drawing::of(row, direction).finish();
            let Rect { left, top, right, bottom } = sheet.area;
            let (across, down) = (-left, high - top);
            let _ = writeln!(body, "<g transform=\"translate({across} {down})\">\n{drawn}</g>");
            wide = wide.max(right - left);
            high += bottom - top;
            description.push(sheet.description);
            heads.extend(sheet.heads.lines().map(|head| format!("{head}\n")));
        }
        let title = title.split(", events ").next().unwrap_or_default().to_owned();
        let area = Rect { left: 0, top: 0, right: wide, bottom: high.max(1) };
        let sheet = Canvas {
            area,
            title,
            description: description.join(" "),
            heads: heads.into_iter().collect(),
        };
        sheet.around(&body)
    }
}
