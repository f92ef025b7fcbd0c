//! Tests of the page of the lab in a real browser. Without a browser, the tests print a message and
//! are skipped.

mod clicks;
#[cfg(feature = "service")]
mod dashboard;
#[path = "../support/killed.rs"]
mod killed;
mod lab_page;
mod layout;
mod links;
#[cfg(feature = "service")]
#[path = "../support/member.rs"]
mod member;
mod one_file;
mod pictures;
#[path = "../support/skipped.rs"]
mod skipped;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab_page::{LabPage, LabServer, SHOWN, tenure, wait_for};
use serde_json::json;
use tenure_browser::Tab;

/// Writes a counterexample to a file. In the counterexample, a wrong tie-break lets two processes
/// be inside after six steps.
fn counterexample(folder: &Path) -> PathBuf {
    let file = folder.join("two-inside.ndjson");
    let words = ["check", "ricart-agrawala", "-n", "2", "--variant", "clock-only-strict"];
    let description = tenure(&[&words[..], &["--trace", file.to_str().unwrap()]].concat());
    assert!(description.contains("mutual-exclusion violated after 6 steps"), "{description}");
    file
}

#[test]
fn first_page_shows_run_that_can_be_stepped() {
    let Some(mut page) = LabPage::open() else { return };
    assert_eq!(page.view("view.algorithm"), "ricart-agrawala");
    assert_eq!(page.tab.evaluate("document.querySelectorAll('.process').length"), json!(3));
    let words = page.tab.evaluate("document.getElementById('words').value");
    assert_eq!(words, page.view("view.words"));
    assert_eq!(page.view("view.moment"), json!(0));
    let next = page.view("view.next.description");
    assert!(page.text("#next").ends_with(next.as_str().unwrap()), "{next}");
    page.click("#step");
    assert_eq!(page.view("view.moment"), json!(1));
    assert!(page.text("#where").ends_with("moment 1"), "{}", page.text("#where"));
    assert!(!page.text("#last-event").is_empty());
    page.step_until("view.messages.length > 0");
    let chips = page.tab.evaluate("document.querySelectorAll('.message').length");
    assert_eq!(chips, page.view("view.messages.length"));
    page.click("#event");
    let happened = page.view("view.happened[0]");
    assert!(page.text("#last-event").contains(happened.as_str().unwrap()), "{happened}");
    page.assert_no_complaints();
}

#[test]
fn run_ends_by_button_and_by_playing() {
    let Some(mut page) = LabPage::with_run("ricart-agrawala -n 3") else { return };
    page.click("#end");
    assert_eq!(page.view("[view.next, view.figures.entries]"), json!([null, 3]));
    assert!(page.text("#next").starts_with("Ended: "), "{}", page.text("#next"));
    assert!(page.text("#figures").contains("2(N−1)"), "{}", page.text("#figures"));
    let last = page.view("view.moment");
    page.click("#begin");
    assert_eq!(page.view("view.moment"), json!(0));
    page.tab.evaluate("document.getElementById('speed').value = '60'");
    page.tab.click("#run");
    page.wait_until("lab.session.view.next === null && lab.session.running === null");
    assert_eq!(page.view("[view.moment, view.tree.length - 1]"), json!([last, last]));
    page.assert_no_complaints();
}

#[test]
fn losing_a_reply_blocks_requester_forever() {
    let Some(mut page) = LabPage::with_run("ricart-agrawala -n 3 --latency 1..4") else { return };
    let reply = "view.messages.find((each) => each.kind === 'reply')";
    page.step_until(reply);
    let message = page.view(&format!("{reply}.message"));
    let who = page.view(&format!("{reply}.to"));
    page.click(&format!(".message[data-message='{message}']"));
    assert!(page.text("#menu").contains("reply"), "{}", page.text("#menu"));
    page.click("#menu [data-act=lose]");
    assert_eq!(page.tab.evaluate("document.getElementById('menu').hidden"), json!(true));
    assert!(page.text("#last-event").contains("lost"), "{}", page.text("#last-event"));
    page.click("#end");
    let held = format!("view.processes[{who} - 1].hold");
    assert_eq!(page.view(&held), "waiting");
    let blocked = page.text("#verdicts");
    assert!(blocked.contains("✗") && blocked.contains(&format!("P{who}")), "{blocked}");
    assert!(page.text("#verdict").starts_with("✗"), "{}", page.text("#verdict"));
    assert!(page.text(&format!(".process[data-process='{who}']")).contains("waits"));
    page.assert_no_complaints();
}

