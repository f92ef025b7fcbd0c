//! Pictures that the command makes, in a browser: what went wrong is seen, a tree looks like one,
//! and no word lies over another or is cut.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tenure_browser::Tab;

use crate::counterexample;
use crate::visit::{Visit, tenure};

/// Words of a drawing of which one lies over the other, or that leave the drawing.
const WORDS: &str = "(() => {
    const within = document.querySelector('svg').getBoundingClientRect();
    const all = Array.from(document.querySelectorAll('svg text'), (each) =>
        [each.textContent, each.getBoundingClientRect()]);
    const cut = all.filter(([, a]) => a.left < within.left || a.right > within.right
        || a.top < within.top || a.bottom > within.bottom).map(([one]) => one);
    const over = all.flatMap(([one, a], place) => all.slice(place + 1)
        .filter(([, b]) => a.left + 2 < b.right && b.left + 2 < a.right
            && a.top + 4 < b.bottom && b.top + 4 < a.bottom)
        .map(([two]) => `${one} and ${two}`));
    return [...cut, ...over];
})()";

/// Shows a drawing, as wide as this.
fn show(tab: &mut Tab, file: &Path, wide: u32, look: &str) {
    tab.resize(wide, 900, look);
    tab.load(file, "document.querySelector('svg')");
}

#[test]
fn a_counterexample_shows_what_went_wrong_without_a_click() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = counterexample(folder.path());
    let trace = trace.to_str().unwrap();
    let svg = folder.path().join("drawn.svg");
    fs::write(&svg, tenure(&["trace", "diagram", trace, "--as", "svg"])).unwrap();
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        show(&mut tab, &svg, wide, look);
        assert_eq!(tab.value(WORDS), json!([]), "at {wide} pixels");
        let marks = "Array.from(document.querySelectorAll('.crime, .guilty, .verdict'), (each) => {
            const { width, height } = each.getBoundingClientRect(); return width * height > 20; })";
        let marks = tab.value(marks);
        let marks = marks.as_array().unwrap();
        assert!(marks.len() > 2 && marks.iter().all(|seen| *seen == json!(true)), "{marks:?}");
    }
    let page = folder.path().join("drawn.html");
    fs::write(&page, tenure(&["trace", "diagram", trace, "--as", "html"])).unwrap();
    tab.load(&page, "window.viewer");
    assert_eq!(tab.text("#verdict"), "✗ violated");
    assert!(tab.text("#event").contains("P1 enters"), "it opens there: {}", tab.text("#event"));
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn a_tree_looks_like_a_tree_and_a_coordinator_stands_in_the_middle() {
    let Some(mut visit) = Visit::to(&["raymond", "-n", "7", "--tree", "heap"]) else { return };
    let places = "Array.from(document.querySelectorAll('#stage .process'), (each) =>
        [parseFloat(each.style.left), parseFloat(each.style.top)])";
    let of = |value: Value| -> Vec<[f64; 2]> { serde_json::from_value(value).unwrap() };
    let tree = of(visit.tab.value(places));
    for (child, place) in tree.iter().enumerate().skip(1) {
        let parent = tree[(child - 1) / 2];
        assert!(parent[1] < place[1], "P{} stands below its parent: {tree:?}", child + 1);
    }
    assert_eq!(visit.tab.value("document.querySelectorAll('#stage .ground').length"), json!(6));
    visit.tab.value("lab.begin({words: 'central -n 5'}, 'form-error')");
    visit.answered();
    let star = of(visit.tab.value(places));
    let middle = (star[1][0] + star[2][0] + star[3][0] + star[4][0]) / 4.0;
    assert!((star[0][0] - middle).abs() < 2.0, "{star:?}");
    assert_eq!(visit.tab.value("document.querySelectorAll('#stage .ground').length"), json!(4));
    visit.well();
}

#[test]
fn curves_are_drawn_in_families_and_a_page_tells_of_what_is_pointed_at() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (file, look) in [("drawn.svg", "light"), ("drawn.html", "dark")] {
        let file = folder.path().join(file);
        let plot = file.to_str().unwrap();
        let only = "--only=central,lamport,raymond,maekawa,coordinated:bully";
        tenure(&["compare", "mutex", "--runs", "1", only, "--plot", plot]);
        show(&mut tab, &file, 500, look);
        assert_eq!(tab.value(WORDS), json!([]), "{plot}");
        assert_eq!(tab.value("document.querySelectorAll('svg .head').length"), json!(5));
        let paper = "getComputedStyle(document.querySelector('.paper')).fill";
        let paper = tab.value(paper);
        assert_eq!(paper == json!("rgb(255, 255, 255)"), look == "light", "{paper}");
    }
    tab.value(
        "document.querySelector('svg g[data-name=lamport] g .mark')
            .dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))",
    );
    let told = tab.text("#told");
    assert!(told.starts_with("lamport: 2 processes, "), "{told}");
    let behind = "getComputedStyle(document.querySelector('[data-name=central]')).opacity";
    assert_eq!(tab.value(behind), json!("0.2"));
    assert_eq!(tab.complaints, [""; 0]);
}
