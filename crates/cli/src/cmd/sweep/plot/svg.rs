//! Draws the plot of a sweep as SVG. Colours and sizes are attributes, so that converters and
//! editors show the same picture. Series differ in marker and dash pattern as well as in colour.

use std::fmt::Write;

use tenure_trace::escape_invisible;

use super::chart::{Chart, HorizontalAxis, Mark, Panel};
use crate::cmd::output::wrap;
use crate::cmd::rows::format_figure;
use crate::cmd::scale::{AxisScale, marker_path, text_width};

/// Width of the plot, in pixels. Letters of 13 pixels are readable even if the plot is shown at 500
/// pixels.
const WIDTH: f64 = 560.0;

/// Height of a panel including its axes, in pixels.
const PANEL_HEIGHT: f64 = 270.0;

/// Left edge of the frame around the curves, in pixels from the left edge of the panel. `RIGHT`,
/// `TOP` and `BOTTOM` are the other three edges of the frame.
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = PANEL_HEIGHT - 46.0;

const MARGIN: f64 = 12.0;
const LINE_HEIGHT: f64 = 18.0;

/// Size of the letters in the legend and in the labels of the axes, in pixels. `TICK_FONT_SIZE` is
/// the size of the letters at the ticks.
const FONT_SIZE: f64 = 13.0;
const TICK_FONT_SIZE: f64 = 12.0;

/// Width of a legend entry in addition to the width of its name, in pixels.
const LEGEND_SYMBOL_WIDTH: f64 = 48.0;

/// Maximum number of characters in a line of the footer. `NOTE_CHARS` and `TITLE_CHARS` are the
/// limits for a line of the notes and of the title.
const FOOTER_CHARS: usize = 84;
const NOTE_CHARS: usize = 80;
const TITLE_CHARS: usize = 62;

/// Minimum distance between two labels of the vertical axis, in pixels.
const MIN_TICK_DISTANCE: f64 = 16.0;

/// Distance between two rows of labels of the horizontal axis, in pixels.
const LABEL_ROW_HEIGHT: f64 = 14.0;

/// Maximum number of points in a series whose markers have the normal size. If a series has more
/// points, its markers are smaller.
const MANY_POINTS: usize = 20;

const INK: &str = "#1b1f24";
const SOFT: &str = "#59626c";
const FAINT: &str = "#e2e5e9";

/// Colours of the series. A plot with more series repeats the colours. Some colours have a similar
/// brightness.
const COLOURS: [&str; 8] =
    ["#0b61a4", "#b34d00", "#00684c", "#7b3fa0", "#8a6000", "#00788a", "#b0235f", "#1b1f24"];

const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];

pub(super) fn draw(chart: &Chart) -> String {
    let mut content = String::new();
    let mut y = MARGIN + 8.0;
    for line in wrap(&chart.title, TITLE_CHARS) {
        let attributes = format!("font-size=\"15\" font-weight=\"bold\" fill=\"{INK}\"");
        add(&mut content, &text(MARGIN, y + 6.0, "start", &attributes, &line));
        y += 20.0;
    }
    y = legend(&mut content, chart, y + 4.0);
    for panel in &chart.panels {
        add(&mut content, &format!("<g transform=\"translate(0 {y:.1})\">"));
        y += draw_panel(&mut content, chart, panel);
        add(&mut content, "</g>");
    }
    let mut note = explain_marks(chart);
    if !chart.unmeasured.is_empty() {
        note.push_str(&format!(" Not measured: {}.", chart.unmeasured.join("; ")));
    }
    let soft = format!("font-size=\"12\" fill=\"{SOFT}\"");
    for line in wrap(&note, NOTE_CHARS) {
        add(&mut content, &text(MARGIN, y + 8.0, "start", &soft, &line));
        y += LINE_HEIGHT;
    }
    let mono = format!("font-size=\"10.5\" font-family=\"monospace\" fill=\"{SOFT}\"");
    for line in footer(&chart.command) {
        add(&mut content, &text(MARGIN, y + 8.0, "start", &mono, &line));
        y += 14.0;
    }
    y += MARGIN;
    let title = escaped(&chart.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" width=\"{WIDTH}\" \
         height=\"{y}\" font-family=\"sans-serif\" font-size=\"{FONT_SIZE}\" role=\"img\" \
         aria-labelledby=\"title\">\n<title id=\"title\">{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{y}\" fill=\"#ffffff\"/>\n{content}</svg>\n"
    )
}

