//! Clicks that fall together with a redraw: the page updates its elements instead of replacing
//! them, because a browser sends no click to an element that was replaced while pressed.

use std::fs;

use serde_json::json;
use tenure_browser::Tab;

use crate::counterexample;
use crate::visit::{Visit, tenure};

/// Shows the same view again, as each step of a run does.
const REDRAW: &str = "lab.show(lab.session.view, lab.session.view)";
/// Redraws the tree as scrolling does.
const SCROLL: &str = "lab.tree.box.dispatchEvent(new Event('scroll'))";
/// Makes a step, so that the pressed element has to be updated.
const STEP: &str = "lab.session.step()";

/// Clicks on an element while the page redraws, and waits for the lab's response.
fn click_during(visit: &mut Visit, selector: &str, redraw: &str) {
    visit.tab.click_during(selector, redraw);
    visit.answered();
}

#[test]
fn clicks_on_tree_and_map_survive_a_redraw() {
    let Some(mut visit) = Visit::of("ricart-agrawala -n 3 --latency 1..4") else { return };
    visit.click("#end");
    for (moment, redraw) in [(3, SCROLL), (5, REDRAW)] {
        click_during(&mut visit, &format!("#tree [data-moment='{moment}']"), redraw);
        assert_eq!(visit.view("view.moment"), json!(moment), "{redraw}");
    }
    visit.click("#step");
    let last = visit.view("view.tree.length");
    click_during(&mut visit, "#tree [data-moment='2']", STEP);
    assert_eq!(visit.view("view.moment"), json!(2));
    assert_eq!(visit.view("view.tree.length"), last, "the step repeated a known moment");
    let message = visit.view("view.messages[0].message");
    visit.click(&format!(".message[data-message='{message}']"));
    visit.click("#menu [data-act=lose]");
    let lost = visit.view("view.moment");
    click_during(&mut visit, "#map .edge", REDRAW);
    assert_ne!(visit.view("view.moment"), lost, "the map leads to another moment");
    visit.well();
}

#[test]
fn clicks_on_messages_and_processes_survive_a_redraw() {
    let Some(mut visit) = Visit::of("ricart-agrawala -n 3 --latency 5..9") else { return };
    visit.step_until("view.messages.length > 2");
    visit.tab.value("document.getElementById('under-way').open = true");
    let message = visit.view("view.messages.at(-1).message");
    let listed = format!("[data-listed='{message}']");
    let drawn = format!(".message[data-message='{message}']");
    for selector in [&listed, &drawn, ".process[data-process='2'] .name"] {
        click_during(&mut visit, selector, REDRAW);
        let open = "!document.getElementById('menu').hidden";
        assert_eq!(visit.tab.value(open), json!(true), "{selector}");
        visit.press("Escape");
    }
    visit.well();
}

#[test]
fn clicks_on_verdicts_and_states_survive_a_redraw() {
    let words = "ricart-agrawala -n 2 --variant clock-only-strict";
    let Some(mut visit) = Visit::of(words) else { return };
    visit.click("#end");
    let violation = visit.view("view.verdicts[0].moment");
    assert!(visit.view("view.moment").as_u64() > violation.as_u64(), "{violation}");
    click_during(&mut visit, "[data-violation=mutual-exclusion]", REDRAW);
    assert_eq!(visit.view("view.moment"), violation);
    click_during(&mut visit, "#chosen button:nth-child(2)", REDRAW);
    assert_eq!(visit.tab.value("lab.chosen"), json!(2));
    let open = "document.querySelector('#state details').open";
    let before = visit.tab.value(open);
    click_during(&mut visit, "#state summary", REDRAW);
    assert_ne!(visit.tab.value(open), before);
    visit.tab.value(REDRAW);
    assert_ne!(visit.tab.value(open), before, "a redraw keeps it as the user left it");
    visit.well();
}

#[test]
fn a_click_on_an_event_survives_playing() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = counterexample(folder.path());
    let page = folder.path().join("page.html");
    let words = ["trace", "diagram", trace.to_str().unwrap(), "--as", "html"];
    fs::write(&page, tenure(&words)).unwrap();
    tab.resize(1280, 900, "light");
    tab.load(&page, "window.viewer");
    tab.value("viewer.select(viewer.panels.kept[4])");
    let step = tab.value("viewer.panels.kept[1]");
    tab.click_during(
        &format!("#events [data-step='{step}']"),
        "viewer.select(viewer.panels.kept[5])",
    );
    assert_eq!(tab.value("viewer.selected"), step);
    assert_eq!(tab.complaints, [""; 0]);
}
