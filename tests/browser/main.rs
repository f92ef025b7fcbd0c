//! The lab's page in a real browser, served as it always is. Skipped, with a word about it, where
//! none is installed: `cargo test -p tenure --test browser -- --nocapture`.

mod clicks;
mod look;
mod pictures;
mod visit;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tenure_browser::Tab;
use visit::{SHOWN, Serving, Visit, soon, tenure};

/// A wrong tie-break, found by the checker: two are inside after six steps.
fn counterexample(folder: &Path) -> PathBuf {
    let file = folder.join("two-inside.ndjson");
    let words = ["check", "ricart-agrawala", "-n", "2", "--variant", "clock-only-strict"];
    let says = tenure(&[&words[..], &["--trace", file.to_str().unwrap()]].concat());
    assert!(says.contains("mutual-exclusion violated after 6 steps"), "{says}");
    file
}

#[test]
fn the_first_look_is_a_picture_of_a_run_that_goes_on_by_a_click() {
    let Some(mut visit) = Visit::first() else { return };
    assert_eq!(visit.view("view.algorithm"), "ricart-agrawala");
    assert_eq!(visit.tab.value("document.querySelectorAll('.process').length"), json!(3));
    let words = visit.tab.value("document.getElementById('words').value");
    assert_eq!(words, visit.view("view.words"));
    assert_eq!(visit.view("view.moment"), json!(0));
    let next = visit.view("view.next.says");
    assert!(visit.text("#next").ends_with(next.as_str().unwrap()), "{next}");
    visit.click("#step");
    assert_eq!(visit.view("view.moment"), json!(1));
    assert!(visit.text("#where").ends_with("moment 1"), "{}", visit.text("#where"));
    assert!(!visit.text("#told").is_empty());
    visit.step_until("view.messages.length > 0");
    let chips = visit.tab.value("document.querySelectorAll('.message').length");
    assert_eq!(chips, visit.view("view.messages.length"));
    visit.click("#event");
    let happened = visit.view("view.happened[0]");
    assert!(visit.text("#told").contains(happened.as_str().unwrap()), "{happened}");
    visit.well();
}

#[test]
fn a_run_goes_to_its_end_at_once_and_by_itself() {
    let Some(mut visit) = Visit::of("ricart-agrawala -n 3") else { return };
    visit.click("#end");
    assert_eq!(visit.view("[view.next, view.figures.entries]"), json!([null, 3]));
    assert!(visit.text("#next").starts_with("Ended: "), "{}", visit.text("#next"));
    assert!(visit.text("#figures").contains("2(N−1)"), "{}", visit.text("#figures"));
    let last = visit.view("view.moment");
    visit.click("#begin");
    assert_eq!(visit.view("view.moment"), json!(0));
    visit.tab.value("document.getElementById('speed').value = '60'");
    visit.tab.click("#run");
    visit.until("lab.session.view.next === null && lab.session.running === null");
    assert_eq!(visit.view("[view.moment, view.tree.length - 1]"), json!([last, last]));
    visit.well();
}

#[test]
fn losing_a_reply_by_a_click_leaves_somebody_waiting_for_ever() {
    let Some(mut visit) = Visit::of("ricart-agrawala -n 3 --latency 1..4") else { return };
    let reply = "view.messages.find((each) => each.kind === 'reply')";
    visit.step_until(reply);
    let message = visit.view(&format!("{reply}.message"));
    let who = visit.view(&format!("{reply}.to"));
    visit.click(&format!(".message[data-message='{message}']"));
    assert!(visit.text("#menu").contains("reply"), "{}", visit.text("#menu"));
    visit.click("#menu [data-act=lose]");
    assert_eq!(visit.tab.value("document.getElementById('menu').hidden"), json!(true));
    assert!(visit.text("#told").contains("lost"), "{}", visit.text("#told"));
    visit.click("#end");
    let held = format!("view.processes[{who} - 1].hold");
    assert_eq!(visit.view(&held), "waiting");
    let blocked = visit.text("#verdicts");
    assert!(blocked.contains("✗") && blocked.contains(&format!("P{who}")), "{blocked}");
    assert!(visit.text("#verdict").starts_with("✗"), "{}", visit.text("#verdict"));
    assert!(visit.text(&format!(".process[data-process='{who}']")).contains("waits"));
    visit.well();
}

