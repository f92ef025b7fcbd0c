//! Colours, dash patterns and markers of curves.

use crate::cmd::scale::marker_path;

/// Number of different colours of curves. In a family with more curves, the colours repeat.
const INKS: usize = 8;

pub(super) const DASHES: [&str; 5] = ["none", "7 3", "2 3", "9 3 2 3", "12 4"];

/// Returns the number of the CSS class for the colour of a curve, such as 3 for the class `i3`. The
/// algorithms in one row of panels are a family. `index_in_family` is the index of the curve among
/// the curves of its family.
pub(super) fn colour_class(index_in_family: usize) -> usize {
    index_in_family % INKS
}

/// Style sheet of a plot, for light and dark mode. The style sheet dims all other curves while one
/// curve is highlighted.
pub(super) const STYLE: &str = "\
:root{--paper:#fff;--ink:#1b1f24;--soft:#59626c;--faint:#e2e5e9;--other:#c6ccd2}\
.i0{--c:#0b61a4}.i1{--c:#b34d00}.i2{--c:#00684c}.i3{--c:#7b3fa0}\
.i4{--c:#8a6000}.i5{--c:#00788a}.i6{--c:#b0235f}.i7{--c:#1b1f24}\
@media (prefers-color-scheme:dark){\
:root{--paper:#12161b;--ink:#e8eaed;--soft:#aab2bb;--faint:#2b323a;--other:#4a545e}\
.i0{--c:#56b4e9}.i1{--c:#ff9a6b}.i2{--c:#5fd6b0}.i3{--c:#c9a0e8}\
.i4{--c:#f0c040}.i5{--c:#4fd0e0}.i6{--c:#f08ab8}.i7{--c:#e8eaed}}\
text{font:12px sans-serif;fill:var(--ink)}.soft{fill:var(--soft)}\
.head{font-weight:bold;font-size:14px}\
.paper{fill:var(--paper)}.grid{stroke:var(--faint)}.axis{stroke:var(--soft);fill:none}\
.other{stroke:var(--other);fill:none}.theory{stroke:var(--c);fill:none;stroke-width:1.2}\
.mark{stroke:var(--c);fill:var(--c);stroke-width:1.4}.hollow{fill:var(--paper)}\
.apart .curve{opacity:.2}.apart .curve.on{opacity:1}";

/// Script that shows the figures of the marker under the pointer, highlights its algorithm, and
/// dims the curves of the other algorithms.
pub(super) const SCRIPT: &str = r#"
const picture = document.querySelector("svg");
const readout = document.getElementById("readout");
picture.addEventListener("pointerover", ({ target }) => {
  const name = target.closest("[data-name]")?.dataset.name;
  picture.classList.toggle("apart", name !== undefined);
  for (const each of picture.querySelectorAll(".curve")) {
    each.classList.toggle("on", each.dataset.name === name);
  }
  const text = target.closest("g")?.querySelector(":scope > title")?.textContent ?? name;
  if (text !== undefined) readout.textContent = text;
});
"#;

/// Returns the SVG marker of a curve at a point. `index_in_family` is the index of the curve in the
/// family of its algorithm.
pub(super) fn marker(index_in_family: usize, x: f64, y: f64) -> String {
    let shape = marker_path(index_in_family);
    let class = if index_in_family % 12 < 6 { "mark" } else { "mark hollow" };
    format!("<path class=\"{class}\" transform=\"translate({x:.1} {y:.1})\" d=\"{shape}\"/>")
}
