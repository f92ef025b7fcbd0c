//! Tests of the page in a single file, opened from the disk. The environment variable `TENURE_PAGE`
//! is the path of the file, which `cargo xtask page` builds. Without the file or a browser, the
//! tests are skipped with a message.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tenure_browser::Tab;

use crate::layout::{CUT, DRAWN};
use crate::skipped::report_skip;

const SEED: u64 = 20_261_128;

const RANDOM_CHECKS: usize = 30;

/// Upper bound on the number of states that the search of a random command explores. Commands with
/// larger searches are skipped.
const MAX_STATES: &str = "40000";

const SHOWN: &str = "window.lab?.session.view";

/// Returns the file of the page. If there is none, prints a message and returns `None`.
fn page_file() -> Option<PathBuf> {
    let file = std::env::var_os("TENURE_PAGE").map(PathBuf::from);
    if file.is_none() {
        report_skip("TENURE_PAGE, the file that `cargo xtask page` builds");
    }
    file
}

/// Opens the page at the fragment `place`, as a link does. Waits until the expression `ready` is
/// true.
fn open_at(place: &str, ready: &str) -> Option<Tab> {
    let file = page_file()?;
    let mut tab = Tab::open()?;
    tab.emulate_display(1280, 900, "light");
    show(&mut tab, &file, place, ready);
    Some(tab)
}

/// Loads the page again with the fragment `place` in its URL. The tab visits an empty page first,
/// because a browser does not load a page again if only the fragment of its URL changes.
fn show(tab: &mut Tab, file: &Path, place: &str, ready: &str) {
    tab.visit("about:blank", "true");
    tab.visit(&format!("file://{}#{place}", file.display()), ready);
}

/// Performs a command line in the page. Returns its exit status, texts and files.
fn perform(tab: &mut Tab, line: &str) -> Value {
    tab.evaluate(&format!("lab.api.command({line:?})"))
}

fn place(tab: &mut Tab) -> String {
    tab.evaluate("location.hash.slice(1)").as_str().unwrap_or_default().to_owned()
}

#[test]
fn page_opens_from_disk_and_requests_nothing() {
    let Some(mut tab) = open_at("", SHOWN) else { return };
    assert_eq!(tab.evaluate("document.querySelectorAll('.process').length"), json!(3));
    let loaded = "performance.getEntriesByType('resource').map((each) => each.name)
        .filter((name) => !/^(blob|data):/.test(name))";
    assert_eq!(tab.evaluate(loaded), json!([]));
    assert_eq!(tab.complaints, [""; 0]);
    let refused = "new Promise((done) => {
        document.addEventListener('securitypolicyviolation', (event) =>
            done(event.violatedDirective));
        fetch('http://127.0.0.1:9/').catch(() => {});
    })";
    assert_eq!(tab.evaluate(refused), "connect-src", "the policy refuses requests");
}

#[test]
fn every_algorithm_of_the_form_runs() {
    let Some(mut tab) = open_at("", SHOWN) else { return };
    let names = tab.evaluate("lab.algorithms.map((each) => each.name)");
    let names: Vec<String> = serde_json::from_value(names).unwrap();
    assert!(names.len() > 80, "{names:?}");
    // Disables changes of the address, because a browser warns after 200 changes within ten
    // seconds.
    tab.evaluate("void (history.replaceState = () => {})");
    for name in &names {
        tab.evaluate(&format!("lab.begin({name:?})"));
        let run = "lab.session.step(5).then((view) => [view.algorithm, view.moment > 0])";
        assert_eq!(tab.evaluate(run), json!([name, true]), "{name}");
    }
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn every_algorithm_of_the_form_is_checked() {
    let Some(mut tab) = open_at("", SHOWN) else { return };
    let names = tab.evaluate("lab.algorithms.map((each) => each.name)");
    let names: Vec<String> = serde_json::from_value(names).unwrap();
    for name in &names {
        let line = format!("check {name} --max-states 500 --format json");
        let done = perform(&mut tab, &line);
        let report: Value = serde_json::from_str(done["stdout"].as_str().unwrap())
            .unwrap_or_else(|error| panic!("{line}: {error}: {done}"));
        assert_eq!(report["algorithm"], json!(name));
        assert!(report["states"].as_u64() > Some(1), "{report}");
    }
    let unknown = perform(&mut tab, "check no-such-lock --format json");
    assert_eq!(unknown["exit"], json!(2), "{unknown}");
}

/// Returns the options of the checks that demonstrate variants. [`SEED`] determines the order of
/// the checks.
fn random_checks() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["list", "--format", "json"])
        .output()
        .unwrap();
    let cards: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let variants = cards.iter().flat_map(|card| card["variants"].as_array().into_iter().flatten());
    let commands = variants.filter_map(|variant| variant["command"].as_str());
    let mut lines: Vec<String> = commands
        .filter_map(|command| command.strip_prefix("check "))
        .filter(|line| !line.contains('\''))
        .map(str::to_owned)
        .collect();
    let mut random = fastrand::Rng::with_seed(SEED);
    random.shuffle(&mut lines);
    lines
}

