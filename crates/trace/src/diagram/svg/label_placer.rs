//! Placement of labels, so that they avoid other labels and marks and, if possible, lines.

use std::collections::{BTreeMap, BTreeSet};

use super::geometry::{Line, Rect};

/// Cost of placing a label over another text or a mark.
const TEXT_COST: usize = 100;
/// Cost of placing a label over a lifeline or a bar.
const LIFELINE_COST: usize = 12;
/// Cost of placing a label over the line of a message.
const ARROW_COST: usize = 3;
/// Cost of placing a label away from the item that it describes. A reader might relate the label to
/// another line nearby.
const AMBIGUITY_COST: usize = 4;
/// Side of a cell of the spatial index, in pixels.
const CELL_SIZE: i64 = 160;

/// Areas and lines that labels should avoid, with a spatial index.
#[derive(Debug, Default)]
pub(super) struct LabelPlacer {
    taken: Vec<Rect>,
    lanes: Vec<Rect>,
    lines: Vec<Line>,
    cells: BTreeMap<(i64, i64), Cell>,
}

/// Indices of the areas and lines in one cell of the spatial index.
#[derive(Debug, Default)]
struct Cell {
    taken: Vec<usize>,
    lanes: Vec<usize>,
    lines: Vec<usize>,
}

impl LabelPlacer {
    pub(super) fn reserve_area(&mut self, area: Rect) {
        let number = self.taken.len();
        self.taken.push(area);
        cells(area).for_each(|cell| self.cells.entry(cell).or_default().taken.push(number));
    }

    pub(super) fn reserve_lane(&mut self, area: Rect) {
        let number = self.lanes.len();
        self.lanes.push(area);
        cells(area).for_each(|cell| self.cells.entry(cell).or_default().lanes.push(number));
    }

    /// Reserves the line of a message and returns its index.
    pub(super) fn reserve_line(&mut self, line: Line) -> usize {
        let number = self.lines.len();
        self.lines.push(line);
        for cell in cells(line.bounding_box()).filter(|cell| line.intersects(area_of(*cell))) {
            self.cells.entry(cell).or_default().lines.push(number);
        }
        number
    }

    /// Returns the candidate place with the lowest cost for a label: its area and its value. If
    /// several places have the lowest cost, returns the first of them. Returns `None` if there are
    /// no candidates.
    ///
    /// Each candidate has three parts: an area, the distance in pixels between the area and the
    /// labelled item, and a value to return. If a line is closer to the area than the labelled item
    /// is, the line increases the cost. The line with the index `own` belongs to the labelled item
    /// and costs nothing.
    pub(super) fn best_place<T: Copy>(
        &self,
        candidates: impl IntoIterator<Item = (Rect, i64, T)>,
        own: Option<usize>,
    ) -> Option<(Rect, T)> {
        let mut best: Option<(usize, (Rect, T))> = None;
        for (area, away, place) in candidates {
            let candidate = (area, place);
            let cost = self.cost(area, away, own);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, candidate));
            }
            if cost == 0 {
                break;
            }
        }
        best.map(|(_, candidate)| candidate)
    }

    fn cost(&self, area: Rect, away: i64, own: Option<usize>) -> usize {
        let mut hit: [BTreeSet<usize>; 3] = Default::default();
        let near = area.enlarged(away);
        for cell in cells(near).filter_map(|cell| self.cells.get(&cell)) {
            let covers = |number: &&usize| self.taken[**number].overlaps(area);
            hit[0].extend(cell.taken.iter().filter(covers));
            let covers = |number: &&usize| self.lanes[**number].overlaps(area);
            hit[1].extend(cell.lanes.iter().filter(covers));
            let others = cell.lines.iter().filter(|number| Some(**number) != own);
            hit[2].extend(others.filter(|number| self.lines[**number].intersects(near)));
        }
        let [taken, lanes, lines] = hit.map(|hit| hit.len());
        let away = if away > 0 { AMBIGUITY_COST } else { 0 };
        TEXT_COST * taken + LIFELINE_COST * lanes + ARROW_COST * lines + away
    }
}

/// Returns the cells of the spatial index that a rectangle intersects.
fn cells(area: Rect) -> impl Iterator<Item = (i64, i64)> {
    let rows = area.top.div_euclid(CELL_SIZE)..=area.bottom.div_euclid(CELL_SIZE);
    let columns = area.left.div_euclid(CELL_SIZE)..=area.right.div_euclid(CELL_SIZE);
    rows.flat_map(move |row| columns.clone().map(move |column| (column, row)))
}

fn area_of((column, row): (i64, i64)) -> Rect {
    let (left, top) = (column * CELL_SIZE, row * CELL_SIZE);
    Rect { left, top, right: left + CELL_SIZE, bottom: top + CELL_SIZE }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Point;
    use super::*;

    fn area(x: i64, y: i64) -> Rect {
        Rect::around(Point { x, y }, 40, 16)
    }

    #[test]
    fn label_avoids_texts_then_lifelines_then_arrows() {
        let mut places = LabelPlacer::default();
        places.reserve_area(area(0, 0));
        places.reserve_lane(area(100, 0));
        let line = Line::straight(Point { x: 200, y: -50 }, Point { x: 200, y: 50 });
        let own = places.reserve_line(line);
        let best = |xs: &[i64], own| {
            places.best_place(xs.iter().map(|x| (area(*x, 0), 0, *x)), own).map(|(_, x)| x)
        };
        assert_eq!(best(&[0, 100, 200, 300], None), Some(300));
        assert_eq!(best(&[0, 100, 200], None), Some(200));
        assert_eq!(best(&[0, 100], None), Some(100));
        assert_eq!(best(&[300, 200, 400], Some(own)), Some(300), "the first of equals");
        assert_eq!(best(&[0, 200], Some(own)), Some(200), "its own line may be covered");
        assert_eq!(best(&[], None), None);
    }

    #[test]
    fn displaced_label_stays_nearest_to_its_line() {
        let mut places = LabelPlacer::default();
        let level = |y| Line::straight(Point { x: -50, y }, Point { x: 400, y });
        let own = places.reserve_line(level(0));
        places.reserve_line(level(-36));
        places.reserve_area(area(0, 0));
        let best = |ys: [(i64, i64); 2]| {
            let spots = ys.map(|(y, away)| (area(0, y), away, y));
            places.best_place(spots, Some(own)).map(|(_, y)| y)
        };
        assert_eq!(best([(-22, 14), (22, 14)]), Some(22), "the other line lies 6 pixels above");
        assert_eq!(best([(-22, 14), (0, 0)]), Some(-22), "rather than over a text");
    }
}
