//! A lab that is served, and a browser that looks at it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_browser::Tab;

/// What there is to see of a session.
pub(crate) const SHOWN: &str = "window.lab?.session.view";

/// Waits for something that may come with an error: unlike `Tab::until`, it does not mind.
pub(crate) fn soon(tab: &mut Tab, expression: &str) {
    tab.value(&format!(
        "new Promise((done) => {{ const look = () => ({expression}) ? done() \
         : setTimeout(look, 20); look(); }})"
    ));
}

/// The command `tenure lab`, which ends with it.
pub(crate) struct Serving {
    command: Child,
    address: String,
}

impl Serving {
    /// A lab that only this machine reaches.
    pub(crate) fn with(words: &[&str]) -> Serving {
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
        Serving { command, address: address.to_owned() }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.command.kill();
        let _ = self.command.wait();
    }
}

/// What the command says when it is done, given these words.
pub(crate) fn tenure(words: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_tenure")).args(words).output().unwrap();
    String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap()
}

/// A page of a lab, both of which end together.
pub(crate) struct Visit {
    pub(crate) tab: Tab,
    _server: Serving,
    downloads: TempDir,
}

impl Visit {
    /// The page as it is at first; `None`, and a word about it, where no browser is installed.
    pub(crate) fn first() -> Option<Visit> {
        Visit::to(&[])
    }

    /// The page of the command with these words.
    pub(crate) fn to(words: &[&str]) -> Option<Visit> {
        let mut tab = Tab::open()?;
        let server = Serving::with(words);
        tab.resize(1280, 900, "light");
        let downloads = tempfile::tempdir().unwrap();
        let kept = json!({"behavior": "allow", "downloadPath": downloads.path()});
        tab.call("Page.setDownloadBehavior", kept);
        tab.visit(server.address(), SHOWN);
        Some(Visit { tab, _server: server, downloads })
    }

    /// The page of a run with these words.
    pub(crate) fn of(words: &str) -> Option<Visit> {
        let mut visit = Visit::first()?;
        visit.write("#words", words);
        visit.click("#start");
        visit.until(&format!("lab.session.view.words.startsWith({words:?})"));
        Some(visit)
    }

    /// Clicks, and waits until the lab has answered.
    pub(crate) fn click(&mut self, selector: &str) {
        self.tab.click(selector);
        self.answered();
    }

    pub(crate) fn press(&mut self, key: &str) {
        self.tab.press(key);
        self.answered();
    }

    /// Waits until everything that was asked for has been answered and shown.
    pub(crate) fn answered(&mut self) {
        self.tab.value(
            "(async () => { let last; do { last = lab.session.last; await last; \
             await new Promise((done) => setTimeout(done)); } while (last !== lab.session.last); \
             })()",
        );
    }

    pub(crate) fn until(&mut self, expression: &str) {
        self.tab.until(expression);
        self.answered();
    }

    /// Writes into a field as somebody who types does.
    pub(crate) fn write(&mut self, selector: &str, text: &str) {
        self.tab.value(&format!(
            "(() => {{ const field = document.querySelector({selector:?}); \
             field.value = {text:?}; field.dispatchEvent(new Event('input')); }})()"
        ));
    }

    /// A part of what is shown, by an expression of `view`.
    pub(crate) fn view(&mut self, expression: &str) -> Value {
        self.tab.value(&format!("((view) => ({expression}))(lab.session.view)"))
    }

    pub(crate) fn text(&mut self, selector: &str) -> String {
        self.tab.text(selector)
    }

    /// Steps by clicks until an expression of `view` holds.
    pub(crate) fn step_until(&mut self, expression: &str) {
        for _ in 0..200 {
            if self.view(&format!("Boolean({expression})")) == json!(true) {
                return;
            }
            assert_ne!(self.view("view.next"), Value::Null, "it ended before {expression}");
            self.click("#step");
        }
        panic!("{expression} did not come true");
    }

    /// What a monitor says of a property.
    pub(crate) fn verdict(&mut self, property: &str) -> String {
        self.text(&format!("[data-property={property}]"))
    }

    /// The file that a click on a button leaves, by the end of its name.
    pub(crate) fn download(&mut self, selector: &str, end: &str) -> String {
        self.click(selector);
        let folder = self.downloads.path().to_owned();
        let arrived = || -> Option<String> {
            let mut files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
            let file = files.find(|file| file.to_string_lossy().ends_with(end))?;
            // Until it has arrived as a whole, an empty one has its name.
            Some(fs::read_to_string(file).unwrap()).filter(|text| !text.is_empty())
        };
        for _ in 0..200 {
            if let Some(text) = arrived() {
                return text;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("no file arrived that ends with {end}; {}", self.text("#export-error"));
    }

    /// Gives a file to the page as if it had been chosen.
    pub(crate) fn choose(&mut self, file: &Path) {
        let document = self.tab.call("DOM.getDocument", json!({}));
        let root = document["root"]["nodeId"].clone();
        let field = json!({"nodeId": root, "selector": "#file"});
        let found = self.tab.call("DOM.querySelector", field);
        let given = json!({"nodeId": found["nodeId"], "files": [file]});
        self.tab.call("DOM.setFileInputFiles", given);
    }

    /// Drops a file on the page.
    pub(crate) fn drop(&mut self, file: &Path) {
        let data = json!({"items": [], "files": [file], "dragOperationsMask": 1});
        for kind in ["dragEnter", "dragOver", "drop"] {
            let event = json!({"type": kind, "x": 600, "y": 300, "data": data});
            self.tab.call("Input.dispatchDragEvent", event);
        }
    }

    /// Nothing went wrong in the page.
    pub(crate) fn well(&self) {
        assert_eq!(self.tab.complaints, [""; 0]);
    }
}