/// Runs a check with the program `tenure`. Returns its report and its counterexample. Returns
/// `None` if the search exceeds [`MAX_STATES`].
fn checked(line: &str) -> Option<(Value, Option<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(line.split_whitespace())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).ok()?;
    let trace = std::fs::read_to_string(folder.path().join("found.ndjson")).ok();
    (report["verdict"] != "incomplete").then_some((report, trace))
}

/// Returns the report without the fields that depend on the machine.
fn comparable(report: &Value) -> Value {
    let mut report = report.clone();
    report["seconds"] = json!(null);
    report
}

#[test]
fn drawn_checks_equal_those_of_the_command() {
    let Some(mut tab) = open_at("", SHOWN) else { return };
    let (mut compared, mut violated) = (0, 0);
    for line in random_checks() {
        let line = format!(
            "check {line} --threads 1 --max-states {MAX_STATES} --format json --trace found.ndjson"
        );
        let Some((report, trace)) = checked(&line) else { continue };
        let done = perform(&mut tab, &line);
        let found: Value = serde_json::from_str(done["stdout"].as_str().unwrap())
            .unwrap_or_else(|error| panic!("{line}: {error}: {done}"));
        assert_eq!(comparable(&found), comparable(&report), "{line}");
        assert_eq!(done["files"]["found.ndjson"].as_str(), trace.as_deref(), "{line}");
        violated += usize::from(report["verdict"] == "violated");
        compared += 1;
        if compared == RANDOM_CHECKS {
            break;
        }
    }
    assert_eq!(compared, RANDOM_CHECKS);
    assert!(violated > 0, "no drawn check has a counterexample");
}

/// Returns what the page shows of the run: the algorithm, the time, the processes and the messages.
fn moment(tab: &mut Tab) -> Value {
    tab.evaluate(
        "((view) => [view.algorithm, view.time, view.processes, view.messages])(lab.session.view)",
    )
}

/// Opens a link to the current state of the page in a new tab. Asserts that the new page shows the
/// same state of the run as the old page.
fn assert_link_shows_moment(tab: &mut Tab) {
    let (link, shown) = (place(tab), moment(tab));
    let mut other = open_at(&link, &format!("{SHOWN}?.moment > 0")).expect("there was one before");
    assert_eq!(moment(&mut other), shown, "{link}");
    other.evaluate("lab.session.go(0)");
    assert_ne!(moment(&mut other), shown, "another moment differs");
}

