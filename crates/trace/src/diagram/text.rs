//! Diagrams in text, at most 100 columns wide.

use std::collections::BTreeSet;

use tenure_core::ProcessId;

use super::grid::Grid;
use super::layout::{Crossing, Fate, Hold, Layout, Mark, Step};
use super::view::{Direction, Margin, Scale};
use crate::show::in_term;

/// The widest line.
const MOST_COLUMNS: usize = 100;
/// The widest column of a process.
const WIDEST: usize = 26;
/// A sign and what it means.
pub(super) type Sign = (&'static str, &'static str);

/// The narrowest column of a process.
const NARROWEST: usize = 3;

impl Layout {
    /// The diagram in text, at most 100 columns wide.
    pub fn to_text(&self, direction: Direction, margin: Margin) -> String {
        match direction {
            Direction::Down => Down::new(self, margin).draw(),
            Direction::Right => super::across::draw(self, margin),
        }
    }

    /// The steps from the first row to the last.
    pub(super) fn in_rows(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.steps.len()).collect();
        if self.view.scale == Scale::Causal {
            rows.sort_by_key(|step| (self.steps[*step].moment, *step));
        }
        rows
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

    /// What a step is called, and what its user was told.
    pub(crate) fn says(&self, step: &Step) -> String {
        let mut says: Vec<String> = Vec::new();
        match &step.mark {
            Mark::Says(text) | Mark::Note(text) => says.push(text.clone()),
            Mark::Crashes => says.push("crashes".to_owned()),
            Mark::Recovers => says.push("recovers".to_owned()),
            _ => {}
        }
        if step.enters {
            says.push("enters".to_owned());
        }
        if step.exits && !says.iter().any(|said| said == "exits") {
            says.push("exits".to_owned());
        }
        if let Some(term) = step.leader {
            let leads = step.at == Some(term.leader);
            let who = if leads { "leads".into() } else { format!("{} leads", term.leader) };
            says.push(who + &in_term(term));
        }
        says.join(", ")
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

    /// What signs mean, those that were drawn, and how many processes were not.
    pub(super) fn foot(&self, drawn: usize, signs: &BTreeSet<Sign>) -> String {
        let under_way = |crossing: &&Crossing| crossing.fate == Fate::UnderWay;
        let open: Vec<String> = self.crossings.iter().filter(under_way).map(route).collect();
        let mut foot = String::new();
        if !open.is_empty() {
            wrap(&mut foot, "under way:", open.iter().map(String::as_str), ",");
        }
        if drawn < self.size() {
            foot += &format!("{} of {} processes are drawn\n", drawn, self.size());
        }
        let signs: Vec<String> =
            signs.iter().map(|(sign, says)| format!("{sign} {says}")).collect();
        if !signs.is_empty() {
            wrap(&mut foot, "", signs.iter().map(String::as_str), " ");
        }
        foot
    }
}

/// A message and its way.
pub(super) fn route(crossing: &Crossing) -> String {
    format!("{} {}→{}", crossing.label(), crossing.from, crossing.to)
}

/// Words in lines that are not too wide.
fn wrap<'w>(to: &mut String, head: &str, words: impl Iterator<Item = &'w str>, between: &str) {
    let mut line = head.to_owned();
    let mut first = true;
    for word in words {
        let between = if first {
            " "
        } else if between == "," {
            ", "
        } else {
            "   "
        };
        let between = if line.is_empty() { "" } else { between };
        if line.chars().count() + between.chars().count() + word.chars().count() > MOST_COLUMNS {
            to.push_str(line.trim_end());
            to.push('\n');
            line = " ".repeat(4) + word;
        } else {
            line = line + between + word;
        }
        first = false;
    }
    to.push_str(line.trim_end());
    to.push('\n');
}

/// Time runs downwards: a column for each process, a row for each step; a message is drawn when
/// it arrives.
struct Down<'l> {
    layout: &'l Layout,
    order: Vec<usize>,
    /// By step.
    rows: Vec<usize>,
    /// By row, as is `heads`: its place on the scale, and what is written at its head.
    places: Vec<String>,
    heads: Vec<String>,
    margin: usize,
    lanes: Vec<ProcessId>,
    width: usize,
    lasting: Vec<Vec<Option<Hold>>>,
    signs: BTreeSet<Sign>,
}

impl<'l> Down<'l> {
    fn new(layout: &'l Layout, margin: Margin) -> Self {
        let order = layout.in_rows();
        let mut rows = vec![0; order.len()];
        order.iter().enumerate().for_each(|(row, step)| rows[*step] = row);
        let places: Vec<String> = order.iter().map(|step| layout.head(*step, margin)).collect();
        let head = |(step, place): (&usize, &String)| match layout.clock(*step) {
            clock if clock.is_empty() => place.clone(),
            clock => format!("{place} {clock}"),
        };
        let heads: Vec<String> = order.iter().zip(&places).map(head).collect();
        let widest = heads.iter().map(|head| head.chars().count()).max().unwrap_or(0);
        let margin = widest.clamp(4, MOST_COLUMNS / 2) + 1;
        let lanes = layout.drawn((MOST_COLUMNS - margin) / NARROWEST);
        let width = (MOST_COLUMNS - margin) / lanes.len().max(1);
        let width = width.clamp(NARROWEST, WIDEST);
        let lasting = layout.lasting(&rows, order.len());
        let signs = BTreeSet::new();
        Down { layout, order, rows, places, heads, margin, lanes, width, lasting, signs }
    }

