//! A panel of a plot. It shows one figure for the algorithms of one family. The curves of all other
//! families are drawn behind the curves of this family.

use super::style::{DASHES, colour_class, marker};
use super::{AlgorithmCurves, Plot, draw, text};
use crate::cmd::rows::format_figure;
use crate::cmd::scale::{logarithmic_ticks, min_and_max};

/// Width of a panel including its axes, in pixels.
pub(super) const PANEL_WIDTH: f64 = 280.0;
pub(super) const PANEL_HEIGHT: f64 = 226.0;

/// Left edge of the frame around the curves, in pixels from the left edge of the panel. `RIGHT`,
/// `TOP` and `BOTTOM` are the other three edges of the frame.
const LEFT: f64 = 60.0;
const RIGHT: f64 = PANEL_WIDTH - 12.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = PANEL_HEIGHT - 40.0;

/// Minimum distance between two labels of the vertical axis, in pixels. The minimum distance on the
/// horizontal axis is twice this distance.
const MIN_TICK_DISTANCE: f64 = 15.0;

/// Panel of a plot, with the same axes for all families. `sizes` is the range of the horizontal
/// axis, and `figures` is the range of the vertical axis.
#[derive(Debug)]
pub(super) struct Panel<'p> {
    plot: &'p Plot,
    sizes: (f64, f64),
    figures: (f64, f64),
}

impl<'p> Panel<'p> {
    pub(super) fn new(plot: &'p Plot) -> Self {
        let all = || plot.curves.iter().flat_map(AlgorithmCurves::all);
        let sizes = range_of(all().map(|(size, _)| f64::from(size)));
        let figures = range_of(all().map(|(_, value)| value));
        Panel { plot, sizes, figures }
    }

    pub(super) fn curves_of_family(
        &self,
        family: &str,
    ) -> impl Iterator<Item = &'p AlgorithmCurves> {
        self.plot.curves.iter().filter(move |curve| curve.family == family)
    }

    /// Converts a point of a curve to coordinates in the panel, in pixels. The point consists of a
    /// group size and the value of the figure for this group size.
    pub(super) fn to_pixels(&self, (size, value): (u32, f64)) -> (f64, f64) {
        let x = LEFT + log_position(f64::from(size), self.sizes) * (RIGHT - LEFT);
        (x, BOTTOM - log_position(value, self.figures) * (BOTTOM - TOP))
    }

    /// Draws the panel of a family. `algorithms` are the algorithms of the family, in the order of
    /// their colours.
    pub(super) fn draw(&self, svg: &mut String, family: &str, algorithms: &[&str]) {
        self.axes(svg);
        for curve in self.plot.curves.iter().filter(|curve| curve.family != family) {
            let points = self.line(curve.points.iter());
            draw(svg, &format!("<polyline class=\"other\" points=\"{points}\"/>"));
        }
        for curve in self.curves_of_family(family) {
            let place = algorithms.iter().position(|name| *name == curve.name).unwrap_or(0);
            let name = &curve.name;
            draw(
                svg,
                &format!("<g class=\"curve i{}\" data-name=\"{name}\">", colour_class(place)),
            );
            let dash = DASHES[place % DASHES.len()];
            for line in &curve.theory {
                let points = self.line(line.iter());
                draw(
                    svg,
                    &format!(
                        "<polyline class=\"theory\" points=\"{points}\" \
                         stroke-dasharray=\"{dash}\"/>"
                    ),
                );
            }
            for (size, value) in curve.points.iter().filter(|(_, value)| *value > 0.0) {
                let (x, y) = self.to_pixels((*size, *value));
                let label = format!(
                    "{name}: {size} processes, {} {}",
                    self.plot.quantity,
                    format_figure(*value)
                );
                draw(svg, &format!("<g><title>{label}</title>{}</g>", marker(place, x, y)));
            }
            draw(svg, "</g>");
        }
    }

    fn line<'c>(&self, points: impl Iterator<Item = &'c (u32, f64)>) -> String {
        let drawn = points.filter(|(_, value)| *value > 0.0).map(|point| self.to_pixels(*point));
        drawn.map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
    }

    fn axes(&self, svg: &mut String) {
        let mut last = f64::NEG_INFINITY;
        for size in logarithmic_ticks(self.sizes.0, self.sizes.1).filter(|size| size.fract() == 0.0)
        {
            let (x, _) = self.to_pixels((size as u32, self.figures.0));
            if x - last < 2.0 * MIN_TICK_DISTANCE {
                continue;
            }
            last = x;
            draw(svg, &format!("<path class=\"grid\" d=\"M{x:.1} {TOP}V{BOTTOM}\"/>"));
            draw(svg, &text(x, BOTTOM + 15.0, "middle", "soft", &size.to_string()));
        }
        let mut last = f64::INFINITY;
        for value in logarithmic_ticks(self.figures.0, self.figures.1) {
            let y = BOTTOM - log_position(value, self.figures) * (BOTTOM - TOP);
            if last - y < MIN_TICK_DISTANCE {
                continue;
            }
            last = y;
            draw(svg, &format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>"));
            draw(svg, &text(LEFT - 6.0, y + 4.0, "end", "soft", &value.to_string()));
        }
        draw(svg, &format!("<path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>"));
        let middle = (LEFT + RIGHT) / 2.0;
        draw(svg, &text(middle, BOTTOM + 32.0, "middle", "soft", "number of processes"));
        draw(svg, &vertical_label(&self.plot.label()));
    }
}

/// Returns the SVG of the label of the vertical axis. The text runs upwards.
fn vertical_label(label: &str) -> String {
    let (x, y) = (12.0, (TOP + BOTTOM) / 2.0);
    let label = text(x, y, "middle", "soft", label);
    format!("<g transform=\"rotate(-90 {x:.1} {y:.1})\">{label}</g>")
}

/// Returns the range of the values, extended by a margin at both ends. Without values, extends the
/// range from 1 to 10.
fn range_of(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = min_and_max(values).unwrap_or((1.0, 10.0));
    (least * 0.8, (most * 1.25).max(least * 2.0))
}

/// Returns the position of a value on a logarithmic axis: 0 at `least`, 1 at `most`.
fn log_position(value: f64, (least, most): (f64, f64)) -> f64 {
    (value / least).ln() / (most / least).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_in_range() {
        assert!(logarithmic_ticks(1.6, 50.0).eq([2.0, 5.0, 10.0, 20.0, 50.0]));
    }
}
