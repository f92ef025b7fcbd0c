//! Points, boxes and lines in whole pixels.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::diagram) struct Point {
    pub(in crate::diagram) x: i64,
    pub(in crate::diagram) y: i64,
}

impl Point {
    /// Returns the point that lies `hundredths` / 100 of the way from this point to `to`.
    pub(super) fn interpolated(self, to: Point, hundredths: i64) -> Point {
        let part = |from: i64, to: i64| from + (to - from) * hundredths / 100;
        Point { x: part(self.x, to.x), y: part(self.y, to.y) }
    }

    /// Returns the point that is `pixels` pixels from this point in the direction of `to`.
    pub(super) fn moved_towards(self, to: Point, pixels: i64) -> Point {
        let length = self.distance(to).max(1);
        let part = |from: i64, to: i64| from + (to - from) * pixels / length;
        Point { x: part(self.x, to.x), y: part(self.y, to.y) }
    }

    pub(super) fn distance(self, to: Point) -> i64 {
        let (x, y) = (self.x - to.x, self.y - to.y);
        (x * x + y * y).isqrt()
    }

    fn side(self, from: Point, to: Point) -> i64 {
        let turn = (to.x - from.x) * (self.y - from.y) - (to.y - from.y) * (self.x - from.x);
        turn.signum()
    }
}

/// Line from one point to another, curved if it has a control point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) from: Point,
    /// Control point of a curved line. `None` for a straight line.
    pub(super) control_point: Option<Point>,
    pub(super) to: Point,
}

impl Line {
    pub(super) fn straight(from: Point, to: Point) -> Self {
        Line { from, control_point: None, to }
    }

    /// Returns the point of the line at the position `hundredths` / 100, where 0 is the start and 1
    /// is the end. For a straight line, this is a part of the length. For a curved line, it is the
    /// parameter of the Bézier curve.
    pub(super) fn point_at(&self, hundredths: i64) -> Point {
        let Some(past) = self.control_point else {
            return self.from.interpolated(self.to, hundredths);
        };
        let first = self.from.interpolated(past, hundredths);
        first.interpolated(past.interpolated(self.to, hundredths), hundredths)
    }

    /// Returns the line as the data of an SVG path.
    pub(super) fn path_data(&self) -> String {
        let Line { from, control_point: past, to } = self;
        let bend = past.map_or_else(|| "L".to_owned(), |past| format!("Q{} {} ", past.x, past.y));
        format!("M{} {}{bend}{} {}", from.x, from.y, to.x, to.y)
    }

    pub(super) fn bounding_box(&self) -> Rect {
        let ends = Rect::around(self.from, 0, 0).union(Rect::around(self.to, 0, 0));
        self.control_point.map_or(ends, |past| ends.union(Rect::around(past, 0, 0)))
    }

    /// Returns true if the line intersects the area. A curved line is approximated by four straight
    /// parts.
    pub(super) fn intersects(&self, area: Rect) -> bool {
        match self.control_point {
            None => area.is_met(self.from, self.to),
            Some(_) => (0..4)
                .any(|part| area.is_met(self.point_at(part * 25), self.point_at(part * 25 + 25))),
        }
    }
}

/// Rectangle with sides parallel to the axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) left: i64,
    pub(super) top: i64,
    pub(super) right: i64,
    pub(super) bottom: i64,
}

impl Rect {
    pub(super) fn around(center: Point, width: i64, height: i64) -> Self {
        Rect {
            left: center.x - width / 2,
            top: center.y - height / 2,
            right: center.x + width / 2,
            bottom: center.y + height / 2,
        }
    }

    /// Returns the rectangle enlarged by this many pixels on each side.
    pub(super) fn enlarged(self, by: i64) -> Rect {
        let Rect { left, top, right, bottom } = self;
        Rect { left: left - by, top: top - by, right: right + by, bottom: bottom + by }
    }

    pub(super) fn overlaps(self, other: Rect) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub(super) fn union(self, other: Rect) -> Rect {
        Rect {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    fn holds(self, point: Point) -> bool {
        (self.left..=self.right).contains(&point.x) && (self.top..=self.bottom).contains(&point.y)
    }

    fn is_met(self, from: Point, to: Point) -> bool {
        let beside = |least: i64, most: i64, one: i64, other: i64| {
            one.max(other) < least || one.min(other) > most
        };
        if beside(self.left, self.right, from.x, to.x)
            || beside(self.top, self.bottom, from.y, to.y)
        {
            return false;
        }
        if self.holds(from) || self.holds(to) {
            return true;
        }
        let corners = [
            Point { x: self.left, y: self.top },
            Point { x: self.right, y: self.top },
            Point { x: self.right, y: self.bottom },
            Point { x: self.left, y: self.bottom },
        ];
        let first = corners[0].side(from, to);
        corners.iter().any(|corner| corner.side(from, to) != first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { left: 0, top: 0, right: 10, bottom: 10 };

    fn point(x: i64, y: i64) -> Point {
        Point { x, y }
    }

    #[test]
    fn line_intersects_exactly_the_boxes_it_touches() {
        let meets = |from, to| Line::straight(from, to).intersects(AREA);
        assert!(meets(point(-5, 5), point(15, 6)), "through");
        assert!(meets(point(-5, 20), point(5, 5)), "into");
        assert!(meets(point(2, 2), point(3, 3)), "inside");
        assert!(!meets(point(-5, 8), point(8, 21)), "past a corner");
        assert!(!meets(point(-5, -1), point(15, -1)), "above");
    }

    #[test]
    fn curved_line_avoids_its_chord_center() {
        let (from, to) = (point(0, 0), point(100, 0));
        let bent = Line { from, control_point: Some(point(50, 40)), to };
        assert_eq!(bent.point_at(50), point(50, 20));
        assert_eq!((bent.point_at(0), bent.point_at(100)), (from, to));
        assert!(!bent.intersects(Rect::around(point(50, 0), 10, 10)));
        assert!(bent.intersects(Rect::around(point(50, 20), 10, 10)));
    }
}
