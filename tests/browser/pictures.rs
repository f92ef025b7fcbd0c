//! Tests of exported pictures in a browser. Violations are visible, trees look like trees, and
//! texts neither overlap nor are cut off.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tenure_browser::Tab;

use crate::counterexample;
use crate::lab_page::{LabPage, tenure};
use crate::layout::CUT;

/// Expression that returns the overlapping texts of a drawing, and the texts that extend beyond the
/// drawing.
const WORDS: &str = "(() => {
    const within = document.querySelector('svg').getBoundingClientRect();
    const all = Array.from(document.querySelectorAll('svg text'), (each) =>
        [each.textContent, each.getBoundingClientRect()]);
    if (all.length === 0) return ['no text'];
    const cut = all.filter(([, a]) => a.left < within.left || a.right > within.right
        || a.top < within.top || a.bottom > within.bottom).map(([one]) => one);
    const over = all.flatMap(([one, a], place) => all.slice(place + 1)
        .filter(([, b]) => a.left + 2 < b.right && b.left + 2 < a.right
            && a.top + 4 < b.bottom && b.top + 4 < a.bottom)
        .map(([two]) => `${one} and ${two}`));
    return [...cut, ...over];
})()";

/// Expression that checks a drawing of logs. It returns the texts that are wider than their boxes.
const BOXED: &str = "(() => {
    const boxes = Array.from(document.querySelectorAll('svg rect.entry'), (each) =>
        each.getBoundingClientRect());
    const all = Array.from(document.querySelectorAll('svg .term, svg .says'));
    if (all.length === 0) return ['no text'];
    return all.filter((each) => {
        const { left, right, top } = each.getBoundingClientRect();
        return !boxes.some((box) => box.left <= left && right <= box.right && box.top <= top);
    }).map((each) => each.textContent);
})()";

/// Expression that returns the number of pixels of the diagram with the colour of the critical
/// section.
const INSIDE: &str =
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const { width, height } = viewer.canvas;
    const copy = new OffscreenCanvas(width, height).getContext('2d');
    copy.drawImage(viewer.canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    const [red, green, blue] = viewer.picture.colours.inside.match(/[0-9a-f]{2}/g)
        .map((part) => parseInt(part, 16));
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
        if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) count++;
    }
    done(count);
})))";

/// Shows a drawing in a window of this width, in light or dark mode.
fn show(tab: &mut Tab, file: &Path, wide: u32, look: &str) {
    tab.emulate_display(wide, 900, look);
    tab.load(file, "document.querySelector('svg')");
}

