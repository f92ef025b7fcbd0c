//! Colors and shapes of diagrams, in light and dark mode. Each thing that a diagram shows, such as
//! waiting or a crash, has its own color and its own shape.

/// Style sheet of a diagram.
///
/// The colors are those of Okabe and Ito, which color-blind people can distinguish. Dark mode uses
/// brighter variants. Each kind of mark has its own shape, so the picture is readable in grey.
pub(super) const STYLE_SHEET: &str = "\
text{font:12px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#1b1f24}
.name{font-weight:bold;font-size:14px}
.small{font-size:11px;fill:#4d555e}
.halo{paint-order:stroke;stroke:#fff;stroke-width:6px;stroke-linejoin:round}
.paper{fill:#fff}
.lane{stroke:#7a828b;stroke-width:1.5;fill:none}
.down{stroke:#7a828b;stroke-width:1.5;stroke-dasharray:2 5;fill:none}
.inside{fill:#0072b2;stroke:#0072b2}
.waits{fill:url(#hatch);stroke:#b34d00}
.hatch{stroke:#b34d00;stroke-width:2}
.leads{fill:none;stroke:#8a6000;stroke-width:1.5}
.crown{fill:#e69f00;stroke:#5c4000}
.learns{fill:none;stroke:#8a6000;stroke-width:1.2}
.token{stroke:#007a59;stroke-width:4;fill:none}
.gem{fill:#007a59;stroke:#fff}
.arrow{stroke:#1b1f24;stroke-width:1.4;fill:none}
.kind1{stroke:#0072b2;stroke-dasharray:14 3}
.kind2{stroke:#a0348f;stroke-dasharray:14 3 3 3}
.kind3{stroke:#00684c;stroke-dasharray:24 4}
.kind4{stroke:#7a5600;stroke-dasharray:14 3 3 3 3 3}
.kind5{stroke:#4b3fb5;stroke-dasharray:24 3 8 3}
.dash0{stroke-dasharray:none}
.dash1{stroke-dasharray:14 3}
.dash2{stroke-dasharray:14 3 3 3}
.dash3{stroke-dasharray:24 4}
.dash4{stroke-dasharray:14 3 3 3 3 3}
.dash5{stroke-dasharray:24 3 8 3}
.carries{stroke:#007a59;stroke-width:2.6;fill:none}
.lost{stroke:#b34d00;stroke-width:1.6;stroke-dasharray:6 4;fill:none}
.open{stroke:#4d555e;stroke-width:1.4;stroke-dasharray:2 3;fill:none}
.cross{stroke:#b34d00;stroke-width:2.4;fill:none}
.head{fill:#1b1f24}
.head1{fill:#0072b2}
.head2{fill:#a0348f}
.head3{fill:#00684c}
.head4{fill:#7a5600}
.head5{fill:#4b3fb5}
.gemhead{fill:#007a59}
.dot{fill:#1b1f24;stroke:#fff;stroke-width:1.5}
.ring{fill:#fff;stroke:#1b1f24;stroke-width:2}
.grid{stroke:#c4c9cf;stroke-width:1;fill:none}
.cut{stroke:#4d555e;stroke-width:1.2;stroke-dasharray:5 4;fill:none}
.violation{fill:#a82c00;fill-opacity:.16}
.violation-step{fill:none;stroke:#a82c00;stroke-width:2.4}
.verdict{font-weight:bold;fill:#a82c00}
.side0{fill:#56b4e9;fill-opacity:.22}
.side1{fill:#cc79a7;fill-opacity:.22}
@media (prefers-color-scheme:dark){
text{fill:#e8eaed}
.small{fill:#aab2bb}
.halo{stroke:#12161b}
.paper{fill:#12161b}
.lane,.down{stroke:#8b949e}
.inside{fill:#56b4e9;stroke:#56b4e9}
.waits{stroke:#f0a35e}
.hatch{stroke:#f0a35e}
.leads,.learns{stroke:#f0c040}
.crown{fill:#f0c040;stroke:#fff3c4}
.token{stroke:#2fc89b}
.gem{fill:#2fc89b;stroke:#12161b}
.arrow{stroke:#e8eaed}
.kind1{stroke:#56b4e9}
.kind2{stroke:#e79bd8}
.kind3{stroke:#5fd6b0}
.kind4{stroke:#f0c040}
.kind5{stroke:#b3a8ff}
.carries{stroke:#2fc89b}
.lost,.cross{stroke:#ff9a6b}
.open{stroke:#aab2bb}
.head{fill:#e8eaed}
.head1{fill:#56b4e9}
.head2{fill:#e79bd8}
.head3{fill:#5fd6b0}
.head4{fill:#f0c040}
.head5{fill:#b3a8ff}
.gemhead{fill:#2fc89b}
.dot{fill:#e8eaed;stroke:#12161b}
.ring{fill:#12161b;stroke:#e8eaed}
.grid{stroke:#343c45}
.cut{stroke:#aab2bb}
.violation{fill:#ff9a6b}
.violation-step{stroke:#ff9a6b}
.verdict{fill:#ff9a6b}
}
";

/// SVG definitions of patterns and arrow heads.
pub(super) const SVG_DEFINITIONS: &str = "\
<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
<path class=\"hatch\" d=\"M-1 1L1 -1M0 6L6 0M5 7L7 5\"/></pattern>
<marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" \
markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
<path class=\"head\" d=\"M0 0L10 5L0 10L3 5Z\"/></marker>
<marker id=\"gemhead\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"11\" \
markerHeight=\"11\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
<path class=\"gemhead\" d=\"M0 0L10 5L0 10L3 5Z\"/></marker>
";

/// SVG path of the mark of a leader: a crown around the origin.
pub(in crate::diagram) const CROWN_PATH: &str = "M-7 5L-8 -4L-3 0L0 -6L3 0L8 -4L7 5Z";
/// SVG path of the mark of a token: a cut gem around the origin.
pub(super) const GEM_PATH: &str = "M0 -6L6 0L0 6L-6 0Z";
/// SVG path of the mark of a crash or a loss: a cross around the origin.
pub(super) const CROSS_PATH: &str = "M-5 -5L5 5M-5 5L5 -5";

/// Escapes text for use between XML tags. The result is not safe in attributes.
pub(in crate::diagram) fn escape_xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            letter => safe.push(letter),
        }
    }
    safe
}

/// Estimates the width of a text in the picture, in pixels. All letters count as equally wide.
pub(in crate::diagram) fn estimated_text_width(text: &str) -> i64 {
    text.chars().count() as i64 * 7
}

/// Estimates the width of a text in Helvetica with a size of 12 pixels, the font of most viewers.
/// The estimate is usually an upper bound. The result is in pixels. Boxes behind texts have this
/// width.
pub(super) fn max_text_width(text: &str) -> i64 {
    let thousandths = |letter: char| match letter {
        'i' | 'j' | 'l' | '\'' | '|' => 222,
        ' ' | 'f' | 't' | 'I' | '.' | ',' | ':' | ';' | '/' | '!' | '[' | ']' => 278,
        '(' | ')' | '-' | 'r' | '{' | '}' => 333,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 500,
        'm' | 'M' | 'W' => 889,
        'w' | 'A'..='Z' => 722,
        'a'..='z' | '0'..='9' | '_' | '?' | '‹' | '›' => 556,
        _ => 600,
    };
    text.chars().map(thousandths).sum::<i64>() * 12 / 1_000
}