/// Returns the note that explains marks and bars. A mark of fewer than two values has no bar.
fn explain_marks(chart: &Chart) -> String {
    let marks = chart.panels.iter().flat_map(|panel| panel.lines.iter().flatten());
    let (with, without): (Vec<&Mark>, _) = marks.partition(|mark| mark.interval.is_some());
    let marks = match chart.runs {
        1 => "Marks: one run each.".to_owned(),
        runs => format!("Marks: means of {runs} runs."),
    };
    let bars = match (with.is_empty(), without.is_empty()) {
        (false, true) => "Bars: 95 % confidence intervals.",
        (false, false) => "Bars: 95 % confidence intervals; none for a single value.",
        (true, _) => "There are no confidence intervals: they need at least two values.",
    };
    format!("{marks} {bars}")
}

/// Splits the command into lines for the footer. All lines except the last end in a backslash, as
/// in a shell.
fn footer(command: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in wrap(command, FOOTER_CHARS - 2) {
        if let Some(last) = lines.last_mut() {
            last.push_str(" \\");
        }
        let mut rest = line.as_str();
        // A long list is broken after a comma, without blanks.
        while let Some(comma) = comma_before(rest, FOOTER_CHARS - 2) {
            let (start, end) = rest.split_at(comma + 1);
            lines.push(format!("{start}\\"));
            rest = end;
        }
        lines.push(rest.to_owned());
    }
    lines
}

/// Returns the position, in bytes, of the last comma among the first `position` characters. Returns
/// `None` if these characters contain no comma, or if the text is not longer than `position`
/// characters.
fn comma_before(text: &str, position: usize) -> Option<usize> {
    let (end, _) = text.char_indices().nth(position)?;
    text[..end].rfind(',')
}

/// Draws the legend with the names of the series. `top` is the y coordinate of the legend's upper
/// edge, in pixels. Returns the y coordinate of the legend's lower edge.
fn legend(content: &mut String, chart: &Chart, top: f64) -> f64 {
    let (mut x, mut y) = (MARGIN, top + LINE_HEIGHT);
    for (number, name) in chart.series.iter().enumerate() {
        let width = text_width(name, FONT_SIZE) + LEGEND_SYMBOL_WIDTH;
        if x + width > WIDTH && x > MARGIN {
            (x, y) = (MARGIN, y + LINE_HEIGHT);
        }
        let (line, middle) = (stroke(number), y - 4.5);
        let end = x + 24.0;
        if chart.joins_marks() {
            add(content, &format!("<path d=\"M{x:.1} {middle:.1}H{end:.1}\" {line}/>"));
        }
        add(content, &marker(number, x + 12.0, middle, 1.0));
        let ink = format!("fill=\"{INK}\"");
        add(content, &text(x + 30.0, y, "start", &ink, name));
        x += width;
    }
    y + LINE_HEIGHT
}

