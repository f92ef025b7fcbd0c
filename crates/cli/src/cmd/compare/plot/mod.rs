//! Plots of measured points and theoretical curves, as SVG or as a page. A plot has a row for each
//! family of algorithms. Each row has a panel for each figure, such as the number of messages.
//!
//! Both axes are logarithmic, and have the same range in all panels of a column. Curves differ in
//! marker and dash pattern as well as in colour, for printers without colour. Each panel shows the
//! curves of one family in colour. The curves of all other families are in grey behind these
//! curves.

mod panel;
mod style;

use std::fmt::Write;

use tenure_core::{AlgorithmClass, Card, Service, Topology};

use crate::cmd::scale::text_width;
use panel::{PANEL_HEIGHT, PANEL_WIDTH, Panel};
use style::{SCRIPT, STYLE, marker};

/// Width of the plot, in pixels. A plot of this width is readable on half of a screen.
const WIDTH: f64 = 560.0;

/// Size of the letters, in pixels, as in the style sheet.
const FONT_SIZE: f64 = 12.0;

/// Distance between lines of text, in pixels.
const LINE_HEIGHT: f64 = 18.0;

#[derive(Clone, Debug)]
pub(super) struct AlgorithmCurves {
    name: String,
    family: &'static str,
    /// Measured points: a number of processes, and the mean of the figure for this number.
    points: Vec<(u32, f64)>,
    /// Theoretical curves for this algorithm, each as a list of points. An exact prediction has one
    /// curve. A lower and an upper bound have one curve each.
    theory: Vec<Vec<(u32, f64)>>,
}

impl AlgorithmCurves {
    pub(super) fn new(name: &str, family: &'static str) -> Self {
        AlgorithmCurves { name: name.to_owned(), family, points: Vec::new(), theory: Vec::new() }
    }

    pub(super) fn add_measured(&mut self, size: u32, figure: f64) {
        self.points.push((size, figure));
    }

    pub(super) fn add_predicted(&mut self, size: u32, values: Vec<f64>) {
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

/// Returns the name of the family to which an algorithm belongs. The family of an election is its
/// topology. The family of any other algorithm is its strategy.
pub(super) fn algorithm_family(card: &Card) -> &'static str {
    match (card.service, card.topology, card.strategy) {
        (Service::Election, Topology::UnidirectionalRing, _) => "on one-way rings",
        (Service::Election, Topology::BidirectionalRing, _) => "on two-way rings",
        (Service::Election, Topology::Graph | Topology::Tree, _) => "on connected graphs",
        (Service::Election, ..) => "on complete graphs",
        (.., AlgorithmClass::Centralised) => "central coordinator",
        (.., AlgorithmClass::Token) => "token",
        (.., AlgorithmClass::Quorum) => "permission of a quorum",
        (.., AlgorithmClass::Permission) => "permission of others",
        (.., AlgorithmClass::Comparison) => "comparison",
        (.., AlgorithmClass::Flooding) => "flooding",
        (.., AlgorithmClass::Composition) => "compositions",
    }
}

/// Plot of one figure against the number of processes, for all algorithms with measured points.
#[derive(Debug)]
pub(super) struct Plot {
    quantity: &'static str,
    /// Unit of the quantity; `None` if the name of the quantity contains it.
    unit: Option<&'static str>,
    curves: Vec<AlgorithmCurves>,
}

impl Plot {
    pub(super) fn new(
        quantity: &'static str,
        unit: Option<&'static str>,
        curves: Vec<AlgorithmCurves>,
    ) -> Self {
        let curves = curves.into_iter().filter(|curve| !curve.points.is_empty());
        Plot { quantity, unit, curves: curves.collect() }
    }

    /// Returns the label of the vertical axis: the quantity with its unit.
    fn label(&self) -> String {
        self.unit.map_or(self.quantity.to_owned(), |unit| format!("{} [{unit}]", self.quantity))
    }
}

/// Renders plots as an HTML page. If the pointer is on a mark or a name, the page highlights the
/// curves of the algorithm. For a mark, the page also shows the figures of the mark.
pub(super) fn to_html(plots: &[Plot]) -> String {
    let svg = to_svg(plots);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>body{{margin:12px auto;max-width:900px;background:var(--paper);color:var(--ink);\
         font-family:sans-serif}}svg{{width:100%;height:auto}}\
         #readout{{position:sticky;bottom:0;background:var(--paper);padding:6px 10px;\
         min-height:1.4em}}</style>\n\
         {svg}<p id=\"readout\" role=\"status\">Point at a mark or a name.</p>\n\
         <script>{SCRIPT}</script>\n</html>\n",
        title(plots),
    )
}

fn title(plots: &[Plot]) -> String {
    let quantities: Vec<&str> = plots.iter().map(|plot| plot.quantity).collect();
    format!("{} against the number of processes", quantities.join(", "))
}