    fn draw(mut self) -> String {
        let mut text = " ".repeat(self.margin);
        for process in &self.lanes {
            text += &format!("{:<width$}", process.to_string(), width = self.width);
        }
        let mut text = text.trim_end().to_owned() + "\n";
        for row in 0..self.order.len() {
            let head: String = self.heads[row].chars().take(self.margin - 1).collect();
            let head = format!("{head:>width$} ", width = self.margin - 1);
            let line = head + &self.row(row);
            text.extend(line.trim_end().chars().take(MOST_COLUMNS));
            text.push('\n');
        }
        text + &self.layout.foot(self.lanes.len(), &self.signs)
    }

    /// Where a process is drawn; at the edge when it is not.
    fn column(&self, process: ProcessId) -> usize {
        let lane = self.lanes.partition_point(|lane| *lane < process);
        lane.min(self.lanes.len().saturating_sub(1)) * self.width
    }

    fn row(&mut self, row: usize) -> String {
        let layout = self.layout;
        let place = self.order[row];
        let step = &layout.steps[place];
        let mut grid = Grid::new(self.lanes.len() * self.width);
        if let (None, Mark::Network(says) | Mark::Note(says)) = (step.at, &step.mark) {
            self.lanes_as(&mut grid, None, |_| ("┊", ""));
            grid.write(2, &format!(" {says} "), usize::MAX);
            return grid.line();
        }
        let lasting = std::mem::take(&mut self.lasting);
        let own = step.at.filter(|_| step.is_own());
        self.lanes_as(&mut grid, own, |process| sign(lasting[process.index()][row + 1]));
        self.lasting = lasting;
        match (&step.mark, step.received) {
            (Mark::Loses(crossing), _) => self.arrow(&mut grid, *crossing, row, '×', ""),
            (Mark::Duplicates(crossing), _) => self.arrow(&mut grid, *crossing, row, '×', " ×2"),
            (_, Some(crossing)) => self.arrow(&mut grid, crossing, row, '●', ""),
            _ => {}
        }
        let Some(at) = step.at else { return grid.line() };
        if step.is_own() {
            let column = self.column(at);
            grid.put(column, if step.mark == Mark::Crashes { '×' } else { '●' });
        }
        let says = layout.says(step);
        if !says.is_empty() {
            let from = step.received.map(|crossing| layout.crossings[crossing].from);
            self.beside(&mut grid, at, from, &says);
        }
        grid.line()
    }

    /// The lines of all processes; the mark of one of them will cover its sign.
    fn lanes_as(
        &mut self,
        grid: &mut Grid,
        covered: Option<ProcessId>,
        sign: impl Fn(ProcessId) -> Sign,
    ) {
        for (lane, process) in self.lanes.iter().enumerate() {
            let (sign, means) = sign(*process);
            grid.lane(lane * self.width, sign);
            let seen = !means.is_empty() && covered != Some(*process);
            self.signs.extend(seen.then_some((sign, means)));
        }
    }

    /// An arrow between two columns, with what it carries written on it.
    fn arrow(&mut self, grid: &mut Grid, crossing: usize, row: usize, end: char, more: &str) {
        let crossing = &self.layout.crossings[crossing];
        let (start, stop) = (self.column(crossing.from), self.column(crossing.to));
        let label = crossing.label() + more;
        if start == stop {
            grid.write(start + 2, &label, usize::MAX);
            return;
        }
        let right = start < stop;
        grid.arrow(
            start,
            stop,
            if end == '×' {
                '×'
            } else if right {
                '►'
            } else {
                '◄'
            },
        );
        let sent = crossing.sent.filter(|sent| self.rows[*sent] + 1 < row);
        let since = sent.map(|sent| self.places[self.rows[sent]].clone());
        let since = since.filter(|since| !since.is_empty());
        let long = since.map_or_else(|| label.clone(), |since| format!("{label} ‹{since}›"));
        let written = grid.on_arrow(start, stop, self.width, &long);
        if !written {
            grid.on_arrow(start, stop, self.width, &label);
        } else if long != label {
            self.signs.insert(("‹k›", "sent at k"));
        }
        if end == '×' && more.is_empty() {
            self.signs.insert(("×", "lost"));
        }
    }

    /// Words beside a mark: to its right, or to its left where an arrow comes from the right, or
    /// else behind the arrow, with the name of the process.
    fn beside(&self, grid: &mut Grid, at: ProcessId, from: Option<ProcessId>, says: &str) {
        let column = self.column(at);
        let length = says.chars().count();
        if grid.is_free(column + 2, length.min(self.room(column))) {
            grid.write(column + 2, says, self.room(column));
        } else if length + 2 < self.width && column >= self.width {
            grid.write(column - 1 - length, says, usize::MAX);
        } else if let Some(from) = from {
            let column = self.column(from);
            let says = format!("{at} {says}");
            if grid.is_free(column + 2, says.chars().count().min(self.room(column))) {
                grid.write(column + 2, &says, self.room(column));
            }
        }
    }

    /// How many letters fit beside a mark.
    fn room(&self, column: usize) -> usize {
        let last = column + self.width >= self.lanes.len() * self.width;
        let wide = if last { MOST_COLUMNS - self.margin - column } else { self.width };
        wide.saturating_sub(3)
    }
}

/// How what lasts is drawn, and what that means.
fn sign(hold: Option<Hold>) -> Sign {
    match hold {
        None => ("│", ""),
        Some(Hold::Waiting) => ("▒", "waits"),
        Some(Hold::Inside) => ("█", "inside"),
        Some(Hold::Leading(_)) => ("║", "leads"),
        Some(Hold::Token) => ("┃", "has the token"),
        Some(Hold::Down) => ("·", "down"),
        Some(Hold::Stopped) => ("╎", "stopped"),
    }
}