/// Draws a panel. Returns its height, in pixels.
fn draw_panel(content: &mut String, chart: &Chart, panel: &Panel) -> f64 {
    let marks = || panel.lines.iter().flatten();
    let x = match &chart.x {
        HorizontalAxis::Counts | HorizontalAxis::Numbers => {
            AxisScale::horizontal(marks().map(|mark| mark.x))
        }
        HorizontalAxis::Names(names) => {
            AxisScale::horizontal([-0.3, names.len() as f64 - 0.7].into_iter())
        }
    };
    let y = AxisScale::vertical(
        marks().flat_map(|mark| [mark.min_drawn_value(), mark.max_drawn_value()]),
    );
    let place = |mark: &Mark, value: f64| {
        (LEFT + x.position(mark.x) * (RIGHT - LEFT), BOTTOM - y.position(value) * (BOTTOM - TOP))
    };
    let labels_height = horizontal_axis(content, chart, x);
    vertical_axis(content, &panel.label, y);
    add(
        content,
        &format!("<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"{SOFT}\"/>"),
    );
    for (number, line) in panel.lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let name = escaped(&chart.series[number]);
        add(content, &format!("<g><title>{name}</title>"));
        if chart.joins_marks() {
            let points: Vec<String> = line
                .iter()
                .map(|mark| place(mark, mark.mean))
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let points = points.join(" ");
            add(content, &format!("<polyline points=\"{points}\" {}/>", stroke(number)));
        }
        let size = if line.len() > MANY_POINTS { 0.6 } else { 1.0 };
        for mark in line {
            let (left, middle) = place(mark, mark.mean);
            if let Some((low, high)) = mark.interval {
                let ends = (place(mark, low).1, place(mark, high).1);
                // The axis has no position for the lower end. The bar then ends at the lower edge
                // of the frame.
                let is_open = y.is_logarithmic && low <= 0.0;
                add(content, &error_bar(number, left, ends, is_open, size));
            }
            add(content, &marker(number, left, middle, size));
        }
        add(content, "</g>");
    }
    PANEL_HEIGHT + labels_height
}

/// Draws the horizontal axis. A number is omitted if its label would touch the previous label. If
/// the label of a name would touch another label, it is drawn in a row below. Returns the height of
/// the rows below the first, in pixels.
fn horizontal_axis(content: &mut String, chart: &Chart, x: AxisScale) -> f64 {
    let soft = format!("font-size=\"{TICK_FONT_SIZE}\" fill=\"{SOFT}\"");
    let labelled = |ticks: Vec<f64>| {
        ticks.into_iter().map(|tick| (tick, format_figure(tick))).collect::<Vec<_>>()
    };
    let ticks: Vec<(f64, String)> = match &chart.x {
        HorizontalAxis::Counts => labelled(x.whole_ticks(8)),
        HorizontalAxis::Numbers => labelled(x.ticks(8)),
        HorizontalAxis::Names(names) => {
            names.iter().enumerate().map(|(place, name)| (place as f64, name.clone())).collect()
        }
    };
    let has_names = matches!(chart.x, HorizontalAxis::Names(_));
    // Right end of the last label in each row.
    let mut row_ends: Vec<f64> = Vec::new();
    for (tick, name) in ticks {
        let at = LEFT + x.position(tick) * (RIGHT - LEFT);
        let half = text_width(&name, TICK_FONT_SIZE) / 2.0;
        let label = if has_names { at.min(WIDTH - half).max(half) } else { at };
        let fits = |end: &f64| label - half >= *end;
        let row = row_ends.iter().position(fits).unwrap_or(row_ends.len());
        if row > 0 && !has_names {
            continue;
        }
        row_ends.resize(row_ends.len().max(row + 1), 0.0);
        row_ends[row] = label + half + 6.0;
        add(content, &format!("<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"{FAINT}\"/>"));
        let below = BOTTOM + 16.0 + row as f64 * LABEL_ROW_HEIGHT;
        add(content, &text(label, below, "middle", &soft, &name));
    }
    let labels_height = row_ends.len().saturating_sub(1) as f64 * LABEL_ROW_HEIGHT;
    let ink = format!("fill=\"{INK}\"");
    let (middle, below) = ((LEFT + RIGHT) / 2.0, BOTTOM + 35.0 + labels_height);
    add(content, &text(middle, below, "middle", &ink, &chart.x_label));
    labels_height
}