#[test]
fn link_shows_moment_with_its_faults() {
    let run = "run=ricart-agrawala+-n+3+--latency+1..4&path=@0,6";
    let Some(mut tab) = open_at(run, &format!("{SHOWN}?.moment === 6")) else { return };
    tab.evaluate("lab.session.act({ delay: lab.session.view.messages[0].message, by: 2.5 })");
    tab.evaluate("lab.session.act({ crash: 2 })");
    tab.evaluate("lab.session.step(2)");
    assert!(place(&mut tab).contains("crash:2,2"), "{}", place(&mut tab));
    assert_link_shows_moment(&mut tab);
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn link_shows_moment_of_counterexample() {
    let check = "check=ricart-agrawala+-n+2+--variant+clock-only-strict";
    let walk = "[data-walk=mutual-exclusion]";
    let ready = format!("document.querySelector('{walk}')");
    let Some(mut tab) = open_at(check, &ready) else { return };
    let steps =
        tab.evaluate("document.querySelectorAll('[data-checked=mutual-exclusion] ol li').length");
    assert_eq!(steps, json!(6));
    tab.click(walk);
    tab.wait_until("lab.session.view?.n === 2 && lab.views.shown === 'run'");
    for _ in 0..6 {
        assert_eq!(
            tab.evaluate("document.querySelectorAll('.process.inside').length < 2"),
            json!(true)
        );
        tab.click("#step");
        tab.evaluate("lab.session.last");
    }
    assert_eq!(tab.evaluate("document.querySelectorAll('.process.inside').length"), json!(2));
    assert!(tab.text("#verdict").contains("violated"), "{}", tab.text("#verdict"));
    assert_link_shows_moment(&mut tab);
    assert_eq!(tab.complaints, [""; 0]);
}

/// The check and the simulation have different default sizes.
#[test]
fn checked_group_is_simulated() {
    let button = "#result > button";
    let ready = format!("document.querySelector('{button}')");
    let Some(mut tab) = open_at("check=lamport+--entries+1", &ready) else { return };
    tab.click(button);
    tab.wait_until("lab.session.view?.algorithm === 'lamport' && lab.views.shown === 'run'");
    assert_eq!(tab.evaluate("lab.session.view.n"), json!(3));
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn search_can_be_cancelled_while_run_continues() {
    let Some(mut tab) =
        open_at("check=raft+-n+5+--crash+2+--max-time+none", "window.lab?.check?.running")
    else {
        return;
    };
    tab.evaluate("lab.session.begin({ words: 'central -n 3' })");
    tab.wait_until("lab.session.view.algorithm === 'central'");
    assert_ne!(tab.evaluate("lab.check.running"), json!(null), "the search continues");
    tab.click("#check-cancel");
    tab.wait_until("lab.check.running === null");
    assert!(tab.text("#check-error").contains("cancelled"), "{}", tab.text("#check-error"));
    tab.evaluate("lab.check.start('central -n 2')");
    assert!(tab.text("#result").contains("mutual-exclusion holds"), "{}", tab.text("#result"));
}

#[test]
fn process_is_cut_off_and_reconnected() {
    let run = "run=bully+-n+3&path=@0,3";
    let Some(mut tab) = open_at(run, &format!("{SHOWN}?.moment === 3")) else { return };
    let cut = "document.querySelector('.process[data-process=\"3\"]').classList.contains('cut')";
    assert_eq!(tab.evaluate(cut), json!(false));
    tab.evaluate("lab.act({ cut: 3 })");
    assert_eq!(tab.evaluate(cut), json!(true));
    assert_eq!(tab.evaluate("lab.session.view.moment"), json!(3), "the run is at the same moment");
    tab.evaluate("lab.session.until('end')");
    tab.evaluate("lab.act({ reconnect: 3 })");
    assert_eq!(tab.evaluate(cut), json!(false));
    let words = tab.evaluate("lab.session.view.words");
    assert!(words.as_str().unwrap().contains("--partition 3@"), "{words}");
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn answer_is_hidden_until_there_is_a_guess() {
    let Some(mut tab) = open_at("question=Q-20", "document.getElementById('guess')") else {
        return;
    };
    assert!(tab.text("#question").contains("Lamport clocks"), "{}", tab.text("#question"));
    assert_eq!(tab.text("#answer"), "");
    assert_eq!(tab.evaluate("document.getElementById('show-answer').disabled"), json!(true));
    tab.evaluate(
        "(() => { const guess = document.getElementById('guess'); guess.value = 'no'; \
         guess.dispatchEvent(new Event('input')); })()",
    );
    tab.click("#show-answer");
    assert!(tab.text("#answer").starts_with("No, because"), "{}", tab.text("#answer"));
    tab.click("#answer [data-line^=check]");
    tab.wait_until("document.querySelector('#answer .output').textContent.includes('violated')");
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn chapter_runs_its_commands() {
    let place = "book=04_breaking_it&heading=equal-stamps";
    let Some(mut tab) = open_at(place, "document.querySelector('#chapter h1')") else { return };
    assert!(tab.text("#chapter h1").starts_with("Breaking it"), "{}", tab.text("#chapter h1"));
    let run = "#chapter [data-line^='check ricart-agrawala -n 2 --variant clock-only-strict']";
    tab.click(run);
    let outputs = "[...document.querySelectorAll('#chapter .output')]";
    tab.wait_until(&format!("{outputs}.some((each) => each.textContent.includes('P1 enters'))"));
    tab.click("#chapters [data-chapter='16_for_every_n']");
    tab.click("#chapter a[data-chapter='04_breaking_it']");
    assert!(self::place(&mut tab).starts_with("book=04_breaking_it"), "{}", self::place(&mut tab));
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn views_fit_at_any_width() {
    let Some(mut tab) = open_at("", SHOWN) else { return };
    let file = page_file().expect("it was built before");
    let places = [
        ("run=token-ring+-n+6&path=@0,7", "lab.session.view?.moment === 7"),
        ("run=raymond+-n+7+--tree+heap&path=@0,8", "lab.session.view?.moment === 8"),
        ("run=raft+-n+5+--partition+4,5@20..70&path=@0,60", "lab.session.view?.moment === 60"),
        (
            "check=ricart-agrawala+-n+2+--variant+clock-only-strict",
            "document.querySelector('[data-walk]')",
        ),
        ("question=Q-20", "document.getElementById('guess')"),
        ("book=04_breaking_it", "document.querySelector('#chapter h1')"),
    ];
    // Ignores text that is cut off in a code block, because the block scrolls.
    let cut = CUT.replace("'.unseen, ", "'.unseen, pre, ");
    for (place, ready) in places {
        // Loads the page in a narrow window. The window is widened later.
        tab.emulate_display(500, 900, "dark");
        show(&mut tab, &file, place, &format!("window.lab?.algorithms.length > 0 && ({ready})"));
        for (wide, look) in [(500, "dark"), (1280, "light")] {
            tab.emulate_display(wide, 900, look);
            tab.wait_until(&format!("innerWidth === {wide}"));
            tab.evaluate(DRAWN);
            assert_eq!(tab.evaluate(&cut), json!([]), "{place} at {wide} pixels");
        }
    }
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn messages_move_by_transforms_alone() {
    let run = "run=lamport+-n+7&path=@0,3";
    let Some(mut tab) = open_at(run, &format!("{SHOWN}?.moment === 3")) else { return };
    let step = "lab.session.step().then(() => document.querySelector('#picture').getAnimations(
        { subtree: true }).filter((each) => each.effect.getKeyframes().length > 0)
        .flatMap((each) => each.effect.getKeyframes().flatMap((frame) => Object.keys(frame)))
        .filter((name) => !['offset', 'computedOffset', 'easing', 'composite'].includes(name)))";
    assert_eq!(tab.evaluate(step), json!([]), "nothing moves if the user prefers that");
    let moving = json!([{"name": "prefers-reduced-motion", "value": "no-preference"}]);
    tab.send_command("Emulation.setEmulatedMedia", json!({ "features": moving }));
    let names = tab.evaluate(step);
    let names: Vec<String> = serde_json::from_value(names).unwrap();
    assert!(!names.is_empty());
    assert!(names.iter().all(|name| name == "translate" || name == "opacity"), "{names:?}");
    assert_eq!(tab.complaints, [""; 0]);
}