#[test]
fn a_message_is_doubled_delayed_and_delivered_by_clicks() {
    let Some(mut visit) = Visit::of("lamport -n 2 --beyond-assumptions") else { return };
    visit.step_until("view.messages.length > 0");
    assert_eq!(visit.view("view.messages[0].from"), json!(1));
    let [message, many] = ["view.messages[0].message", "view.messages.length"]
        .map(|part| visit.view(part).as_u64().unwrap());
    let chip = format!(".message[data-message='{message}']");
    let due = |visit: &mut Visit| {
        visit.view(&format!("view.messages.find((each) => each.message === {message})?.due"))
    };
    let before = due(&mut visit).as_f64().unwrap();
    visit.click(&chip);
    visit.write("#menu input", "7");
    visit.click("#menu [data-act=delay]");
    assert_eq!(due(&mut visit).as_f64(), Some(before + 7.0));
    visit.click(&chip);
    visit.click("#menu [data-act=duplicate]");
    assert_eq!(visit.view("view.messages.length"), json!(many + 1));
    visit.click(&chip);
    visit.click("#menu [data-act=deliver]");
    // Nobody can tell the two apart: one of them has arrived.
    let left = "view.messages.filter((each) => each.from === 1 && each.kind === 'request').length";
    assert_eq!(visit.view(left), json!(1));
    assert!(visit.text("#told").contains("P2 receives request"), "{}", visit.text("#told"));
    visit.well();
}

#[test]
fn the_leader_is_crashed_suspected_and_followed_by_another() {
    let Some(mut visit) = Visit::of("bully -n 3 --beyond-assumptions") else { return };
    visit.click("#end");
    assert_eq!(visit.view("view.processes.map((each) => each.leads)"), json!([false, false, true]));
    visit.click(".process[data-process='3']");
    visit.click("#menu [data-act=crash]");
    assert_eq!(
        visit.view("[view.processes[2].up, view.processes[2].hold]"),
        json!([false, "down"])
    );
    assert!(visit.text(".process[data-process='3']").contains("down"));
    visit.click(".process[data-process='2']");
    visit.tab.value("document.querySelector('#menu select').value = '3'");
    visit.click("#menu [data-act=suspect]");
    assert_eq!(visit.view("view.processes[1].suspects"), json!([3]));
    visit.click("#end");
    assert_eq!(visit.view("view.processes[1].leads"), json!(true));
    visit.click(".process[data-process='3']");
    visit.click("#menu [data-act=recover]");
    assert_eq!(visit.view("view.processes[2].up"), json!(true));
    visit.well();
}

#[test]
fn a_timer_fires_when_it_is_told_to() {
    let Some(mut visit) = Visit::of("bully -n 3") else { return };
    visit.step_until("view.processes.some((each) => each.timers.length > 0)");
    let armed = "view.processes.find((each) => each.timers.length > 0)";
    let [who, timers] = ["process", "timers.length"]
        .map(|part| visit.view(&format!("{armed}.{part}")).as_u64().unwrap());
    let (now, before) = (visit.view("view.time"), visit.view("view.moment"));
    visit.click(&format!(".process[data-process='{who}']"));
    visit.click("#menu [data-act=fire]");
    assert_eq!(visit.view("view.time"), now, "it fires at once");
    assert_ne!(visit.view("view.moment"), before);
    let after = visit.view(&format!("view.processes[{who} - 1].timers.length"));
    let told = visit.text("#told");
    assert!(after != json!(timers) || told.contains("timer"), "{told}");
    visit.well();
}