fn vertical_axis(content: &mut String, label: &str, y: AxisScale) {
    let soft = format!("font-size=\"{TICK_FONT_SIZE}\" fill=\"{SOFT}\"");
    let mut last = f64::INFINITY;
    for tick in y.ticks(8) {
        let at = BOTTOM - y.position(tick) * (BOTTOM - TOP);
        if last - at < MIN_TICK_DISTANCE {
            continue;
        }
        last = at;
        add(content, &format!("<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"{FAINT}\"/>"));
        add(content, &text(LEFT - 7.0, at + 4.0, "end", &soft, &format_figure(tick)));
    }
    let label = if y.is_logarithmic { format!("{label}, logarithmic") } else { label.to_owned() };
    let middle = (TOP + BOTTOM) / 2.0;
    let turned = format!("fill=\"{INK}\" transform=\"rotate(-90 16 {middle:.1})\"");
    add(content, &text(16.0, middle, "middle", &turned, &label));
}

fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

fn stroke(series: usize) -> String {
    let dash = DASHES[(series / 2) % DASHES.len()];
    let colour = colour(series);
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.4\" stroke-dasharray=\"{dash}\"")
}

/// Returns the SVG of a confidence interval: a vertical bar with a short line across each end. If
/// `is_open` is true, the lower end has no such line.
fn error_bar(series: usize, x: f64, (low, high): (f64, f64), is_open: bool, size: f64) -> String {
    let serif = 3.0 * size;
    let (left, width, colour) = (x - serif, 2.0 * serif, colour(series));
    let lower = if is_open { String::new() } else { format!("M{left:.1} {low:.1}h{width:.1}") };
    format!(
        "<path d=\"M{x:.1} {low:.1}V{high:.1}{lower}M{left:.1} {high:.1}h{width:.1}\" \
         fill=\"none\" stroke=\"{colour}\"/>"
    )
}

fn marker(series: usize, x: f64, y: f64, size: f64) -> String {
    let shape = marker_path(series);
    let colour = colour(series);
    let fill = if series % 12 < 6 { colour } else { "#ffffff" };
    format!(
        "<path transform=\"translate({x:.1} {y:.1}) scale({size})\" d=\"{shape}\" fill=\"{fill}\" \
         stroke=\"{colour}\" stroke-width=\"1.4\"/>"
    )
}

fn text(x: f64, y: f64, anchor: &str, attributes: &str, label: &str) -> String {
    let label = escaped(label);
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {attributes}>{label}</text>")
}

