//! Tests of the links and the form of the lab's page. For each run with a command line, the link of
//! *Copy link* opens the same moment of the run. The form shows all options of the command line.

use serde_json::{Value, json};
use tenure_browser::Tab;

use crate::lab_page::{LabPage, LabServer, SHOWN};

/// Clicks on *Copy link*, and returns the link that the page shows.
fn copied_link(tab: &mut Tab) -> String {
    tab.click("#share");
    tab.wait_until("document.querySelector('#share-note a')");
    let link = tab.evaluate("document.querySelector('#share-note a').href");
    link.as_str().unwrap().to_owned()
}

fn reload(page: &mut LabPage) {
    page.tab.evaluate("window.isOld = true");
    page.tab.send_command("Page.reload", json!({}));
    page.wait_until(&format!("!window.isOld && {SHOWN}"));
}

/// Values of a view that are equal if two sessions are at the same moment of the same run.
const STATE: &str = "[view.words, view.time, view.processes, view.messages, view.next]";

/// Opens a link in a new tab, waits until the page shows the moment with the path `path`, and
/// returns the state that the page shows.
fn state_at(link: &str, path: &str) -> Value {
    let mut tab = Tab::open().expect("there was one before");
    tab.visit(link, &format!("{SHOWN} && lab.session.place()?.path === {path:?}"));
    tab.evaluate(&format!("((view) => {STATE})(lab.session.view)"))
}

#[test]
fn link_of_command_line_run_survives_reload() {
    let words = ["ricart-agrawala", "-n", "4", "--latency", "1..4", "--steps", "3"];
    let Some(mut page) = LabPage::with_args(&words) else { return };
    assert_eq!(page.view("[view.moment, view.initial]"), json!([3, 4]));
    page.step_until("view.messages.length > 1");
    page.lose_first_message();
    page.click("#step");
    page.act(".process[data-process='2']", "crash");
    let path = page.tab.evaluate("lab.session.place().path");
    let path = path.as_str().unwrap().to_owned();
    assert!(path.contains("lose:") && path.ends_with(",crash:2"), "{path}");
    let (link, shown) = (copied_link(&mut page.tab), page.view(STATE));
    reload(&mut page);
    assert_eq!(copied_link(&mut page.tab), link, "the link is the same after a reload");
    // A second page of the same session must create the same link, although the user performed the
    // actions on the first page.
    let session = page.tab.evaluate("`${location.origin}/#session=${lab.session.view.session}`");
    let mut other = Tab::open().expect("there was one before");
    other.visit(session.as_str().unwrap(), SHOWN);
    assert_eq!(copied_link(&mut other), link);
    assert_eq!(state_at(&link, &path), shown);
    page.assert_no_complaints();
}

#[test]
fn command_line_run_can_be_partitioned_after_reload() {
    let Some(mut page) = LabPage::with_args(&["bully", "-n", "3"]) else { return };
    page.click("#step");
    reload(&mut page);
    page.tab.evaluate("lab.act({ cut: 3 })");
    page.wait_idle();
    let words = page.view("view.words");
    assert!(words.as_str().unwrap().contains("--partition 3@"), "{words}");
    assert_eq!(page.view("view.moment"), json!(1), "the run is at the same moment");
    page.assert_no_complaints();
}

#[test]
fn address_of_an_earlier_moment_shows_that_moment() {
    let Some(mut page) = LabPage::with_args(&["bully", "-n", "3", "--steps", "2"]) else { return };
    page.click("#step");
    let (address, moment) = (page.tab.evaluate("location.href"), page.view("view.moment"));
    page.click("#step");
    page.click("#step");
    let mut other = Tab::open().expect("there was one before");
    other.visit(address.as_str().unwrap(), &format!("{SHOWN}?.moment === {moment}"));
    page.assert_no_complaints();
}

#[test]
fn recorded_run_has_no_link() {
    let Some(mut page) = LabPage::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    page.drop(&crate::counterexample(folder.path()));
    page.wait_until("lab.session.view.n === 2");
    for _ in 0..2 {
        page.click("#share");
        assert!(page.text("#share-note").contains("came from a file"));
        reload(&mut page);
    }
    page.assert_no_complaints();
}

