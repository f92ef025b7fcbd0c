//! Axes and markers of plots. An axis maps values to positions and has round labels.

/// Least ratio of the largest to the smallest figure at which an axis is logarithmic. On a linear
/// axis, the small figures would overlap.
const LOGARITHMIC_FROM: f64 = 40.0;

/// An axis of a plot. It maps values to positions between 0 and 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisScale {
    low: f64,
    high: f64,
    pub(crate) is_logarithmic: bool,
}

impl AxisScale {
    pub(crate) fn horizontal(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = min_and_max(values).unwrap_or((0.0, 1.0));
        let margin = if high > low { (high - low) * 0.02 } else { 0.5 };
        AxisScale { low: low - margin, high: high + margin, is_logarithmic: false }
    }

    /// Creates a vertical axis that covers these figures. It is logarithmic if all figures are
    /// positive and differ much. Otherwise, it begins at 0, or at the least figure if this is
    /// negative.
    pub(crate) fn vertical(values: impl Iterator<Item = f64> + Clone) -> Self {
        let positive = min_and_max(values.clone().filter(|value| *value > 0.0));
        let all = min_and_max(values).unwrap_or((0.0, 1.0));
        match positive {
            Some((low, high)) if all.0 > 0.0 && high / low >= LOGARITHMIC_FROM => {
                AxisScale { low: low / 1.2, high: high * 1.2, is_logarithmic: true }
            }
            _ => {
                let high = if all.1 > 0.0 { all.1 * 1.06 } else { 1.0 };
                AxisScale { low: all.0.min(0.0), high, is_logarithmic: false }
            }
        }
    }

    /// Returns the position of a value on the axis, from 0 to 1. Values outside of the axis have
    /// the position of the nearer end.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let position = match self.is_logarithmic {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        position.clamp(0.0, 1.0)
    }

    /// Returns at most about `wanted` round numbers within the range of the axis, to label it. For
    /// a logarithmic axis, the result of [`logarithmic_ticks`] is returned, and `wanted` has no
    /// effect.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<f64> {
        self.ticks_with_least_step(wanted, 0.0)
    }

    /// Returns at most about `wanted` whole numbers within the range of the axis, to label it. A
    /// logarithmic axis has the same labels as with [`Self::ticks`].
    pub(crate) fn whole_ticks(&self, wanted: usize) -> Vec<f64> {
        self.ticks_with_least_step(wanted, 1.0)
    }

    fn ticks_with_least_step(&self, wanted: usize, least_step: f64) -> Vec<f64> {
        if self.is_logarithmic {
            return logarithmic_ticks(self.low, self.high).collect();
        }
        let step = round_step((self.high - self.low) / wanted.max(1) as f64).max(least_step);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }
}

/// Returns the least of the numbers …, 0.5, 1, 2, 5, 10, … that is at least `value`.
fn round_step(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|first| first * decade);
    steps.into_iter().find(|step| *step >= value * 0.999).unwrap_or(10.0 * decade)
}

/// Returns the numbers …, 0.2, 0.5, 1, 2, 5, 10, … that lie between `low` and `high`. The smallest
/// possible number is 10⁻⁶, and the greatest is 5 · 10¹².
pub(crate) fn logarithmic_ticks(low: f64, high: f64) -> impl Iterator<Item = f64> {
    let decades = (-6..13).map(|power| 10f64.powi(power));
    let ticks = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|first| first * decade));
    ticks.filter(move |tick| (low..=high).contains(tick))
}

pub(crate) fn min_and_max(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends: Option<(f64, f64)>, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// Returns an upper estimate of the width of a text in a sans-serif font, in pixels. The estimate
/// is based on the letters of DejaVu Sans, which is wider than other common fonts.
pub(crate) fn text_width(text: &str, font_size: f64) -> f64 {
    let width_of = |letter: char| match letter {
        ' ' | '.' | ',' | ':' | ';' | '|' | '\'' | 'i' | 'j' | 'l' | 'I' => 0.35,
        '-' | '(' | ')' | '[' | ']' | '/' | 'f' | 'r' | 't' => 0.42,
        'm' | 'w' | 'M' | 'W' => 1.0,
        letter if letter.is_ascii_lowercase() || letter.is_ascii_digit() => 0.64,
        letter if letter.is_ascii() => 0.85,
        _ => 1.0,
    };
    text.chars().map(width_of).sum::<f64>() * font_size
}

/// Returns the SVG path of the marker for the points of a curve. The centre of the marker is the
/// origin. `curve` is the index of the curve. There are six shapes of markers, which repeat.
pub(crate) fn marker_path(curve: usize) -> &'static str {
    match curve % 6 {
        0 => "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
        1 => "M-4 -4H4V4H-4Z",
        2 => "M0 -5L5 4H-5Z",
        3 => "M0 -5.5L5.5 0L0 5.5L-5.5 0Z",
        4 => "M0 5L5 -4H-5Z",
        _ => "M-4.5 -4.5L4.5 4.5M-4.5 4.5L4.5 -4.5",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_in_range() {
        let scale = AxisScale::horizontal([3.0, 50.0].into_iter());
        assert_eq!(scale.ticks(6), [10.0, 20.0, 30.0, 40.0, 50.0]);
        let scale = AxisScale::vertical([4.0, 98.0].into_iter());
        assert_eq!(scale.ticks(5), [0.0, 50.0, 100.0]);
        assert!(!scale.is_logarithmic && scale.position(0.0) == 0.0);
    }

    #[test]
    fn whole_ticks_have_no_fractions() {
        let scale = |values: &[f64]| AxisScale::horizontal(values.iter().copied());
        assert_eq!(scale(&[3.0, 4.0]).whole_ticks(8), [3.0, 4.0]);
        assert_eq!(scale(&[3.0]).whole_ticks(8), [3.0]);
        assert_eq!(scale(&[3.0, 50.0]).whole_ticks(6), [10.0, 20.0, 30.0, 40.0, 50.0]);
    }

    /// The expected widths are those of the font: the sums of the advance widths of the letters.
    #[test]
    fn estimated_width_covers_the_text() {
        for (text, width) in [("maekawa", 62.7), ("suzuki-kasami", 92.4), ("lamport", 50.8)] {
            let estimate = text_width(text, 13.0);
            assert!((width..width * 1.15).contains(&estimate), "{text}: {estimate}");
        }
    }

    #[test]
    fn wide_ranges_are_logarithmic() {
        let scale = AxisScale::vertical([3.0, 30.0, 3000.0].into_iter());
        assert!(scale.is_logarithmic);
        let [low, middle, high] = [3.0, 30.0, 300.0].map(|value| scale.position(value));
        assert!((middle - low - (high - middle)).abs() < 1e-9);
        assert!(
            !AxisScale::vertical([0.0, 3000.0].into_iter()).is_logarithmic,
            "0 has no logarithm"
        );
    }

    #[test]
    fn single_values_have_an_axis() {
        let scale = AxisScale::horizontal([5.0].into_iter());
        assert!((scale.position(5.0) - 0.5).abs() < 1e-9 && !scale.ticks(6).is_empty());
        assert!(AxisScale::vertical([0.0].into_iter()).position(0.0) == 0.0);
    }
}