/// Escapes text for XML, and replaces control characters by visible escapes.
fn escaped(text: &str) -> String {
    let text = escape_invisible(text).replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn add(content: &mut String, element: &str) {
    writeln!(content, "{element}").expect("writing to a string succeeds");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_are_broken_as_in_a_shell() {
        let names: Vec<String> = (0..30).map(|number| format!("lock-{number}")).collect();
        let command = format!("tenure compare mutex --only {} --sweep n=3..50", names.join(","));
        let lines = footer(&command);
        assert!(
            lines.len() > 3 && lines.iter().all(|line| line.len() <= FOOTER_CHARS),
            "{lines:?}"
        );
        let joined = lines.join("\n").replace(" \\\n", " ").replace("\\\n", "");
        assert_eq!(joined, command);
        assert_eq!(footer("tenure list"), ["tenure list"]);
    }

    fn chart(x: HorizontalAxis, series: &[&str], interval: Option<(f64, f64)>) -> Chart {
        let line = [3.0, 4.0].map(|x| Mark { x, mean: 2.0, interval }).to_vec();
        let lines = vec![line; series.len()];
        Chart {
            title: "messages against the number of processes".to_owned(),
            command: "tenure simulate central --sweep n=3,4".to_owned(),
            runs: 1,
            x_label: "number of processes, n".to_owned(),
            x,
            series: series.iter().map(|name| (*name).to_owned()).collect(),
            unmeasured: Vec::new(),
            panels: vec![Panel { label: "messages per entry".to_owned(), lines }],
        }
    }

    #[test]
    fn counts_have_whole_ticks() {
        let svg = draw(&chart(HorizontalAxis::Counts, &["central"], None));
        assert!(svg.contains(">3</text>") && svg.contains(">4</text>"), "{svg}");
        assert!(!svg.contains(">3.2</text>"), "{svg}");
        let numbers = draw(&chart(HorizontalAxis::Numbers, &["central"], None));
        assert!(numbers.contains(">3.2</text>"), "{numbers}");
    }

    #[test]
    fn no_line_joins_categories() {
        let names = ["ring", "line", "star", "complete", "tree"].map(str::to_owned).to_vec();
        let svg = draw(&chart(HorizontalAxis::Names(names), &["raymond"], Some((1.0, 3.0))));
        assert!(!svg.contains("<polyline"), "{svg}");
        assert_eq!(svg.matches(marker_path(0)).count(), 3, "one in the legend: {svg}");
        let joined = draw(&chart(HorizontalAxis::Counts, &["raymond"], Some((1.0, 3.0))));
        assert_eq!(joined.matches("<polyline").count(), 1, "{joined}");
    }

    #[test]
    fn all_names_have_a_label() {
        let names =
            ["ring", "line", "star", "complete", "binary-tree", "grid", "torus", "hypercube"];
        let named = names.map(str::to_owned).to_vec();
        let svg = draw(&chart(HorizontalAxis::Names(named), &["raymond"], None));
        for name in names {
            assert!(svg.contains(&format!(">{name}</text>")), "{name}: {svg}");
        }
    }

    #[test]
    fn lower_ends_of_intervals_are_drawn_on_a_logarithmic_axis() {
        let mut wide = chart(HorizontalAxis::Counts, &["central"], Some((5.0, 15.0)));
        wide.panels[0].lines[0][0].mean = 10.0;
        wide.panels[0].lines[0][1] = Mark { x: 4.0, mean: 1000.0, interval: None };
        let height = |svg: &str| {
            let bar = svg.split("V").find(|it| it.contains("h6.0"))?;
            bar.split("h6.0").next()?.split(' ').next_back()?.parse::<f64>().ok()
        };
        let svg = draw(&wide);
        assert!(svg.contains(", logarithmic"), "{svg}");
        assert!(height(&svg).is_some_and(|it| it < BOTTOM - 1.0), "{svg}");
        wide.panels[0].lines[0][0].interval = Some((-5.0, 15.0));
        assert_eq!(draw(&wide).matches("h6.0").count(), 1, "the lower end is not drawn");
    }

    #[test]
    fn single_values_have_no_bars() {
        let single = draw(&chart(HorizontalAxis::Counts, &["central"], None));
        assert!(single.contains("There are no confidence intervals"), "{single}");
        let measured = draw(&chart(HorizontalAxis::Counts, &["central"], Some((1.0, 3.0))));
        assert!(measured.contains("Bars: 95 % confidence intervals."), "{measured}");
        let bars = |svg: &str| svg.matches("h6.0M").count();
        assert_eq!((bars(&single), bars(&measured)), (0, 2), "{measured}");
    }

    /// The name of an algorithm in the legend ends before the line of the next entry.
    #[test]
    fn legend_entries_do_not_touch() {
        let series = ["central", "lamport", "suzuki-kasami", "raymond", "maekawa"];
        let mut content = String::new();
        legend(&mut content, &chart(HorizontalAxis::Counts, &series, None), 0.0);
        let line = content.split("<path d=\"M").skip(1);
        let number = |text: &str| text.split(' ').next().and_then(|it| it.parse::<f64>().ok());
        let starts: Vec<f64> = line.filter_map(number).collect();
        assert_eq!(starts.len(), series.len(), "{content}");
        // Widths of the names in the font DejaVu Sans.
        let ends = [47.5, 50.9, 92.4, 58.9, 62.7].iter().zip(&starts).map(|(it, x)| x + 30.0 + it);
        for (end, next) in ends.zip(&starts[1..]) {
            assert!(end + 8.0 < *next || *next == MARGIN, "{end} to {next}: {content}");
        }
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b>&\u{1b}"), "a&lt;b&gt;&amp;\\u{1b}");
    }
}
