//! Logs in text: plain, or with a colour for each term.

use super::{LogPicture, Panel};
use crate::fold::logs::Kept;

/// Behind what is committed.
const MARK: char = '║';
/// Between two entries.
const EDGE: char = '│';
/// What a snapshot stands for.
const SNAPSHOT: char = '▒';
/// What stands for entries that there is no room for.
const MORE: &str = "… ";
/// The colours of terms, as terminals with 256 colours number them; the letters are black on all.
const COLOURS: [u8; 6] = [117, 222, 114, 218, 183, 216];

impl LogPicture {
    /// The logs in lines of at most `columns` letters; of long ones the ends. In colours, the
    /// letters that switch them come on top.
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
    picture: &'p LogPicture,
    colours: bool,
    /// How wide the names of the processes are, with what is said of them.
    names: usize,
    /// How wide what stands in a box may be.
    wide: usize,
    first: u64,
    last: u64,
}

impl<'p> Drawing<'p> {
    fn new(picture: &'p LogPicture, columns: usize, colours: bool) -> Self {
        let digits = |number: u64| number.to_string().len();
        let terms = picture.all().flat_map(|(_, kept)| kept.entries.iter().map(|it| it.term));
        let wide = digits(terms.max().unwrap_or(0)).max(digits(picture.last()));
        let names = digits(u64::from(picture.header.n)) + "P leads ".len();
        let room = columns.saturating_sub(names + MORE.len() + 1) / (wide + 3);
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
            let kept = panel.logs.of(at);
            let says = match kept {
                Some(Kept { is_down: true, .. }) => "down",
                Some(Kept { leads: Some(_), .. }) => "leads",
                _ => "",
            };
            let name = format!("{at} {says}");
            let row = kept.map_or_else(String::new, |kept| self.row(kept));
            let line = format!("{name:<names$}{row}", names = self.names);
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// What stands in front of boxes where there are more.
    fn more(&self) -> &'static str {
        if self.first > 1 { MORE } else { "" }
    }

    fn row(&self, kept: &Kept) -> String {
        if kept.last() == 0 {
            return String::new();
        }
        if kept.last() < self.first {
            return format!("{MORE}ends at {}", kept.last());
        }
        let edge = |behind: u64| if behind > 0 && behind == kept.committed { MARK } else { EDGE };
        let mut row = self.more().to_owned();
        row.push(edge(self.first - 1));
        for index in self.first..=kept.snapshot {
            row.extend([SNAPSHOT].repeat(self.wide + 2));
            row.push(if index == kept.snapshot { edge(index) } else { SNAPSHOT });
        }
        for index in self.first.max(kept.snapshot + 1)..=kept.last() {
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

    /// What the signs mean.
    fn foot(&self) -> String {
        let mut foot = String::new();
        let committed: Vec<u64> = self.picture.all().map(|(_, kept)| kept.committed).collect();
        if committed.iter().any(|index| *index + 1 >= self.first && *index > 0) {
            foot += &format!("{MARK} committed up to here, as far as each process knows\n");
        }
        if self.picture.all().any(|(_, kept)| kept.snapshot >= self.first) {
            foot += &format!("{SNAPSHOT} in a snapshot\n");
        }
        if self.first > 1 {
            foot += &format!("{} {} earlier entries\n", MORE.trim(), self.first - 1);
        }
        foot
    }
}
