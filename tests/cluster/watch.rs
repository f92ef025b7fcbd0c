//! Tests of the page of a running cluster: its messages over a real socket, and its display in a
//! browser.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use tenure_runtime::ports::reserve_address;

use crate::running::{Running, tenure};
use crate::waiting::{TIME_LIMIT, cluster_slot, eventually};
use rustix::process::Signal;
use serde_json::Value;
use tenure_browser::Tab;

fn parts(url: &str) -> (SocketAddr, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    let (address, path) = rest.split_once('/').unwrap();
    (address.parse().unwrap(), path)
}

/// Requests a path of the page. The request uses HTTP/1.0, so that the response is not chunked.
fn ask(to: SocketAddr, path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(TIME_LIMIT)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {to}\r\n\r\n").unwrap();
    BufReader::new(stream)
}

fn status(to: SocketAddr, path: &str) -> u16 {
    let mut first = String::new();
    ask(to, path).read_line(&mut first).unwrap();
    first.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap()
}

/// Returns the messages that a page at this URL receives, in order.
fn report(url: &str) -> impl Iterator<Item = Value> {
    let (to, query) = parts(url);
    let lines = ask(to, &format!("/api/live{query}")).lines().map_while(Result::ok);
    let data = lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(&data).unwrap())
}

fn fence(report: &Value) -> Option<(u64, u64)> {
    let (high, low) = report["view"]["fence"][0].as_str()?.split_once('.')?;
    Some((high.parse().unwrap(), low.parse().unwrap()))
}

/// Returns the configuration of a cluster with a single node. `more` is added to it.
fn config(folder: &Path, more: &str) -> String {
    let port = reserve_address();
    let store = folder.join("store");
    let text = format!(
        "version = 1\n[cluster]\nname = \"alone\"\nme = 1\naddresses = [\"{port}\"]\n\
         [store]\ndirectory = {store:?}\n{more}"
    );
    let path = folder.join("node.toml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Returns the leaders in the messages of a page, in order.
fn leaders(report: &[Value]) -> Vec<&Value> {
    let leaders = report.iter().map(|report| &report["view"]["leader"]);
    let mut leaders: Vec<&Value> = leaders.filter(|leader| !leader.is_null()).collect();
    leaders.dedup();
    leaders
}

#[test]
fn page_of_a_run_shows_faults_leaders_and_verdicts() {
    let _slot = cluster_slot();
    let watch = |seconds: u32| -> Vec<Value> {
        let line = "run --watch --nodes 3 --hold 10ms --kill leader@1s";
        let mut run = Running::start(&format!("{line} --duration {seconds}s"));
        let report = report(&run.page()).collect();
        run.ended().expect(0);
        report
    };
    // On a loaded machine, the others may need longer to elect a leader.
    let mut runs = [6, 40].into_iter().map(watch);
    let report = runs.find(|report| leaders(report).len() >= 2);
    let report = report.expect("a leader before the crash and another one after it");

    let leaders = leaders(&report);
    let terms: Vec<u64> = leaders.iter().map(|leader| leader[1].as_u64().unwrap()).collect();
    assert!(terms.is_sorted(), "{leaders:?}");
    assert_ne!(leaders.first().unwrap()[0], leaders.last().unwrap()[0]);

    let entries: Vec<u64> =
        report.iter().map(|it| it["view"]["entries"].as_u64().unwrap()).collect();
    assert!(entries.is_sorted() && entries[0] < *entries.last().unwrap(), "{entries:?}");
    let mut fences: Vec<_> = report.iter().filter_map(fence).collect();
    assert!(fences.is_sorted(), "a fence never falls: {fences:?}");
    fences.dedup();
    assert!(fences.len() > 3, "{fences:?}");

    let last = report.last().unwrap();
    let message = |kind: &str| {
        let news = last["view"]["news"].as_array().unwrap().iter();
        news.filter(|news| news["kind"] == kind).count()
    };
    assert_eq!(message("crash"), 1, "{last}");
    assert!(message("suspicion") >= 1, "{last}");
    assert_eq!(last["last"], true);
    assert_eq!(last["verdicts"]["held"], true, "{last}");
    let summary = &last["verdicts"]["summary"];
    assert_eq!(summary["entries"], *entries.last().unwrap(), "counted as they were judged");
    let earlier = &report[..report.len() - 1];
    assert!(earlier.iter().all(|report| report["verdicts"].is_null()), "no verdict before the end");
}

#[test]
fn page_of_a_node_requires_configuration() {
    let _slot = cluster_slot();
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "[page]\nlisten = \"127.0.0.1:0\"\n");
    let node = Running::start(&format!("node --config {config}"));
    let url = node.page();
    let leads = |report: &Value| report["view"]["leader"][0] == 1;
    let seen = report(&url).find(leads).expect("a node that is alone leads");
    assert_eq!((&seen["about"]["own"], &seen["about"]["size"]), (&1.into(), &1.into()));
    assert_eq!(seen["view"]["processes"][0]["life"], "up");
    let (to, _) = parts(&url);
    assert_eq!([status(to, "/"), status(to, "/live.js"), status(to, "/no")], [200, 200, 404]);
    drop(node);

    let config = self::config(folder.path(), "");
    let node = Running::start(&format!("node --config {config}"));
    let ready = || node.output("out").contains("elected").then_some(());
    eventually("a node that leads", ready);
    assert!(!node.output("out").contains("http://"), "{}", node.output("out"));
}

#[test]
fn remote_page_requires_its_token() {
    let _slot = cluster_slot();
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "[page]\nlisten = \"0.0.0.0:0\"\n");
    let node = Running::start(&format!("node --config {config}"));
    let url = node.page();
    assert!(url.contains("/?token="), "{url}");
    let (mut to, query) = parts(&url);
    to.set_ip([127, 0, 0, 1].into());
    assert_eq!(status(to, "/api/live"), 401);
    assert_eq!(status(to, "/api/live?token=0123456789abcdef0123456789abcdef"), 401);
    assert_eq!(status(to, &format!("/api/live{query}")), 200);
}

