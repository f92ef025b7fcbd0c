//! What a diagram in text is made of, whichever way its time runs.

use std::collections::BTreeSet;

use tenure_core::ProcessId;

use crate::diagram::layout::{Crossing, Fate, Layout};
use crate::diagram::view::{Direction, Margin, Scale};
use crate::fold::standing::Hold;

/// A sign and what it means.
pub(super) type Sign = (&'static str, &'static str);

impl Layout {
    /// The steps from the first row to the last, and the row of each step.
    pub(super) fn in_rows(&self) -> (Vec<usize>, Vec<usize>) {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        if self.view.scale == Scale::Causal {
            order.sort_by_key(|step| (self.steps[*step].moment, *step));
        }
        let mut rows = vec![0; order.len()];
        order.iter().enumerate().for_each(|(row, step)| rows[*step] = row);
        (order, rows)
    }

    /// What is written at the head of a row.
    pub(super) fn head(&self, step: usize, margin: Margin) -> String {
        match (margin, self.view.scale, self.steps[step].number) {
            (Margin::Number, _, number) => number.map_or_else(String::new, |it| it.to_string()),
            (Margin::Place, _, None) => String::new(),
            (Margin::Place, Scale::Time, _) => self.time(step),
            (Margin::Place, Scale::Causal, _) => (self.steps[step].moment.1 + 1).to_string(),
        }
    }

    /// What lasts at a process before the first row, behind it, behind the second, and so on:
    /// `rows[step]` is the row of a step.
    pub(super) fn lasting(&self, rows: &[usize], count: usize) -> Vec<Vec<Option<Hold>>> {
        let mut lasting = vec![vec![None; count + 1]; self.size()];
        let weight = |hold: Hold| match hold {
            Hold::Down => 5,
            Hold::Stopped => 4,
            Hold::Inside => 3,
            Hold::Waiting => 2,
            Hold::Leading(_) => 1,
            Hold::Token => 0,
        };
        for span in &self.spans {
            let from = span.from.map_or(0, |step| rows[step] + 1);
            let until = span.until.map_or(count + 1, |step| rows[step] + 1);
            for held in lasting[span.at.index()].iter_mut().take(until).skip(from) {
                if held.is_none_or(|other| weight(other) < weight(span.hold)) {
                    *held = Some(span.hold);
                }
            }
        }
        lasting
    }

    /// The processes that are drawn: all, or those that something happens to where there are
    /// too many.
    pub(super) fn drawn(&self, most: usize) -> Vec<ProcessId> {
        let all = (0..self.size()).map(ProcessId::at);
        if self.size() <= most {
            return all.collect();
        }
        let moved = self.steps.iter().filter_map(|step| step.at);
        let met = self.crossings.iter().flat_map(|crossing| [crossing.from, crossing.to]);
        let busy: BTreeSet<ProcessId> = moved.chain(met).collect();
        busy.into_iter().take(most).collect()
    }

    /// What signs mean, those that were drawn, and how many processes were not, in lines of so many
    /// columns.
    pub(super) fn foot(&self, drawn: usize, mut signs: BTreeSet<Sign>, columns: usize) -> String {
        let under_way = |crossing: &&Crossing| crossing.fate == Fate::UnderWay;
        let open: Vec<String> = self.crossings.iter().filter(under_way).map(route).collect();
        let mut foot = String::new();
        if !open.is_empty() {
            list(&mut foot, "under way:", &open, ",", columns);
        }
        if drawn < self.size() {
            foot += &format!("{} of {} processes are drawn\n", drawn, self.size());
        }
        if !self.crimes.is_empty() {
            signs.insert(("✗", "violated"));
        }
        let signs: Vec<String> =
            signs.iter().map(|(sign, says)| format!("{sign} {says}")).collect();
        if !signs.is_empty() {
            list(&mut foot, "", &signs, " ", columns);
        }
        foot
    }
}

/// A message and its way.
pub(super) fn route(crossing: &Crossing) -> String {
    format!("{} {}→{}", crossing.label(), crossing.from, crossing.to)
}

/// Items in lines that are not too wide.
fn list(to: &mut String, head: &str, items: &[String], between: &str, columns: usize) {
    let mut line = head.to_owned();
    for (place, item) in items.iter().enumerate() {
        let between = match (line.is_empty(), place, between) {
            (true, ..) => "",
            (_, 0, _) => " ",
            (.., ",") => ", ",
            _ => "   ",
        };
        if line.chars().count() + between.chars().count() + item.chars().count() > columns {
            to.push_str(line.trim_end());
            to.push('\n');
            line = " ".repeat(4) + item;
        } else {
            line = line + between + item;
        }
    }
    to.push_str(line.trim_end());
    to.push('\n');
}

/// A sentence in lines that are not too wide.
pub(super) fn wrap(to: &mut String, says: &str, columns: usize) {
    let mut line = String::new();
    for word in says.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            *to += &line;
            to.push('\n');
            line = " ".to_owned();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    *to += &line;
    to.push('\n');
}

/// How what lasts is drawn, and what that means.
pub(super) fn sign(hold: Option<Hold>, direction: Direction) -> Sign {
    let lane = |down, right| if direction == Direction::Down { down } else { right };
    match hold {
        None => (lane("│", "─"), ""),
        Some(Hold::Waiting) => ("▒", "waits"),
        Some(Hold::Inside) => ("█", "inside"),
        Some(Hold::Leading(_)) => (lane("║", "═"), "leads"),
        Some(Hold::Token) => (lane("┃", "━"), "has the token"),
        Some(Hold::Down) => ("·", "down"),
        Some(Hold::Stopped) => (lane("╎", "╌"), "stopped"),
    }
}