pub(super) fn to_svg(plots: &[Plot]) -> String {
    let panels: Vec<Panel<'_>> = plots.iter().map(Panel::new).collect();
    let mut families: Vec<&'static str> = Vec::new();
    for curve in plots.iter().flat_map(|plot| &plot.curves) {
        if !families.contains(&curve.family) {
            families.push(curve.family);
        }
    }
    let mut content = String::new();
    let mut top = LINE_HEIGHT;
    for line in [
        "Marks: measured. Lines: theory, or the bounds of the card.",
        "Grey: other families. Both axes are logarithmic.",
    ] {
        draw(&mut content, &text(10.0, top, "start", "soft", line));
        top += LINE_HEIGHT;
    }
    for family in families {
        top = row(&mut content, &panels, family, top + LINE_HEIGHT);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top}\" \
         width=\"{WIDTH}\" height=\"{top}\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{top}\"/>\n{content}</svg>\n",
        title(plots)
    )
}

/// Draws the row of a family: its name, its algorithms, and one panel per figure. `top` is the y
/// coordinate of the row's upper edge, in pixels. Returns the y coordinate of the row's lower edge.
fn row(svg: &mut String, panels: &[Panel<'_>], family: &str, top: f64) -> f64 {
    let mut names: Vec<&str> = Vec::new();
    for curve in panels.iter().flat_map(|panel| panel.curves_of_family(family)) {
        if !names.contains(&curve.name.as_str()) {
            names.push(&curve.name);
        }
    }
    draw(svg, &text(10.0, top, "start", "head", family));
    let (mut x, mut y) = (10.0, top + LINE_HEIGHT);
    for (place, name) in names.iter().enumerate() {
        let wide = text_width(name, FONT_SIZE) + 32.0;
        if x + wide > WIDTH && x > 10.0 {
            (x, y) = (10.0, y + LINE_HEIGHT);
        }
        draw(
            svg,
            &format!("<g class=\"curve i{}\" data-name=\"{name}\">", style::colour_class(place)),
        );
        draw(svg, &marker(place, x + 8.0, y - 4.0));
        draw(svg, &text(x + 18.0, y, "start", "", name));
        draw(svg, "</g>");
        x += wide;
    }
    y += 26.0;
    for (column, panel) in panels.iter().enumerate() {
        let left = column as f64 * (WIDTH / panels.len() as f64);
        draw(svg, &format!("<g transform=\"translate({left:.1} {y:.1})\">"));
        panel.draw(svg, family, &names);
        draw(svg, "</g>");
    }
    y + PANEL_HEIGHT
}

fn text(x: f64, y: f64, anchor: &str, class: &str, label: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text{class} x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{label}</text>")
}

fn draw(svg: &mut String, element: &str) {
    writeln!(svg, "{element}").expect("writing to a string succeeds");
}

const _: () = assert!(2.0 * PANEL_WIDTH <= WIDTH, "two panels stand side by side");

#[cfg(test)]
mod tests {
    use tenure_algorithms::catalogue::Parameters;

    use super::*;

    fn plot() -> Plot {
        let mut lamport = AlgorithmCurves::new("lamport", "permission of others");
        for size in [2, 4, 8] {
            lamport.add_measured(size, f64::from(size));
            lamport.add_predicted(size, vec![f64::from(size)]);
        }
        let mut ring = AlgorithmCurves::new("token-ring", "token");
        ring.add_measured(4, 3.0);
        Plot::new(
            "delay",
            Some("units of time"),
            vec![lamport, ring, AlgorithmCurves::new("unmeasured", "permission of others")],
        )
    }

    #[test]
    fn each_family_has_a_row_with_others_in_grey() {
        let svg = to_svg(&[plot(), plot()]);
        assert_eq!(svg.matches("class=\"head\"").count(), 2);
        assert_eq!(svg.matches("<polyline class=\"theory\"").count(), 2, "one in each column");
        assert_eq!(svg.matches("class=\"other\"").count(), 4, "of the other family, in each panel");
        assert!(svg.contains(">lamport<") && !svg.contains("unmeasured"));
        let page = to_html(&[plot()]);
        assert!(page.contains("<script>"), "{page}");
        assert!(page.contains("lamport: 8 processes, delay 8"), "{page}");
    }

    #[test]
    fn axes_are_labelled_with_quantity_and_unit() {
        let svg = to_svg(&[plot()]);
        let label = ">delay [units of time]</text></g>";
        assert_eq!(svg.matches(label).count(), 2, "one for each family: {svg}");
        assert_eq!(svg.matches(">number of processes</text>").count(), 2, "{svg}");
        assert!(
            svg.contains("<title id=\"title\">delay against the number of processes<"),
            "{svg}"
        );
    }

    #[test]
    fn only_compositions_are_called_compositions() {
        for name in tenure_instances::agreement_names() {
            let card =
                tenure_instances::card(name, &Parameters::with_defaults(3)).expect("a known name");
            let is_composition = card.strategy == AlgorithmClass::Composition;
            assert_eq!(algorithm_family(&card) == "compositions", is_composition, "{name}");
        }
    }

    #[test]
    fn points_have_logarithmic_positions() {
        let plot = plot();
        let panel = Panel::new(&plot);
        let [low, middle, high] = [2, 4, 8].map(|size| panel.to_pixels((size, f64::from(size))));
        assert!((middle.0 - low.0 - (high.0 - middle.0)).abs() < 1e-9, "doubling is one step");
        assert!((low.1 - middle.1 - (middle.1 - high.1)).abs() < 1e-9);
        assert!(low.0 > 0.0 && high.0 < PANEL_WIDTH && high.1 > 0.0 && low.1 < PANEL_HEIGHT);
    }
}