#[test]
fn link_may_take_more_steps_than_one_request() {
    let Some(mut page) = LabPage::open() else { return };
    let requests = "import('/path.js').then(({ requestsOf, pathOf }) => {
        const tree = Array.from({ length: 20001 }, (_, at) =>
            ({ moment: at, parent: at === 0 ? null : at - 1 }));
        const path = pathOf({ tree, moment: 20000, initial: 1 });
        return [path, requestsOf(path)];
    })";
    let expected = json!(["@0,20000", [
        ["go", { "moment": 0 }], ["step", { "steps": 10000 }], ["step", { "steps": 10000 }],
    ]]);
    assert_eq!(page.tab.evaluate(requests), expected);
    // The run has fewer steps than the link requests. The lab must accept the link nevertheless.
    let link = page.tab.evaluate("`${location.origin}/#run=central+-n+2&path=@0,20000`");
    let mut tab = Tab::open().expect("there was one before");
    tab.visit(link.as_str().unwrap(), &format!("{SHOWN}?.ended"));
    assert_eq!(tab.evaluate("lab.session.view.words"), "central -n 2");
    assert_eq!(tab.complaints, [""; 0]);
    page.assert_no_complaints();
}

#[test]
fn link_beyond_loopback_names_the_token() {
    let Some(mut tab) = Tab::open() else { return };
    let server = LabServer::with(&["--bind", "0.0.0.0", "bully", "-n", "3"]);
    let address = server.address().replace("0.0.0.0", "127.0.0.1");
    let printed = address.split('#').next().unwrap().to_owned();
    tab.visit(&address, SHOWN);
    let link = copied_link(&mut tab);
    assert!(!link.contains("token"), "{link}");
    assert!(tab.text("#share-note").contains("?token="), "{}", tab.text("#share-note"));
    // Follows the instruction of the page: adds the token to the address of the link.
    let (_, fragment) = link.split_once('#').unwrap();
    let mut other = Tab::open().expect("there was one before");
    other.visit(&format!("{printed}#{fragment}"), SHOWN);
    assert_eq!(other.evaluate("lab.session.view.algorithm"), "bully");
    assert_eq!((&tab.complaints[..], &other.complaints[..]), (&[][..], &[][..]));
    let Some(mut page) = LabPage::with_args(&["bully", "-n", "3"]) else { return };
    copied_link(&mut page.tab);
    assert!(!page.text("#share-note").contains("token"), "loopback needs none");
}

#[test]
fn form_shows_and_edits_all_occurrences_of_an_option() {
    let Some(mut page) = LabPage::open() else { return };
    let field = |name: &str| format!("[data-option='{name}']");
    let value = |page: &mut LabPage, selector: &str| {
        page.tab.evaluate(&format!("document.querySelector({selector:?}).value"))
    };
    for (line, option, shown, written, expected) in [
        ("bully --crash 4@0 --crash 1@0", "--crash", "4@0 1@0", "", "bully"),
        (
            "bully --crash=4@0 -n 5 --crash 1@0",
            "--crash",
            "4@0 1@0",
            "2@1",
            "bully --crash 2@1 -n 5",
        ),
        ("bully -n 5", "--crash", "", "4@0 1@0", "bully -n 5 --crash 4@0 --crash 1@0"),
        ("bully -n4", "-n", "4", "5", "bully -n 5"),
        ("bully --nodes=4 --seed 2", "-n", "4", "5", "bully -n 5 --seed 2"),
        ("bully --nodes 4", "-n", "4", "", "bully"),
    ] {
        page.write("#words", line);
        assert_eq!(value(&mut page, &field(option)), shown, "{line}");
        page.write(&field(option), written);
        assert_eq!(value(&mut page, "#words"), expected, "{line}");
    }
    page.write("#words", "ricart-agrawala --variant clock-only-strict --variant other -n 2");
    page.click("[data-variant=clock-only-strict]");
    assert_eq!(value(&mut page, "#words"), "ricart-agrawala --variant other -n 2");
    page.assert_no_complaints();
}