#[test]
fn duplicates_delays_and_delivers_message_by_clicks() {
    let Some(mut page) = LabPage::with_run("lamport -n 2 --beyond-assumptions") else { return };
    page.step_until("view.messages.length > 0");
    assert_eq!(page.view("view.messages[0].from"), json!(1));
    let [message, many] = ["view.messages[0].message", "view.messages.length"]
        .map(|part| page.view(part).as_u64().unwrap());
    let chip = format!(".message[data-message='{message}']");
    let due = |page: &mut LabPage| {
        page.view(&format!("view.messages.find((each) => each.message === {message})?.due"))
    };
    let before = due(&mut page).as_f64().unwrap();
    page.click(&chip);
    page.write("#menu input", "7");
    page.click("#menu [data-act=delay]");
    assert_eq!(due(&mut page).as_f64(), Some(before + 7.0));
    page.act(&chip, "duplicate");
    assert_eq!(page.view("view.messages.length"), json!(many + 1));
    page.act(&chip, "deliver");
    // The two copies of the message look the same. One of them has arrived, so one is left.
    let left = "view.messages.filter((each) => each.from === 1 && each.kind === 'request').length";
    assert_eq!(page.view(left), json!(1));
    assert!(
        page.text("#last-event").contains("P2 receives request"),
        "{}",
        page.text("#last-event")
    );
    page.assert_no_complaints();
}

#[test]
fn crashed_leader_is_suspected_and_replaced() {
    let Some(mut page) = LabPage::with_run("bully -n 3 --beyond-assumptions") else { return };
    page.click("#end");
    assert_eq!(page.view("view.processes.map((each) => each.leads)"), json!([false, false, true]));
    page.act(".process[data-process='3']", "crash");
    assert_eq!(page.view("[view.processes[2].up, view.processes[2].hold]"), json!([false, "down"]));
    assert!(page.text(".process[data-process='3']").contains("down"));
    page.click(".process[data-process='2']");
    page.tab.evaluate("document.querySelector('#menu select').value = '3'");
    page.click("#menu [data-act=suspect]");
    assert_eq!(page.view("view.processes[1].suspects"), json!([3]));
    page.click("#end");
    assert_eq!(page.view("view.processes[1].leads"), json!(true));
    page.act(".process[data-process='3']", "recover");
    assert_eq!(page.view("view.processes[2].up"), json!(true));
    page.assert_no_complaints();
}

#[test]
fn timer_fires_on_request() {
    let Some(mut page) = LabPage::with_run("bully -n 3") else { return };
    page.step_until("view.processes.some((each) => each.timers.length > 0)");
    let armed = "view.processes.find((each) => each.timers.length > 0)";
    let [who, timers] = ["process", "timers.length"]
        .map(|part| page.view(&format!("{armed}.{part}")).as_u64().unwrap());
    let (now, before) = (page.view("view.time"), page.view("view.moment"));
    page.act(&format!(".process[data-process='{who}']"), "fire");
    assert_eq!(page.view("view.time"), now, "it fires at once");
    assert_ne!(page.view("view.moment"), before);
    let after = page.view(&format!("view.processes[{who} - 1].timers.length"));
    let text = page.text("#last-event");
    assert!(after != json!(timers) || text.contains("timer"), "{text}");
    page.assert_no_complaints();
}

