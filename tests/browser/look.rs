//! How the page looks: nothing cut, nothing over anything else, at any width.

use serde_json::json;

use crate::visit::Visit;

/// What ends beyond the edge of the window, or has more within than it shows and cannot be
/// scrolled. Fields scroll, and signs of the legend draw over their edge.
pub(crate) const CUT: &str = "Array.from(document.querySelectorAll('body, body *:not(#legend i)'))
    .filter((each) => each.checkVisibility() && !each.closest('.unseen, #tree, #diagram')
        && !each.matches('input, textarea, select')
        && each.namespaceURI.endsWith('xhtml'))
    .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth
        || (each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0
            && getComputedStyle(each).overflowX !== 'auto'))
    .map((each) => each.id || each.className || each.tagName)";

/// Processes and messages of the picture of which one lies over the other.
const OVER: &str = "(() => {
    const all = Array.from(document.querySelectorAll('#stage button'), (each) =>
        [each.textContent, each.getBoundingClientRect()]);
    return all.flatMap(([one, a], place) => all.slice(place + 1)
        .filter(([, b]) => a.left + 1 < b.right && b.left + 1 < a.right
            && a.top + 1 < b.bottom && b.top + 1 < a.bottom)
        .map(([two]) => `${one} and ${two}`));
})()";

/// Waits until the picture is drawn for a new width: that is done at the end of a frame.
const DRAWN: &str =
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/// Looks at the picture of each of these runs in the middle of it, in windows of all widths.
fn nothing_is_cut_and_nothing_overlaps(runs: &[(&str, u32)]) {
    let Some(mut visit) = Visit::first() else { return };
    for (words, steps) in runs {
        visit.tab.value(&format!("lab.begin({{words: {words:?}}}, 'form-error')"));
        visit.answered();
        visit.tab.value(&format!("lab.session.step({steps})"));
        visit.answered();
        assert_eq!(visit.view("view.moment"), json!(steps), "{words}");
        assert_ne!(visit.view("view.messages.length"), json!(0), "{words}");
        for (wide, look) in [(1280, "light"), (900, "dark"), (400, "dark")] {
            visit.tab.resize(wide, 800, look);
            visit.until(&format!("innerWidth === {wide}"));
            visit.tab.value(DRAWN);
            assert_eq!(visit.tab.value(CUT), json!([]), "{words} at {wide} pixels");
            assert_eq!(visit.tab.value(OVER), json!([]), "{words} at {wide} pixels");
        }
    }
    visit.well();
}

#[test]
fn nothing_is_cut_and_nothing_overlaps_at_any_width_where_a_group_locks() {
    nothing_is_cut_and_nothing_overlaps(&[
        ("ricart-agrawala -n 3 --entries 2 --latency 1..4", 8),
        ("raymond -n 7 --tree heap --latency 1..4", 8),
        ("maekawa -n 9 --latency 1..4", 8),
        ("central -n 7 --latency 1..4", 8),
    ]);
}

#[test]
fn nothing_is_cut_and_nothing_overlaps_at_any_width_where_a_group_elects() {
    nothing_is_cut_and_nothing_overlaps(&[
        ("chang-roberts -n 8 --latency 1..4", 8),
        ("coordinated:bully -n 4 --latency 1..4", 8),
        ("raft-log -n 3 --entries 3 --latency 1..4", 8),
    ]);
}

#[test]
fn nothing_is_cut_and_nothing_overlaps_at_any_width_where_a_group_is_large() {
    nothing_is_cut_and_nothing_overlaps(&[("lamport -n 30", 40)]);
}

/// In a narrow window the command above the diagram is wider than a diagram that has just begun.
#[test]
fn the_names_in_the_diagram_stand_beside_their_lines_at_the_beginning_at_any_width() {
    let Some(mut visit) = Visit::to(&["ricart-agrawala", "-n", "3"]) else { return };
    visit.tab.resize(400, 800, "light");
    visit.until("innerWidth === 400");
    visit.tab.value("lab.begin({words: 'ricart-agrawala -n 3 --latency 1..4'}, 'form-error')");
    visit.answered();
    let beside = "(() => {
        const box = document.getElementById('diagram');
        const all = (which) => Array.from(box.shadowRoot.querySelectorAll(which));
        const box_left = box.getBoundingClientRect().left;
        const lines = all('.lane').map((each) => each.getBoundingClientRect().left);
        const names = all('.name').filter((each) => /^P[0-9]+$/.test(each.textContent));
        const words = all('text').map((each) => each.getBoundingClientRect());
        return [names.length, lines.length,
            names.every((each) => each.getBoundingClientRect().right < Math.min(...lines)),
            words.every((each) => each.left >= box_left)];
    })()";
    assert_eq!(visit.tab.value(beside), json!([3, 3, true, true]));
    visit.well();
}

#[test]
fn light_and_dark_are_not_the_same() {
    let Some(mut visit) = Visit::first() else { return };
    let papers = ["light", "dark"].map(|look| {
        visit.tab.resize(1280, 800, look);
        visit.tab.value("getComputedStyle(document.body).backgroundColor")
    });
    assert_ne!(papers[0], papers[1]);
    visit.well();
}
