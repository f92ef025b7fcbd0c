//! Pictures of measured points over the curves of theory, as SVG.
//!
//! Both axes are logarithmic. Curves are told apart by marker and dash pattern as well as by
//! colour, so that the picture survives a grey printer.

use std::fmt::Write;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 600.0;
const LEFT: f64 = 72.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 64.0;

/// The least distance of two labels.
const LABEL_GAP: f64 = 17.0;

/// A letter is about that wide; names stand at the right.
const LETTER: f64 = 7.3;

/// Colours that differ in brightness, too.
const INKS: [&str; 8] =
    ["#1a1a1a", "#0b61a4", "#c0561b", "#2e7d32", "#7b3fa0", "#a07800", "#00788a", "#b0235f"];

/// Dash patterns of the theoretical curves.
const DASHES: [&str; 5] = ["none", "7 3", "2 3", "9 3 2 3", "12 4"];

/// One algorithm in the picture.
#[derive(Debug)]
pub(super) struct Curve {
    name: &'static str,
    points: Vec<(u32, f64)>,
    /// One line, or the two ends of what is possible.
    theory: Vec<Vec<(u32, f64)>>,
}

impl Curve {
    pub(super) fn new(name: &'static str) -> Self {
        Curve { name, points: Vec::new(), theory: Vec::new() }
    }

    pub(super) fn measured(&mut self, size: u32, messages: f64) {
        self.points.push((size, messages));
    }

    pub(super) fn predicted(&mut self, size: u32, values: Vec<f64>) {
        for (line, value) in values.into_iter().enumerate() {
            if self.theory.len() <= line {
                self.theory.push(Vec::new());
            }
            self.theory[line].push((size, value));
        }
    }

    fn all(&self) -> impl Iterator<Item = (u32, f64)> {
        let points = self.points.iter().chain(self.theory.iter().flatten()).copied();
        points.filter(|(_, value)| *value > 0.0)
    }
}

/// All curves and where they lie.
#[derive(Debug)]
pub(super) struct Picture {
    unit: &'static str,
    curves: Vec<Curve>,
    sizes: (f64, f64),
    messages: (f64, f64),
    /// Where the frame ends and the names begin.
    right: f64,
}

/// Pictures as a file, one below the other.
pub(super) fn to_svg(pictures: &[Picture]) -> String {
    let units: Vec<&str> = pictures.iter().map(|picture| picture.unit).collect();
    let (units, height) = (units.join(", "), HEIGHT * pictures.len() as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#1a1a1a\">\n\
         <title>{units} against the number of processes</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (place, picture) in pictures.iter().enumerate() {
        draw(&mut svg, &format!("<g transform=\"translate(0 {})\">", HEIGHT * place as f64));
        svg += &picture.content();
        draw(&mut svg, "</g>");
    }
    svg + "</svg>\n"
}

impl Picture {
    pub(super) fn new(unit: &'static str, curves: Vec<Curve>) -> Self {
        let curves: Vec<Curve> =
            curves.into_iter().filter(|curve| !curve.points.is_empty()).collect();
        let all = || curves.iter().flat_map(Curve::all);
        let within = |values: &mut dyn Iterator<Item = f64>, otherwise: (f64, f64)| {
            values
                .fold(None, |ends: Option<(f64, f64)>, value| {
                    let (least, most) = ends.unwrap_or((value, value));
                    Some((least.min(value), most.max(value)))
                })
                .unwrap_or(otherwise)
        };
        let sizes = within(&mut all().map(|(size, _)| f64::from(size)), (1.0, 10.0));
        let messages = within(&mut all().map(|(_, value)| value), (1.0, 10.0));
        let wide = |(least, most): (f64, f64)| (least * 0.8, (most * 1.25).max(least * 2.0));
        let longest = curves.iter().map(|curve| curve.name.len()).max().unwrap_or(0);
        let right = WIDTH - 48.0 - LETTER * longest.max(20) as f64;
        Picture { unit, sizes: wide(sizes), messages: wide(messages), curves, right }
    }

    fn x(&self, size: f64) -> f64 {
        LEFT + along(size, self.sizes) * (self.right - LEFT)
    }

    fn y(&self, messages: f64) -> f64 {
        HEIGHT - BOTTOM - along(messages, self.messages) * (HEIGHT - TOP - BOTTOM)
    }

    /// What belongs into the frame of this picture, whose top is at 0.
    fn content(&self) -> String {
        let mut svg = String::new();
        self.axes(&mut svg);
        for (place, curve) in self.curves.iter().enumerate() {
            self.lines(&mut svg, place, curve);
        }
        for (place, curve) in self.curves.iter().enumerate() {
            for (size, messages) in curve.points.iter().filter(|(_, messages)| *messages > 0.0) {
                svg += &marker(place, self.x(f64::from(*size)), self.y(*messages));
            }
        }
        self.labels(&mut svg);
        svg
    }

    fn axes(&self, svg: &mut String) {
        let (right, bottom) = (self.right, HEIGHT - BOTTOM);
        for size in ticks(self.sizes) {
            let x = self.x(size);
            draw(svg, &format!("<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#e4e4e4\"/>"));
            let y = bottom + 20.0;
            draw(svg, &text(x, y, "middle", &size.to_string()));
        }
        for messages in ticks(self.messages) {
            let y = self.y(messages);
            draw(svg, &format!("<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e4e4e4\"/>"));
            draw(svg, &text(LEFT - 8.0, y + 4.0, "end", &messages.to_string()));
        }
        let frame = format!(
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#1a1a1a\"/>"
        );
        draw(svg, &frame);
        draw(svg, &text((LEFT + right) / 2.0, bottom + 44.0, "middle", "processes"));
        draw(svg, &text(LEFT, TOP - 16.0, "start", self.unit));
        let legend = "marks: measured; lines: theory";
        draw(svg, &text(right, TOP - 16.0, "end", legend));
    }

    fn lines(&self, svg: &mut String, place: usize, curve: &Curve) {
        let dash = DASHES[place % DASHES.len()];
        // Two ends of what is possible are only hinted at.
        let width = if curve.theory.len() > 1 { 0.8 } else { 1.6 };
        for line in &curve.theory {
            let drawn = line.iter().filter(|(_, value)| *value > 0.0);
            let point = |(size, value): &(u32, f64)| {
                format!("{:.1},{:.1}", self.x(f64::from(*size)), self.y(*value))
            };
            let points: Vec<String> = drawn.map(point).collect();
            if points.is_empty() {
                continue;
            }
            let (points, ink) = (points.join(" "), INKS[place % INKS.len()]);
            draw(
                svg,
                &format!(
                    "<polyline points=\"{points}\" fill=\"none\" stroke=\"{ink}\" \
                     stroke-width=\"{width}\" stroke-dasharray=\"{dash}\"/>"
                ),
            );
        }
    }

    /// Names at the right, as near to the last points as they fit.
    fn labels(&self, svg: &mut String) {
        let last = |curve: &Curve| curve.points.last().copied().unwrap_or((1, 1.0));
        let wanted = self.curves.iter().enumerate().map(|(place, curve)| {
            let (size, messages) = last(curve);
            let messages = messages.max(self.messages.0);
            (self.y(messages), place, self.x(f64::from(size)))
        });
        let mut wanted: Vec<(f64, usize, f64)> = wanted.collect();
        wanted.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (x, mut next) = (self.right + 24.0, TOP);
        let most = |left: usize| HEIGHT - BOTTOM - LABEL_GAP * left as f64;
        let count = wanted.len();
        for (order, (y, place, from)) in wanted.into_iter().enumerate() {
            let at = y.max(next).min(most(count - 1 - order));
            next = at + LABEL_GAP;
            let line = format!("M{:.1} {y:.1}L{:.1} {at:.1}", from + 7.0, x - 8.0);
            draw(svg, &format!("<path d=\"{line}\" stroke=\"#c4c4c4\" stroke-width=\"0.7\"/>"));
            svg.push_str(&marker(place, x, at));
            draw(svg, &text(x + 10.0, at + 4.0, "start", self.curves[place].name));
        }
    }
}

/// Where a value lies between two ends, 0 to 1, on a logarithmic scale.
fn along(value: f64, (least, most): (f64, f64)) -> f64 {
    (value / least).ln() / (most / least).ln()
}

/// Round numbers between two ends.
fn ticks((least, most): (f64, f64)) -> impl Iterator<Item = f64> {
    let decades = (-3..7).map(|power| 10f64.powi(power));
    let ticks = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|first| first * decade));
    ticks.filter(move |tick| (least..=most).contains(tick))
}