#[test]
fn lost_entry_is_missing_until_retransmission() {
    let Some(mut page) = LabPage::with_run("raft-log -n 3 --entries 1") else { return };
    let appends = "view.messages.filter((each) => each.kind === 'append')";
    page.step_until(&format!("{appends}.length > 1"));
    let logs = "document.getElementById('boxes').shadowRoot";
    let description = format!("{logs}.querySelector('desc').textContent");
    let boxes = format!("{logs}.querySelectorAll('rect.entry').length");
    let say = |page: &mut LabPage, act: &str, chosen: &str| {
        let message = page.view(&format!("{appends}{chosen}"));
        page.act(&format!(".message[data-message='{}']", message["message"]), act);
        message["to"].as_u64().unwrap()
    };
    let lacks = say(&mut page, "lose", "[1]");
    let before = page.view("view.moment");
    let (empty, drawn) = (format!("P{lacks} has nothing"), page.tab.evaluate(&boxes));
    let has = say(&mut page, "deliver", "[0]");
    let now = page.tab.evaluate(&description);
    let now = now.as_str().unwrap();
    assert!(now.contains(&empty) && now.contains(&format!("P{has} has 1, committed 0")), "{now}");
    assert_eq!(page.tab.evaluate(&boxes).as_u64(), drawn.as_u64().map(|drawn| drawn + 1));
    page.click("#end");
    let now = page.tab.evaluate(&description);
    assert!(now.as_str().unwrap().contains(&format!("P{lacks} has 1 1")), "{now}");
    page.click(&format!("#tree [data-moment='{before}']"));
    assert!(page.tab.evaluate(&description).as_str().unwrap().contains(&empty), "as it was then");
    assert_eq!(page.tab.evaluate(&boxes), drawn);
    page.assert_no_complaints();
}

#[test]
fn acting_in_the_past_adds_a_branch() {
    let Some(mut page) = LabPage::with_run("ricart-agrawala -n 2 --latency 1..4") else { return };
    page.step_until("view.messages.length > 1");
    let fork = page.view("view.moment").as_u64().unwrap();
    page.click("#end");
    let old = page.view("view.moment").as_u64().unwrap();
    page.click(&format!("#tree [data-moment='{fork}']"));
    assert_eq!(page.view("view.moment"), json!(fork));
    page.click("#step");
    assert_eq!(page.view("[view.moment, view.tree.length - 1]"), json!([fork + 1, old]));
    page.click("#back");
    page.lose_first_message();
    assert_eq!(page.view("view.tree[view.moment].parent"), json!(fork));
    assert_eq!(page.view("view.moment"), json!(old + 1));
    assert!(page.text("#tree-summary").contains("2 branches"), "{}", page.text("#tree-summary"));
    assert_eq!(page.tab.evaluate("document.querySelectorAll('#map .edge').length"), json!(3));
    assert_eq!(page.text("#tree [aria-selected=true] b"), (old + 1).to_string());
    page.tab.evaluate("document.getElementById('tree').focus()");
    page.press("ArrowLeft");
    assert_eq!(page.view("view.moment"), json!(fork + 1), "as far along the branch beside");
    page.press("End");
    assert_eq!(page.view("view.moment"), json!(old));
    page.assert_no_complaints();
}

#[test]
fn exports_history_as_trace_page_picture_and_command() {
    let Some(mut page) = LabPage::with_run("ricart-agrawala -n 2") else { return };
    page.step_until("view.messages.length > 0");
    page.lose_first_message();
    let trace = page.download("#export-trace", "trace.ndjson");
    assert!(trace.starts_with("{\"trace\":\"tenure\""), "{trace}");
    assert!(trace.contains("\"kind\":\"drop\""), "{trace}");
    let html = page.download("#export-page", "page.html");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("ricart-agrawala"), "{html}");
    let picture = page.download("#export-svg", "diagram.svg");
    assert!(picture.starts_with("<svg"), "{picture}");
    let command = page.text("#replay");
    assert!(command.starts_with("tenure simulate ricart-agrawala"), "{command}");
    assert_eq!(page.view("view.commands.replay"), command);
    page.assert_no_complaints();
    assert_eq!(records_of(&replay(&command)), records_of(&trace), "{command}");
}

fn replay(command: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("again.ndjson");
    let line = format!("{} --trace {}", command.strip_prefix("tenure ").unwrap(), file.display());
    let split =
        Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().unwrap();
    let words = String::from_utf8(split.stdout).unwrap();
    let description = tenure(&words.lines().collect::<Vec<_>>());
    fs::read_to_string(&file).unwrap_or_else(|_| panic!("{command}: {description}"))
}

