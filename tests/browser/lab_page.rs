//! A lab that a test starts, and a browser that shows its page.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_browser::Tab;

use crate::killed::Killed;

pub(crate) const SHOWN: &str = "window.lab?.session.view";

const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(120);

/// Waits until an expression is true on the page. Unlike `Tab::wait_until`, tolerates error
/// messages of the page.
pub(crate) fn wait_for(tab: &mut Tab, expression: &str) {
    tab.evaluate(&format!(
        "new Promise((done) => {{ const look = () => ({expression}) ? done() \
         : setTimeout(look, 20); look(); }})"
    ));
}

/// A running `tenure lab`, which ends when this value is dropped.
pub(crate) struct LabServer {
    _command: Killed,
    address: String,
}

impl LabServer {
    pub(crate) fn with(words: &[&str]) -> LabServer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["lab", "--port", "0"])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(command.stdout.take().unwrap()).lines();
        let line = lines.find_map(|line| line.ok().filter(|line| line.contains("http://")));
        let line = line.expect("the lab says where it is");
        let address = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        LabServer { _command: Killed(command), address: address.to_owned() }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

pub(crate) fn tenure(words: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_tenure")).args(words).output().unwrap();
    String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap()
}

/// The page of a lab in a browser. The lab ends and the page is closed when this value is dropped.
pub(crate) struct LabPage {
    pub(crate) tab: Tab,
    _server: LabServer,
    downloads: TempDir,
}

impl LabPage {
    /// Starts a lab, and opens its page without a run. If no browser is installed, prints a message
    /// and returns `None`.
    pub(crate) fn open() -> Option<LabPage> {
        LabPage::with_args(&[])
    }

    /// Starts a lab with these arguments, and opens its page. Returns `None` if no browser is
    /// installed.
    pub(crate) fn with_args(words: &[&str]) -> Option<LabPage> {
        let mut tab = Tab::open()?;
        let server = LabServer::with(words);
        tab.emulate_display(1280, 900, "light");
        let downloads = tempfile::tempdir().unwrap();
        let kept = json!({"behavior": "allow", "downloadPath": downloads.path()});
        tab.send_command("Page.setDownloadBehavior", kept);
        tab.visit(server.address(), SHOWN);
        Some(LabPage { tab, _server: server, downloads })
    }

    /// Starts a lab, and starts a run with these options on its page. Returns `None` if no browser
    /// is installed.
    pub(crate) fn with_run(words: &str) -> Option<LabPage> {
        let mut page = LabPage::open()?;
        page.write("#words", words);
        page.click("#start");
        page.wait_until(&format!("lab.session.view.words.startsWith({words:?})"));
        Some(page)
    }

    /// Clicks on an element of the page, and waits for the response of the lab.
    pub(crate) fn click(&mut self, selector: &str) {
        self.tab.click(selector);
        self.wait_idle();
    }

    /// Clicks on an element of the page. Then clicks on the entry `action` of the menu that opens.
    pub(crate) fn act(&mut self, selector: &str, action: &str) {
        self.click(selector);
        self.click(&format!("#menu [data-act={action}]"));
    }

    pub(crate) fn lose_first_message(&mut self) {
        let message = self.view("view.messages[0].message");
        self.act(&format!(".message[data-message='{message}']"), "lose");
    }

    pub(crate) fn press(&mut self, key: &str) {
        self.tab.press(key);
        self.wait_idle();
    }

    /// Waits until the page has received the responses to all its requests and shows them.
    pub(crate) fn wait_idle(&mut self) {
        self.tab.evaluate(
            "(async () => { let last; do { last = lab.session.last; await last; \
             await new Promise((done) => setTimeout(done)); } while (last !== lab.session.last); \
             })()",
        );
    }

    pub(crate) fn wait_until(&mut self, expression: &str) {
        self.tab.wait_until(expression);
        self.wait_idle();
    }

    pub(crate) fn write(&mut self, selector: &str, text: &str) {
        self.tab.evaluate(&format!(
            "(() => {{ const field = document.querySelector({selector:?}); \
             field.value = {text:?}; field.dispatchEvent(new Event('input')); }})()"
        ));
    }

    /// Evaluates an expression in which `view` is the present view of the page.
    pub(crate) fn view(&mut self, expression: &str) -> Value {
        self.tab.evaluate(&format!("((view) => ({expression}))(lab.session.view)"))
    }

    pub(crate) fn text(&mut self, selector: &str) -> String {
        self.tab.text(selector)
    }

    /// Clicks repeatedly on the button for one step, until an expression of the view is true.
    pub(crate) fn step_until(&mut self, expression: &str) {
        for _ in 0..200 {
            if self.view(&format!("Boolean({expression})")) == json!(true) {
                return;
            }
            assert_ne!(self.view("view.next"), Value::Null, "it ended before {expression}");
            self.click("#step");
        }
        panic!("timed out waiting for {expression}");
    }

    pub(crate) fn verdict(&mut self, property: &str) -> String {
        self.text(&format!("[data-property={property}]"))
    }

    /// Clicks on a button, and returns the text of the downloaded file whose name ends with `end`.
    pub(crate) fn download(&mut self, selector: &str, end: &str) -> String {
        self.click(selector);
        let folder = self.downloads.path().to_owned();
        let arrived = || -> Option<String> {
            let mut files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
            let file = files.find(|file| file.to_string_lossy().ends_with(end))?;
            // The file is created empty before its content arrives.
            Some(fs::read_to_string(file).unwrap()).filter(|text| !text.is_empty())
        };
        let started = Instant::now();
        while started.elapsed() < ARRIVAL_TIMEOUT {
            if let Some(text) = arrived() {
                return text;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("no file arrived that ends with {end}; {}", self.text("#export-error"));
    }

    pub(crate) fn choose(&mut self, file: &Path) {
        let document = self.tab.send_command("DOM.getDocument", json!({}));
        let root = document["root"]["nodeId"].clone();
        let field = json!({"nodeId": root, "selector": "#file"});
        let found = self.tab.send_command("DOM.querySelector", field);
        let given = json!({"nodeId": found["nodeId"], "files": [file]});
        self.tab.send_command("DOM.setFileInputFiles", given);
    }

    pub(crate) fn drop(&mut self, file: &Path) {
        let data = json!({"items": [], "files": [file], "dragOperationsMask": 1});
        for kind in ["dragEnter", "dragOver", "drop"] {
            let event = json!({"type": kind, "x": 600, "y": 300, "data": data});
            self.tab.send_command("Input.dispatchDragEvent", event);
        }
    }

    pub(crate) fn assert_no_complaints(&self) {
        assert_eq!(self.tab.complaints, [""; 0]);
    }
}