#[test]
fn occupied_page_address_is_rejected_before_the_run() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = format!("--watch={}", taken.local_addr().unwrap());
    let ended = tenure(&format!("run {watch} --duration 1s"));
    let message = &ended.expect(2).err;
    assert!(message.contains("--watch: cannot listen on"), "{message}");
}

/// Expression that returns the elements of the page that extend beyond the window or are cut off.
const CUT: &str = "(document.querySelector('body *') ? [] : ['an empty page'])
    .concat(Array.from(document.querySelectorAll('body, body *:not(#legend i)'))
    .filter((each) => !each.closest('thead') && (
        each.getBoundingClientRect().right > document.documentElement.clientWidth
        || (each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)))
    .map((each) => each.id || each.tagName + each.textContent))";

#[test]
fn browser_shows_a_run_and_its_end() {
    let _slot = cluster_slot();
    let Some(mut tab) = Tab::open() else { return };
    tab.emulate_display(1280, 900, "light");
    // A loaded machine needs most of this time to elect another leader.
    let mut run =
        Running::start("run --watch --nodes 3 --hold 10ms --duration 20s --kill leader@3s");
    tab.visit(&run.page(), "window.live?.lastUpdate?.view.leader");
    assert_eq!(tab.text("#status"), "live");
    assert!(tab.text("#leader").starts_with('P'), "{}", tab.text("#leader"));
    tab.wait_until("document.querySelectorAll('#nodes tbody tr').length === 3");
    tab.wait_until("document.getElementById('strip').getAttribute('aria-label').includes('P1')");
    tab.wait_until("document.querySelector('#nodes tr.down') !== null");
    tab.wait_until(
        "Array.from(document.querySelectorAll('#news li'))
        .some((each) => each.textContent.includes('crashes'))",
    );
    for (wide, look) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
        tab.emulate_display(wide, 900, look);
        tab.wait_until("window.live.lastUpdate.view.leader");
        assert_eq!(tab.evaluate(CUT), Value::Array(Vec::new()), "{wide} {look}");
        shoot(&mut tab, &format!("running-{wide}-{look}"));
    }
    tab.wait_until("window.live.lastUpdate.last");
    assert_eq!(tab.text("#status"), "the run is over");
    assert!(
        tab.text("#verdict").contains("All promised properties hold."),
        "{}",
        tab.text("#verdict")
    );
    run.ended().expect(0);
    for (wide, look) in [(1280, "light"), (400, "dark")] {
        tab.emulate_display(wide, 900, look);
        assert_eq!(tab.evaluate(CUT), Value::Array(Vec::new()), "{wide} {look}");
        shoot(&mut tab, &format!("over-{wide}-{look}"));
    }
}

#[test]
fn browser_reports_a_lost_server_and_reconnects() {
    let _slot = cluster_slot();
    let Some(mut tab) = Tab::open() else { return };
    tab.emulate_display(1280, 900, "light");
    let folder = tempfile::tempdir().unwrap();
    let port = reserve_address();
    let config = config(folder.path(), &format!("[page]\nlisten = \"{port}\"\n"));
    let node = Running::start(&format!("node --config {config}"));
    tab.visit(&node.page(), "window.live?.lastUpdate?.view.leader");
    for (wide, look) in [(1280, "light"), (500, "dark")] {
        tab.emulate_display(wide, 900, look);
        assert_eq!(tab.evaluate(CUT), Value::Array(Vec::new()), "a node's own page, {wide} {look}");
        shoot(&mut tab, &format!("own-{wide}-{look}"));
    }
    node.signal(Signal::KILL);
    let mut looks = |look: &str| {
        // `wait_until` would fail, because the browser logs each failed attempt to reconnect.
        let is = format!("document.getElementById('status').className === '{look}'");
        eventually(look, || tab.evaluate(&is).as_bool().filter(|is| *is));
        tab.text("#status")
    };
    let message = looks("lost");
    assert!(message.contains("connection lost"), "{message}");
    let _again = Running::start(&format!("node --config {config}"));
    looks("live");
}

/// Saves a screenshot of the page if an environment variable requests it.
fn shoot(tab: &mut Tab, name: &str) {
    let Ok(folder) = std::env::var("TENURE_SHOTS") else { return };
    let taken = tab.send_command("Page.captureScreenshot", serde_json::json!({"format": "png"}));
    let text = taken["data"].as_str().unwrap_or_default();
    fs::write(Path::new(&folder).join(format!("{name}.base64")), text).unwrap();
}

#[test]
fn page_address_must_be_a_socket_address() {
    let ended = tenure("run --watch=nowhere --duration 1s");
    assert!(ended.expect(2).err.contains("nowhere"), "{}", ended.err);
}
