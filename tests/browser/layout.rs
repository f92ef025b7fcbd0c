//! Tests of the layout of the page in windows of any width: the page must fit into the window, and
//! no parts of a picture may overlap.

use serde_json::json;

use crate::lab_page::LabPage;

/// Expression that returns the elements that extend beyond the window, and the elements whose
/// overflowing content cannot be scrolled. Input fields are excluded, because they scroll by
/// themselves. The symbols of the legend are excluded, because they may extend beyond their edges.
pub(crate) const CUT: &str = "(document.querySelector('body *') ? [] : ['an empty page'])
    .concat(Array.from(document.querySelectorAll('body, body *:not(#legend i)'))
    .filter((each) => each.checkVisibility() && !each.closest('.unseen, #tree, #diagram')
        && !each.matches('input, textarea, select')
        && each.namespaceURI.endsWith('xhtml'))
    .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth
        || (each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0
            && getComputedStyle(each).overflowX !== 'auto'))
    .map((each) => each.id || each.className || each.tagName))";

/// Expression that returns the processes and messages that overlap in the picture of the group.
const OVER: &str = "(() => {
    const all = Array.from(document.querySelectorAll('#picture button'), (each) =>
        [each.textContent, each.getBoundingClientRect()]);
    if (all.length < 2) return ['nothing is shown'];
    return all.flatMap(([one, a], place) => all.slice(place + 1)
        .filter(([, b]) => a.left + 1 < b.right && b.left + 1 < a.right
            && a.top + 1 < b.bottom && b.top + 1 < a.bottom)
        .map(([two]) => `${one} and ${two}`));
})()";

/// Expression that waits until the page has redrawn the picture for a new width of the window. The
/// wait takes two frames.
pub(crate) const DRAWN: &str =
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/// Starts a run for each command line in `runs`, and takes the given number of steps. Asserts that
/// the picture of the group fits into windows of all widths.
fn assert_pictures_fit(runs: &[(&str, u32)]) {
    let Some(mut page) = LabPage::open() else { return };
    for (words, steps) in runs {
        page.tab.evaluate(&format!("lab.begin({words:?})"));
        page.wait_idle();
        page.tab.evaluate(&format!("lab.session.step({steps})"));
        page.wait_idle();
        assert_eq!(page.view("view.moment"), json!(steps), "{words}");
        assert_ne!(page.view("view.messages.length"), json!(0), "{words}");
        for (wide, look) in [(1280, "light"), (900, "dark"), (400, "dark")] {
            page.tab.emulate_display(wide, 800, look);
            page.wait_until(&format!("innerWidth === {wide}"));
            page.tab.evaluate(DRAWN);
            assert_eq!(page.tab.evaluate(CUT), json!([]), "{words} at {wide} pixels");
            assert_eq!(page.tab.evaluate(OVER), json!([]), "{words} at {wide} pixels");
        }
    }
    page.assert_no_complaints();
}

#[test]
fn lock_pictures_fit_at_any_width() {
    assert_pictures_fit(&[
        ("ricart-agrawala -n 3 --entries 2 --latency 1..4", 8),
        ("raymond -n 7 --tree heap --latency 1..4", 8),
        ("maekawa -n 9 --latency 1..4", 8),
        ("central -n 7 --latency 1..4", 8),
    ]);
}

#[test]
fn election_pictures_fit_at_any_width() {
    assert_pictures_fit(&[
        ("chang-roberts -n 8 --latency 1..4", 8),
        ("coordinated:bully -n 4 --latency 1..4", 8),
        ("raft-log -n 3 --entries 3 --latency 1..4", 8),
    ]);
}

#[test]
fn large_group_picture_fits_at_any_width() {
    assert_pictures_fit(&[("lamport -n 30", 40)]);
}

/// Opens the page in a narrow window, where the command above the diagram is wider than the
/// diagram. Asserts that each process name is to the left of the line of its process.
#[test]
fn diagram_names_stand_beside_their_lines() {
    let Some(mut page) = LabPage::with_args(&["ricart-agrawala", "-n", "3"]) else { return };
    page.tab.emulate_display(400, 800, "light");
    page.wait_until("innerWidth === 400");
    page.tab.evaluate("lab.begin('ricart-agrawala -n 3 --latency 1..4')");
    page.wait_idle();
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
    assert_eq!(page.tab.evaluate(beside), json!([3, 3, true, true]));
    page.assert_no_complaints();
}

#[test]
fn light_and_dark_differ() {
    let Some(mut page) = LabPage::open() else { return };
    let papers = ["light", "dark"].map(|look| {
        page.tab.emulate_display(1280, 800, look);
        page.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    });
    assert_ne!(papers[0], papers[1]);
    page.assert_no_complaints();
}
