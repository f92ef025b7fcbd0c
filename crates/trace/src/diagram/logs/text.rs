//! Pictures of replicated logs as text, plain or with a color for each term.

use super::{Panel, ReplicatedLogDiagram};
use crate::fold::logs::ReplicatedLogState;

const COMMIT_MARK: char = '║';
const BORDER: char = '│';
/// Sign that represents the entries in a snapshot.
const SNAPSHOT: char = '▒';
const ELLIPSIS: &str = "… ";
/// Background colors of terms, as numbers in the palette of terminals with 256 colors. The letters
/// are black.
const COLOURS: [u8; 6] = [117, 222, 114, 218, 183, 216];

impl ReplicatedLogDiagram {
    /// Renders the logs as text. The rows with boxes have at most `columns` letters, or as many as
    /// one entry needs. If there is not enough room, omits the lowest log indices. If `colours` is
    /// true, each term has a color, and escape sequences make the rows longer.
    pub fn to_text(&self, columns: usize, colours: bool) -> String {
        let drawing = Drawing::new(self, columns, colours);
        let mut text = String::new();
        for panel in &self.panels {
            if self.panels.len() > 1 {
                text += &format!("{}\n", panel.caption);
            }
            text += &drawing.panel(panel);
            if self.panels.len() > 1 {
                text.push('\n');
            }
        }
        text + &drawing.foot()
    }
}

struct Drawing<'p> {
    picture: &'p ReplicatedLogDiagram,
    colours: bool,
    /// Width of the process names with their marks, in letters.
    names: usize,
    /// Width of the text inside a box, in letters. Each entry has a box.
    wide: usize,
    first: u64,
    last: u64,
}

impl<'p> Drawing<'p> {
    fn new(picture: &'p ReplicatedLogDiagram, columns: usize, colours: bool) -> Self {
        let digits = |number: u64| number.to_string().len();
        let terms = picture.all().flat_map(|(_, kept)| kept.entries.iter().map(|it| it.term));
        let wide = digits(terms.max().unwrap_or(0)).max(digits(picture.last_index()));
        let names = digits(u64::from(picture.header.n)) + "P leads ".len();
        let room = columns.saturating_sub(names + ELLIPSIS.len() + 1) / (wide + 3);
        let (first, last) = picture.shown(room as u64);
        Drawing { picture, colours, names, wide, first, last }
    }

    fn panel(&self, panel: &Panel) -> String {
        let mut text = " ".repeat(self.names) + self.more();
        for index in self.first..=self.last {
            text += &format!(" {index:^width$}", width = self.wide + 2);
        }
        let mut text = text.trim_end().to_owned() + "\n";
        for at in self.picture.processes() {
            let kept = panel.logs.log(at);
            let description = match kept {
                Some(ReplicatedLogState { is_down: true, .. }) => "down",
                Some(ReplicatedLogState { leading_term: Some(_), .. }) => "leads",
                _ => "",
            };
            let name = format!("{at} {description}");
            let row = kept.map_or_else(String::new, |kept| self.row(kept));
            let line = format!("{name:<names$}{row}", names = self.names);
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// Returns the sign for omitted entries, or an empty string if none are omitted.
    fn more(&self) -> &'static str {
        if self.first > 1 { ELLIPSIS } else { "" }
    }

    fn row(&self, kept: &ReplicatedLogState) -> String {
        if kept.last_index() == 0 {
            return String::new();
        }
        if kept.last_index() < self.first {
            return format!("{ELLIPSIS}ends at {}", kept.last_index());
        }
        let edge = |behind: u64| {
            if behind > 0 && behind == kept.commit_index { COMMIT_MARK } else { BORDER }
        };
        let mut row = self.more().to_owned();
        row.push(edge(self.first - 1));
        for index in self.first..=kept.snapshot_index {
            row.extend([SNAPSHOT].repeat(self.wide + 2));
            row.push(if index == kept.snapshot_index { edge(index) } else { SNAPSHOT });
        }
        for index in self.first.max(kept.snapshot_index + 1)..=kept.last_index() {
            let Some(entry) = kept.entry(index) else { continue };
            let inside = format!("{:^width$}", entry.term, width = self.wide + 2);
            if self.colours {
                let colour = COLOURS[(entry.term % COLOURS.len() as u64) as usize];
                row += &format!("\u{1b}[30;48;5;{colour}m{inside}\u{1b}[0m");
            } else {
                row += &inside;
            }
            row.push(edge(index));
        }
        row
    }

    fn foot(&self) -> String {
        let mut foot = String::new();
        let committed: Vec<u64> = self.picture.all().map(|(_, kept)| kept.commit_index).collect();
        if committed.iter().any(|index| *index + 1 >= self.first && *index > 0) {
            foot += &format!("{COMMIT_MARK} committed up to here, as far as each process knows\n");
        }
        if self.picture.all().any(|(_, kept)| kept.snapshot_index >= self.first) {
            foot += &format!("{SNAPSHOT} in a snapshot\n");
        }
        if self.first > 1 {
            foot += &format!("{} {} earlier entries\n", ELLIPSIS.trim(), self.first - 1);
        }
        foot
    }
}
