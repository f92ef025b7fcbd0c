//! Tests of clicks while a page redraws itself. Pages update their elements instead of replacing
//! them, because a browser sends no click to an element that was replaced between press and
//! release.

use std::fs;

use serde_json::json;
use tenure_browser::Tab;

use crate::counterexample;
use crate::lab_page::{LabPage, tenure};

/// Script that makes the page draw its current view again. The page draws its view in the same way
/// at each step of a run.
const REDRAW: &str = "lab.show(lab.session.view, lab.session.view)";
/// Script that redraws the tree as scrolling does.
const SCROLL: &str = "lab.tree.box.dispatchEvent(new Event('scroll'))";
/// Script that takes a step. The page then updates the element that is being clicked.
const STEP: &str = "lab.session.step()";

/// Clicks on an element while the script `redraw` runs, and waits for the response of the page.
fn click_during(page: &mut LabPage, selector: &str, redraw: &str) {
    page.tab.evaluate_during_click(selector, redraw);
    page.wait_idle();
}

#[test]
fn clicks_on_tree_and_map_survive_a_redraw() {
    let Some(mut page) = LabPage::with_run("ricart-agrawala -n 3 --latency 1..4") else { return };
    page.click("#end");
    for (moment, redraw) in [(3, SCROLL), (5, REDRAW)] {
        click_during(&mut page, &format!("#tree [data-moment='{moment}']"), redraw);
        assert_eq!(page.view("view.moment"), json!(moment), "{redraw}");
    }
    page.click("#step");
    let last = page.view("view.tree.length");
    click_during(&mut page, "#tree [data-moment='2']", STEP);
    assert_eq!(page.view("view.moment"), json!(2));
    assert_eq!(page.view("view.tree.length"), last, "the step repeated a known moment");
    page.lose_first_message();
    let lost = page.view("view.moment");
    click_during(&mut page, "#map .edge", REDRAW);
    assert_ne!(page.view("view.moment"), lost, "the map leads to another moment");
    page.assert_no_complaints();
}

#[test]
fn clicks_on_messages_and_processes_survive_a_redraw() {
    let Some(mut page) = LabPage::with_run("ricart-agrawala -n 3 --latency 5..9") else { return };
    page.step_until("view.messages.length > 2");
    page.tab.evaluate("document.getElementById('under-way').open = true");
    let message = page.view("view.messages.at(-1).message");
    let listed = format!("[data-listed='{message}']");
    let drawn = format!(".message[data-message='{message}']");
    for selector in [&listed, &drawn, ".process[data-process='2'] .name"] {
        click_during(&mut page, selector, REDRAW);
        let open = "!document.getElementById('menu').hidden";
        assert_eq!(page.tab.evaluate(open), json!(true), "{selector}");
        page.press("Escape");
    }
    page.assert_no_complaints();
}

#[test]
fn clicks_on_verdicts_and_states_survive_a_redraw() {
    let words = "ricart-agrawala -n 2 --variant clock-only-strict";
    let Some(mut page) = LabPage::with_run(words) else { return };
    page.click("#end");
    let violation = page.view("view.verdicts[0].moment");
    assert!(page.view("view.moment").as_u64() > violation.as_u64(), "{violation}");
    click_during(&mut page, "[data-violation=mutual-exclusion]", REDRAW);
    assert_eq!(page.view("view.moment"), violation);
    click_during(&mut page, "#chosen button:nth-child(2)", REDRAW);
    assert_eq!(page.tab.evaluate("lab.chosen"), json!(2));
    let open = "document.querySelector('#state details').open";
    let before = page.tab.evaluate(open);
    click_during(&mut page, "#state summary", REDRAW);
    assert_ne!(page.tab.evaluate(open), before);
    page.tab.evaluate(REDRAW);
    assert_ne!(page.tab.evaluate(open), before, "a redraw keeps it as the user left it");
    page.assert_no_complaints();
}

#[test]
fn a_click_on_an_event_survives_playing() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = counterexample(folder.path());
    let page = folder.path().join("page.html");
    let words = ["trace", "diagram", trace.to_str().unwrap(), "--as", "html"];
    fs::write(&page, tenure(&words)).unwrap();
    tab.emulate_display(1280, 900, "light");
    tab.load(&page, "window.viewer");
    tab.evaluate("viewer.select(viewer.panels.kept[4])");
    let step = tab.evaluate("viewer.panels.kept[1]");
    tab.evaluate_during_click(
        &format!("#events [data-step='{step}']"),
        "viewer.select(viewer.panels.kept[5])",
    );
    assert_eq!(tab.evaluate("viewer.selected"), step);
    assert_eq!(tab.complaints, [""; 0]);
}