#[test]
fn counterexample_shows_violation_without_click() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = counterexample(folder.path());
    let trace = trace.to_str().unwrap();
    let svg = folder.path().join("drawn.svg");
    fs::write(&svg, tenure(&["trace", "diagram", trace, "--as", "svg"])).unwrap();
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        show(&mut tab, &svg, wide, look);
        assert_eq!(tab.evaluate(WORDS), json!([]), "at {wide} pixels");
        let marks = "Array.from(document.querySelectorAll(
            '.violation, .violation-step, .verdict'), (each) => {
            const { width, height } = each.getBoundingClientRect(); return width * height > 20; })";
        let description = tab.evaluate("document.querySelector('svg').textContent").to_string();
        let again = "tenure check ricart-agrawala -n 2";
        assert!(
            description.contains("ricart-agrawala, 2 processes") && description.contains(again),
            "{description}"
        );
        let marks = tab.evaluate(marks);
        let marks = marks.as_array().unwrap();
        assert!(marks.len() > 2 && marks.iter().all(|seen| *seen == json!(true)), "{marks:?}");
    }
    let page = folder.path().join("drawn.html");
    fs::write(&page, tenure(&["trace", "diagram", trace, "--as", "html"])).unwrap();
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        tab.emulate_display(wide, 900, look);
        tab.load(&page, "window.viewer");
        assert_eq!(tab.text("#verdict"), "✗ violated");
        let description = tab.text("#violation");
        let words = "✗ mutual-exclusion violated: P1 entered, and now {P1, P2} are inside";
        assert!(description.contains(words), "{description}");
        let in_sight = "['violation', 'picture'].every((id) =>
            document.getElementById(id).getBoundingClientRect().bottom < innerHeight)";
        assert_eq!(tab.evaluate(in_sight), json!(true), "without a click, at {wide} pixels");
        assert_eq!(tab.evaluate(CUT), json!([]), "at {wide} pixels");
        assert!(tab.text("#event").contains("P1 enters"), "it opens there: {}", tab.text("#event"));
    }
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn draws_tree_as_tree_and_coordinator_in_center() {
    let Some(mut page) = LabPage::with_args(&["raymond", "-n", "7", "--tree", "heap"]) else {
        return;
    };
    let places = "Array.from(document.querySelectorAll('#picture .process'), (each) =>
        [parseFloat(each.style.left), parseFloat(each.style.top)])";
    let of = |value: Value| -> Vec<[f64; 2]> { serde_json::from_value(value).unwrap() };
    let tree = of(page.tab.evaluate(places));
    for (child, place) in tree.iter().enumerate().skip(1) {
        let parent = tree[(child - 1) / 2];
        assert!(parent[1] < place[1], "P{} stands below its parent: {tree:?}", child + 1);
    }
    assert_eq!(
        page.tab.evaluate("document.querySelectorAll('#picture .link-line').length"),
        json!(6)
    );
    page.tab.evaluate("lab.begin('central -n 5')");
    page.wait_idle();
    let star = of(page.tab.evaluate(places));
    let middle = (star[1][0] + star[2][0] + star[3][0] + star[4][0]) / 4.0;
    assert!((star[0][0] - middle).abs() < 2.0, "{star:?}");
    assert_eq!(
        page.tab.evaluate("document.querySelectorAll('#picture .link-line').length"),
        json!(4)
    );
    page.assert_no_complaints();
}

#[test]
fn lays_out_quorums_and_marks_selected_one() {
    let Some(mut page) = LabPage::with_args(&["maekawa", "-n", "7", "--quorums", "tree"]) else {
        return;
    };
    let asked = "Array.from(document.querySelectorAll('#picture .asked'), (each) =>
        Number(each.dataset.process))";
    assert_eq!(page.tab.evaluate(asked), json!([1, 2, 4]), "the path that P1 is on");
    let heights = "Array.from(document.querySelectorAll('#picture .process'), (each) =>
        parseFloat(each.style.top))";
    let heights: Vec<f64> = serde_json::from_value(page.tab.evaluate(heights)).unwrap();
    assert!(heights[0] < heights[1] && heights[1] < heights[3], "below the root: {heights:?}");
    assert!(page.text("#legend").contains("the quorum of P1"));
    page.tab.evaluate("lab.begin('maekawa -n 7 --quorums fpp')");
    page.wait_idle();
    assert_eq!(page.tab.evaluate(asked), json!([1, 2, 3]), "a line of the plane");
    page.assert_no_complaints();
}