fn records_of(trace: &str) -> Vec<&str> {
    trace.lines().skip(1).collect()
}

#[test]
fn opens_counterexample_and_steps_to_violation() {
    let Some(mut page) = LabPage::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = counterexample(folder.path());
    page.drop(&file);
    page.wait_until("lab.session.view.n === 2");
    page.click("#begin");
    assert!(page.text("#verdict").starts_with("✓"), "{}", page.text("#verdict"));
    page.step_until("view.verdicts.some((each) => each.verdict === 'violated')");
    assert!(page.verdict("mutual-exclusion").contains("✗ mutual-exclusion violated"));
    let inside = page.tab.evaluate("document.querySelectorAll('.process.inside').length");
    assert_eq!(inside, json!(2));
    let at = page.view("view.moment");
    page.click("#back");
    assert!(page.text("#verdict").starts_with("✓"), "{}", page.text("#verdict"));
    page.click(&format!("#tree [data-moment='{at}']"));
    assert!(page.text("#verdict").starts_with("✗"), "{}", page.text("#verdict"));
    page.assert_no_complaints();
}

#[test]
fn errors_are_shown_and_keep_state() {
    let Some(mut page) = LabPage::with_run("ricart-agrawala -n 2") else { return };
    page.click("#step");
    let before = page.view("[view.session, view.moment]");
    page.write("#words", "ricart-agrawala -n 2 --entreis 3");
    page.click("#start");
    let description = page.text("#form-error");
    assert!(description.contains("--entreis"), "{description}");
    assert_eq!(
        page.tab.evaluate("document.getElementById('words').value"),
        "ricart-agrawala -n 2 --entreis 3"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("poem.txt");
    std::fs::write(&file, "roses are red").unwrap();
    page.choose(&file);
    wait_for(&mut page.tab, "!document.getElementById('file-error').hidden");
    assert!(!page.text("#file-error").is_empty());
    page.click("#step");
    let after = page.view("[view.session, view.moment - 1]");
    assert_eq!(after, before);
    let expected = |each: &String| each.contains("status of 400");
    assert!(page.tab.complaints.iter().all(expected), "{:?}", page.tab.complaints);
    assert_eq!(page.tab.complaints.len(), 2);
}

#[test]
fn form_and_command_line_stay_in_sync() {
    let Some(mut page) = LabPage::open() else { return };
    let field = "[data-option='--latency']";
    assert_eq!(page.tab.evaluate(&format!("document.querySelector(\"{field}\").value")), "1..4");
    page.write("#words", "bully -n 4 --drift 0.01 --latency exp:2");
    assert_eq!(page.tab.evaluate(&format!("document.querySelector(\"{field}\").value")), "exp:2");
    page.write(field, "");
    page.write("[data-option='--seed']", "9");
    let words = page.tab.evaluate("document.getElementById('words').value");
    assert_eq!(words, "bully -n 4 --drift 0.01 --seed 9");
    page.write("#algorithm", "ricart-agrawala");
    page.click("[data-variant=clock-only-strict]");
    let words = page.tab.evaluate("document.getElementById('words').value");
    assert_eq!(words, "ricart-agrawala -n 4 --drift 0.01 --seed 9 --variant clock-only-strict");
    page.assert_no_complaints();
}

#[test]
fn example_ends_as_its_hint_says() {
    let Some(mut page) = LabPage::open() else { return };
    page.click("#examples li:nth-child(2) button");
    assert!(page.text("#hint").contains("two are inside"), "{}", page.text("#hint"));
    page.tab.evaluate("document.getElementById('speed').value = '60'");
    page.tab.click("#run");
    page.wait_until("lab.session.running === null && lab.session.view.moment > 0");
    assert!(page.verdict("mutual-exclusion").contains("violated"));
    let inside = page.tab.evaluate("document.querySelectorAll('.process.inside').length");
    assert_eq!(inside, json!(2), "it pauses there");
    assert_eq!(page.view("view.verdicts[0].moment"), page.view("view.moment"));
    page.assert_no_complaints();
}

#[test]
fn keyboard_steps_loses_message_and_navigates_histories() {
    let Some(mut page) = LabPage::with_run("ricart-agrawala -n 2") else { return };
    page.tab.evaluate("document.activeElement.blur()");
    while page.view("view.messages.length") == json!(0) {
        page.press("ArrowRight");
    }
    page.press("ArrowLeft");
    assert_eq!(page.view("view.messages.length"), json!(0));
    page.press("ArrowRight");
    let tab_to = |page: &mut LabPage, selector: &str| {
        for _ in 0..80 {
            page.press("Tab");
            let there = format!("document.activeElement.matches({selector:?})");
            if page.tab.evaluate(&there) == json!(true) {
                return;
            }
        }
        panic!("the focus does not come to {selector}");
    };
    tab_to(&mut page, ".message");
    page.press("Enter");
    assert_eq!(page.tab.evaluate("document.activeElement.dataset.act"), "deliver");
    page.press("Escape");
    assert_eq!(
        page.tab
            .evaluate("document.activeElement.className")
            .as_str()
            .map(|name| { name.starts_with("message") }),
        Some(true),
        "the focus is where it was"
    );
    page.press("Enter");
    page.press("ArrowDown");
    let many = page.view("view.messages.length").as_u64().unwrap();
    page.press("Enter");
    assert_eq!(page.view("view.messages.length"), json!(many - 1));
    let focused = page.tab.evaluate("document.activeElement.className");
    assert!(focused.as_str().unwrap().starts_with("process"), "{focused}: the receiver");
    let here = page.view("view.moment");
    tab_to(&mut page, "#tree");
    page.press("ArrowUp");
    assert_ne!(page.view("view.moment"), here);
    page.press("ArrowDown");
    assert_eq!(page.view("view.moment"), here, "down the branch that was last seen");
    page.press("Home");
    assert_eq!(page.view("view.moment"), json!(0));
    page.tab.evaluate("document.activeElement.blur()");
    page.press(" ");
    page.wait_until("lab.session.view.next === null && lab.session.running === null");
    page.assert_no_complaints();
}

#[test]
fn remote_access_requires_token() {
    let Some(mut tab) = Tab::open() else { return };
    let server = LabServer::with(&["--bind", "0.0.0.0"]);
    let address = server.address().replace("0.0.0.0", "127.0.0.1");
    let (page, token) = address.split_once("?token=").expect("a token in the address");
    tab.visit(page, "window.lab");
    wait_for(&mut tab, "!document.getElementById('form-error').hidden");
    assert!(tab.text("#form-error").contains("token"), "{}", tab.text("#form-error"));
    assert_eq!(tab.evaluate("lab.session.view"), json!(null));
    let expected = |each: &String| each.contains("status of 401");
    assert!(tab.complaints.iter().all(expected), "{:?}", tab.complaints);
    assert!(!tab.complaints.is_empty());
    let mut tab = Tab::open().expect("there was one before");
    tab.visit(&address, SHOWN);
    assert_eq!(tab.evaluate("location.href.includes('token')"), json!(false), "it is not shown");
    tab.click("#step");
    tab.wait_until("lab.session.view.moment === 1");
    tab.send_command("Page.reload", json!({}));
    tab.wait_until("document.readyState === 'complete' && window.lab?.session.view?.moment === 1");
    assert_eq!(tab.evaluate("sessionStorage.getItem('tenure-lab-token')"), token);
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn command_line_selects_first_view() {
    let Some(mut page) = LabPage::with_args(&["bully", "-n", "4"]) else { return };
    assert_eq!(page.view("[view.algorithm, view.n]"), json!(["bully", 4]));
    page.assert_no_complaints();
    let folder = tempfile::tempdir().unwrap();
    let file = counterexample(folder.path());
    let Some(mut page) = LabPage::with_args(&["--open", file.to_str().unwrap()]) else { return };
    assert_eq!(page.view("[view.algorithm, view.n]"), json!(["ricart-agrawala", 2]));
    page.assert_no_complaints();
}