#[test]
fn a_lost_entry_is_missing_from_a_log_until_it_is_sent_again() {
    let Some(mut visit) = Visit::of("raft-log -n 3 --entries 1") else { return };
    let appends = "view.messages.filter((each) => each.kind === 'append')";
    visit.step_until(&format!("{appends}.length > 1"));
    let logs = "document.getElementById('boxes').shadowRoot";
    let told = format!("{logs}.querySelector('desc').textContent");
    let boxes = format!("{logs}.querySelectorAll('rect.entry').length");
    let say = |visit: &mut Visit, act: &str, chosen: &str| {
        let message = visit.view(&format!("{appends}{chosen}"));
        visit.click(&format!(".message[data-message='{}']", message["message"]));
        visit.click(&format!("#menu [data-act={act}]"));
        message["to"].as_u64().unwrap()
    };
    let lacks = say(&mut visit, "lose", "[1]");
    let before = visit.view("view.moment");
    let (empty, drawn) = (format!("P{lacks} has nothing"), visit.tab.value(&boxes));
    let has = say(&mut visit, "deliver", "[0]");
    let now = visit.tab.value(&told);
    let now = now.as_str().unwrap();
    assert!(now.contains(&empty) && now.contains(&format!("P{has} has 1, committed 0")), "{now}");
    assert_eq!(visit.tab.value(&boxes).as_u64(), drawn.as_u64().map(|drawn| drawn + 1));
    visit.click("#end");
    let now = visit.tab.value(&told);
    assert!(now.as_str().unwrap().contains(&format!("P{lacks} has 1 1")), "{now}");
    visit.click(&format!("#tree [data-moment='{before}']"));
    assert!(visit.tab.value(&told).as_str().unwrap().contains(&empty), "as it was then");
    assert_eq!(visit.tab.value(&boxes), drawn);
    visit.well();
}

#[test]
fn going_back_and_doing_something_else_grows_a_branch_and_keeps_the_old_one() {
    let Some(mut visit) = Visit::of("ricart-agrawala -n 2 --latency 1..4") else { return };
    visit.step_until("view.messages.length > 1");
    let fork = visit.view("view.moment").as_u64().unwrap();
    visit.click("#end");
    let old = visit.view("view.moment").as_u64().unwrap();
    visit.click(&format!("#tree [data-moment='{fork}']"));
    assert_eq!(visit.view("view.moment"), json!(fork));
    visit.click("#step");
    assert_eq!(visit.view("[view.moment, view.tree.length - 1]"), json!([fork + 1, old]));
    visit.click("#back");
    let message = visit.view("view.messages[0].message");
    visit.click(&format!(".message[data-message='{message}']"));
    visit.click("#menu [data-act=lose]");
    assert_eq!(visit.view("view.tree[view.moment].parent"), json!(fork));
    assert_eq!(visit.view("view.moment"), json!(old + 1));
    assert!(visit.text("#tree-says").contains("2 branches"), "{}", visit.text("#tree-says"));
    assert_eq!(visit.tab.value("document.querySelectorAll('#map .edge').length"), json!(3));
    assert_eq!(visit.text("#tree [aria-selected=true] b"), (old + 1).to_string());
    visit.tab.value("document.getElementById('tree').focus()");
    visit.press("ArrowLeft");
    assert_eq!(visit.view("view.moment"), json!(fork + 1), "as far along the branch beside");
    visit.press("End");
    assert_eq!(visit.view("view.moment"), json!(old));
    visit.well();
}