fn text(x: f64, y: f64, anchor: &str, says: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{says}</text>")
}

fn draw(svg: &mut String, element: &str) {
    writeln!(svg, "{element}").expect("a string takes everything");
}

/// A small sign, another one for each algorithm.
fn marker(place: usize, x: f64, y: f64) -> String {
    let ink = INKS[place % INKS.len()];
    let shape = match place % 6 {
        0 => "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
        1 => "M-4 -4H4V4H-4Z",
        2 => "M0 -5L5 4H-5Z",
        3 => "M0 -5.5L5.5 0L0 5.5L-5.5 0Z",
        4 => "M0 5L5 -4H-5Z",
        _ => "M-4.5 -4.5L4.5 4.5M-4.5 4.5L4.5 -4.5",
    };
    // The second six are open.
    let fill = if place % 12 < 6 { ink } else { "#ffffff" };
    format!(
        "<path transform=\"translate({x:.1} {y:.1})\" d=\"{shape}\" fill=\"{fill}\" \
         stroke=\"{ink}\" stroke-width=\"1.4\"/>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_lie_between_the_ends() {
        assert!(ticks((1.6, 50.0)).eq([2.0, 5.0, 10.0, 20.0, 50.0]));
    }

    #[test]
    fn points_lie_where_their_numbers_say_and_within_the_frame() {
        let mut curve = Curve::new("lamport");
        for size in [2, 4, 8] {
            curve.measured(size, f64::from(size));
            curve.predicted(size, vec![f64::from(size)]);
        }
        let picture = Picture::new("messages", vec![curve, Curve::new("nobody")]);
        let [low, middle, high] = [2.0, 4.0, 8.0].map(|size| (picture.x(size), picture.y(size)));
        assert!((middle.0 - low.0 - (high.0 - middle.0)).abs() < 1e-9, "doubling is one step");
        assert!((low.1 - middle.1 - (middle.1 - high.1)).abs() < 1e-9);
        assert!(low.0 > LEFT && high.0 < picture.right && high.1 > TOP);
        let svg = to_svg(&[picture]);
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert!(svg.contains(">lamport<") && !svg.contains("nobody"));
    }

    #[test]
    fn the_longest_name_fits_at_the_right() {
        let name = "mutex-from-election:hirschberg-sinclair";
        let mut curve = Curve::new(name);
        curve.measured(2, 3.0);
        let picture = Picture::new("messages", vec![curve]);
        assert!(picture.right + 34.0 + LETTER * name.len() as f64 <= WIDTH);
        assert!(picture.right > WIDTH / 2.0, "and leaves room for the curves");
    }
}