#[test]
fn plot_groups_curves_and_describes_hovered_point() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (file, look) in [("drawn.svg", "light"), ("drawn.html", "dark")] {
        let file = folder.path().join(file);
        let plot = file.to_str().unwrap();
        let only = "--only=central,lamport,raymond,maekawa,coordinated:bully";
        tenure(&["compare", "mutex", "--runs", "1", only, "--plot", plot]);
        show(&mut tab, &file, 500, look);
        assert_eq!(tab.evaluate(WORDS), json!([]), "{plot}");
        assert_eq!(tab.evaluate("document.querySelectorAll('svg .head').length"), json!(5));
        let paper = "getComputedStyle(document.querySelector('.paper')).fill";
        let paper = tab.evaluate(paper);
        assert_eq!(paper == json!("rgb(255, 255, 255)"), look == "light", "{paper}");
    }
    tab.evaluate(
        "document.querySelector('svg g[data-name=lamport] g .mark')
            .dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))",
    );
    let readout = tab.text("#readout");
    assert!(readout.starts_with("lamport: 2 processes, "), "{readout}");
    let behind = "getComputedStyle(document.querySelector('[data-name=central]')).opacity";
    assert_eq!(tab.evaluate(behind), json!("0.2"));
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn page_of_real_nodes_shows_holder_without_click() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let description = tenure(&["run", "--nodes", "3", "--entries", "5", "--dir", &at("run")]);
    assert!(description.contains("violations                none"), "{description}");
    let files = ["p1", "p2", "p3", "parent"].map(|name| at(&format!("run/{name}.ndjson")));
    let files = files.iter().map(String::as_str);
    let words: Vec<&str> = ["trace", "diagram", "--as", "html"].into_iter().chain(files).collect();
    let page = folder.path().join("page.html");
    fs::write(&page, tenure(&words)).unwrap();
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        tab.emulate_display(wide, 900, look);
        tab.load(&page, "window.viewer");
        let inside = tab.evaluate(INSIDE).as_u64().unwrap();
        assert!(inside > 300, "{inside} pixels at {wide}");
        assert_eq!(tab.evaluate(CUT), json!([]), "at {wide} pixels");
    }
    let drawing = ["trace", "diagram", "--as", "svg", "--events", "1..60"];
    let words: Vec<&str> = drawing.into_iter().chain(words.into_iter().skip(4)).collect();
    let svg = folder.path().join("page.svg");
    fs::write(&svg, tenure(&words)).unwrap();
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        show(&mut tab, &svg, wide, look);
        assert_eq!(tab.evaluate(WORDS), json!([]), "drawn, at {wide} pixels");
    }
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn logs_and_comparison_fit_without_overlap() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (one, two) = (at("one"), at("two"));
    for (seed, trace) in [("1", &one), ("2", &two)] {
        let words = ["simulate", "raft-log", "-n", "3", "--entries", "9", "--seed", seed];
        tenure(&[&words[..], &["--latency", "1..3", "--trace", trace]].concat());
    }
    let rows = folder.path().join("rows.svg");
    let words = ["trace", "diagram", &one, "--as", "svg", "--paginate", "30"];
    fs::write(&rows, tenure(&words)).unwrap();
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        show(&mut tab, &rows, wide, look);
        assert_eq!(tab.evaluate(WORDS), json!([]), "rows at {wide} pixels");
        assert!(tab.evaluate("document.querySelectorAll('svg > g').length").as_u64() > Some(3));
    }
    let svg = folder.path().join("logs.svg");
    for more in [&[][..], &["--at", "70,80,90,100"]] {
        let words = ["trace", "diagram", &one, "--logs", "--as", "svg"];
        fs::write(&svg, tenure(&[&words[..], more].concat())).unwrap();
        for (wide, look) in [(1280, "light"), (500, "dark")] {
            show(&mut tab, &svg, wide, look);
            assert_eq!(tab.evaluate(WORDS), json!([]), "{more:?} at {wide} pixels");
            assert_eq!(tab.evaluate(BOXED), json!([]), "{more:?} at {wide} pixels");
        }
    }
    let page = folder.path().join("two.html");
    fs::write(&page, tenure(&["trace", "diff", &one, &two, "--as", "html"])).unwrap();
    let mut papers = Vec::new();
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        tab.emulate_display(wide, 900, look);
        tab.load(&page, "document.getElementById('parts')");
        assert_eq!(tab.evaluate(CUT), json!([]), "at {wide} pixels");
        papers.push(tab.evaluate("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(papers[0], papers[1]);
    assert_eq!(tab.complaints, [""; 0]);
}