#[test]
fn the_history_is_taken_away_as_a_trace_a_page_a_picture_and_a_command() {
    let Some(mut visit) = Visit::of("ricart-agrawala -n 2") else { return };
    visit.step_until("view.messages.length > 0");
    let message = visit.view("view.messages[0].message");
    visit.click(&format!(".message[data-message='{message}']"));
    visit.click("#menu [data-act=lose]");
    let trace = visit.download("#export-trace", "trace.ndjson");
    assert!(trace.starts_with("{\"trace\":\"tenure\""), "{trace}");
    assert!(trace.contains("\"kind\":\"drop\""), "{trace}");
    let page = visit.download("#export-page", "page.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("ricart-agrawala"), "{page}");
    let picture = visit.download("#export-svg", "diagram.svg");
    assert!(picture.starts_with("<svg"), "{picture}");
    let command = visit.text("#replay");
    assert!(command.starts_with("tenure simulate ricart-agrawala"), "{command}");
    assert_eq!(visit.view("view.commands.replay"), command);
    visit.well();
    assert_eq!(told_of(&again(&command)), told_of(&trace), "{command}");
}

/// The trace that a command leaves.
fn again(command: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("again.ndjson");
    let line = format!("{} --trace {}", command.strip_prefix("tenure ").unwrap(), file.display());
    let split =
        Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().unwrap();
    let words = String::from_utf8(split.stdout).unwrap();
    let says = tenure(&words.lines().collect::<Vec<_>>());
    fs::read_to_string(&file).unwrap_or_else(|_| panic!("{command}: {says}"))
}

/// What happened according to a trace, without the line that says how it was made.
fn told_of(trace: &str) -> Vec<&str> {
    trace.lines().skip(1).collect()
}

#[test]
fn a_counterexample_is_opened_and_walked_to_its_violation() {
    let Some(mut visit) = Visit::first() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = counterexample(folder.path());
    visit.drop(&file);
    visit.until("lab.session.view.n === 2");
    visit.click("#begin");
    assert!(visit.text("#verdict").starts_with("✓"), "{}", visit.text("#verdict"));
    visit.step_until("view.verdicts.some((each) => each.verdict === 'violated')");
    assert!(visit.verdict("mutual-exclusion").contains("✗ mutual-exclusion violated"));
    let inside = visit.tab.value("document.querySelectorAll('.process.inside').length");
    assert_eq!(inside, json!(2));
    let at = visit.view("view.moment");
    visit.click("#back");
    assert!(visit.text("#verdict").starts_with("✓"), "{}", visit.text("#verdict"));
    visit.click(&format!("#tree [data-moment='{at}']"));
    assert!(visit.text("#verdict").starts_with("✗"), "{}", visit.text("#verdict"));
    visit.well();
}

#[test]
fn what_cannot_be_done_is_said_in_a_sentence_and_nothing_is_lost() {
    let Some(mut visit) = Visit::of("ricart-agrawala -n 2") else { return };
    visit.click("#step");
    let before = visit.view("[view.session, view.moment]");
    visit.write("#words", "ricart-agrawala -n 2 --entreis 3");
    visit.click("#start");
    let says = visit.text("#form-error");
    assert!(says.contains("--entreis"), "{says}");
    assert_eq!(
        visit.tab.value("document.getElementById('words').value"),
        "ricart-agrawala -n 2 --entreis 3"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("poem.txt");
    std::fs::write(&file, "roses are red").unwrap();
    visit.choose(&file);
    soon(&mut visit.tab, "!document.getElementById('file-error').hidden");
    assert!(!visit.text("#file-error").is_empty());
    visit.click("#step");
    let after = visit.view("[view.session, view.moment - 1]");
    assert_eq!(after, before);
    let expected = |each: &String| each.contains("status of 400");
    assert!(visit.tab.complaints.iter().all(expected), "{:?}", visit.tab.complaints);
    assert_eq!(visit.tab.complaints.len(), 2);
}

#[test]
fn the_form_fills_the_words_and_the_words_fill_the_form() {
    let Some(mut visit) = Visit::first() else { return };
    let field = "[data-option='--latency']";
    assert_eq!(visit.tab.value(&format!("document.querySelector(\"{field}\").value")), "1..4");
    visit.write("#words", "bully -n 4 --drift 0.01 --latency exp:2");
    assert_eq!(visit.tab.value(&format!("document.querySelector(\"{field}\").value")), "exp:2");
    visit.write(field, "");
    visit.write("[data-option='--seed']", "9");
    let words = visit.tab.value("document.getElementById('words').value");
    assert_eq!(words, "bully -n 4 --drift 0.01 --seed 9");
    visit.write("#algorithm", "ricart-agrawala");
    visit.click("[data-variant=clock-only-strict]");
    let words = visit.tab.value("document.getElementById('words').value");
    assert_eq!(words, "ricart-agrawala -n 4 --drift 0.01 --seed 9 --variant clock-only-strict");
    visit.well();
}

#[test]
fn an_experiment_to_begin_with_ends_as_its_hint_says() {
    let Some(mut visit) = Visit::first() else { return };
    visit.click("#examples li:nth-child(2) button");
    assert!(visit.text("#hint").contains("two are inside"), "{}", visit.text("#hint"));
    visit.tab.value("document.getElementById('speed').value = '60'");
    visit.tab.click("#run");
    visit.until("lab.session.running === null && lab.session.view.moment > 0");
    assert!(visit.verdict("mutual-exclusion").contains("violated"));
    let inside = visit.tab.value("document.querySelectorAll('.process.inside').length");
    assert_eq!(inside, json!(2), "it pauses there");
    assert_eq!(visit.view("view.verdicts[0].moment"), visit.view("view.moment"));
    visit.well();
}

#[test]
fn the_keyboard_alone_steps_loses_a_message_and_walks_the_histories() {
    let Some(mut visit) = Visit::of("ricart-agrawala -n 2") else { return };
    visit.tab.value("document.activeElement.blur()");
    while visit.view("view.messages.length") == json!(0) {
        visit.press("ArrowRight");
    }
    visit.press("ArrowLeft");
    assert_eq!(visit.view("view.messages.length"), json!(0));
    visit.press("ArrowRight");
    let tab_to = |visit: &mut Visit, selector: &str| {
        for _ in 0..80 {
            visit.press("Tab");
            let there = format!("document.activeElement.matches({selector:?})");
            if visit.tab.value(&there) == json!(true) {
                return;
            }
        }
        panic!("the focus does not come to {selector}");
    };
    tab_to(&mut visit, ".message");
    visit.press("Enter");
    assert_eq!(visit.tab.value("document.activeElement.dataset.act"), "deliver");
    visit.press("Escape");
    assert_eq!(
        visit
            .tab
            .value("document.activeElement.className")
            .as_str()
            .map(|name| { name.starts_with("message") }),
        Some(true),
        "the focus is where it was"
    );
    visit.press("Enter");
    visit.press("ArrowDown");
    let many = visit.view("view.messages.length").as_u64().unwrap();
    visit.press("Enter");
    assert_eq!(visit.view("view.messages.length"), json!(many - 1));
    let focused = visit.tab.value("document.activeElement.className");
    assert!(focused.as_str().unwrap().starts_with("process"), "{focused}: whom it was to");
    let here = visit.view("view.moment");
    tab_to(&mut visit, "#tree");
    visit.press("ArrowUp");
    assert_ne!(visit.view("view.moment"), here);
    visit.press("ArrowDown");
    assert_eq!(visit.view("view.moment"), here, "down the branch that was last seen");
    visit.press("Home");
    assert_eq!(visit.view("view.moment"), json!(0));
    visit.tab.value("document.activeElement.blur()");
    visit.press(" ");
    visit.until("lab.session.view.next === null && lab.session.running === null");
    visit.well();
}

#[test]
fn beyond_this_machine_nothing_is_done_without_the_token() {
    let Some(mut tab) = Tab::open() else { return };
    let server = Serving::with(&["--bind", "0.0.0.0"]);
    let address = server.address().replace("0.0.0.0", "127.0.0.1");
    let (page, token) = address.split_once("?token=").expect("a token in the address");
    tab.visit(page, "window.lab");
    soon(&mut tab, "!document.getElementById('form-error').hidden");
    assert!(tab.text("#form-error").contains("token"), "{}", tab.text("#form-error"));
    assert_eq!(tab.value("lab.session.view"), json!(null));
    let expected = |each: &String| each.contains("status of 401");
    assert!(tab.complaints.iter().all(expected), "{:?}", tab.complaints);
    assert!(!tab.complaints.is_empty());
    let mut tab = Tab::open().expect("there was one before");
    tab.visit(&address, SHOWN);
    assert_eq!(tab.value("location.href.includes('token')"), json!(false), "it is not shown");
    tab.click("#step");
    tab.until("lab.session.view.moment === 1");
    tab.call("Page.reload", json!({}));
    tab.until("document.readyState === 'complete' && window.lab?.session.view?.moment === 1");
    assert_eq!(tab.value("sessionStorage.getItem('tenure-lab-token')"), token);
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn words_and_files_of_the_command_line_are_what_is_seen_first() {
    let Some(mut visit) = Visit::to(&["bully", "-n", "4"]) else { return };
    assert_eq!(visit.view("[view.algorithm, view.n]"), json!(["bully", 4]));
    visit.well();
    let folder = tempfile::tempdir().unwrap();
    let file = counterexample(folder.path());
    let Some(mut visit) = Visit::to(&["--open", file.to_str().unwrap()]) else { return };
    assert_eq!(visit.view("[view.algorithm, view.n]"), json!(["ricart-agrawala", 2]));
    visit.well();
}
