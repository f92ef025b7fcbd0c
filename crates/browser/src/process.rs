//! Browser process that is shared by the open tabs of a test program.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::RESPONSE_TIMEOUT;

const BROWSER_NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Shell script that starts the browser. It moves the two pipes of the DevTools protocol to the
/// file descriptors 3 and 4.
const LAUNCH_SCRIPT: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// Options of the browser. With the last three options, the browser does not slow down the pages of
/// windows in the background.
const OPTIONS: [&str; 7] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-pipe",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
];

/// Running browser process, which ends when the last tab is closed.
pub(crate) struct BrowserProcess {
    browser: Child,
    requests: Mutex<ChildStdin>,
    /// Messages that belong to no session, such as the results of [`BrowserProcess::call`].
    responses: Mutex<Receiver<Value>>,
    sessions: Sessions,
    /// Number of commands sent so far.
    sent: AtomicU64,
    /// Folder with the data of the browser. It is removed when the browser ends.
    _profile: TempDir,
}

/// Channels to the tabs, by the names of their sessions. The channel with the empty name carries
/// the messages that belong to no session.
type Sessions = Arc<Mutex<HashMap<String, Sender<Value>>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the path of the first program in `PATH` with one of the [`BROWSER_NAMES`]; `None` if
/// there is none.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut all = BROWSER_NAMES.iter().flat_map(|name| folders.iter().map(move |at| at.join(name)));
    all.find(|file| file.is_file())
}

impl BrowserProcess {
    /// Returns the browser of the open tabs. Starts one if no tab is open, or if the browser has
    /// ended. Returns `None` if no browser is installed.
    pub(crate) fn get_or_start() -> Option<Arc<BrowserProcess>> {
        static SHARED: Mutex<Weak<BrowserProcess>> = Mutex::new(Weak::new());
        let program = installed()?;
        let mut shared = lock(&SHARED);
        let running = shared.upgrade().filter(|browser| browser.is_running());
        Some(running.unwrap_or_else(|| {
            let started = Arc::new(BrowserProcess::start(&program));
            *shared = Arc::downgrade(&started);
            started
        }))
    }

    fn start(program: &Path) -> BrowserProcess {
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Command::new("sh")
            .args(["-c", LAUNCH_SCRIPT])
            .arg(program)
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = Mutex::new(browser.stdin.take().unwrap());
        let pipe = BufReader::new(browser.stdout.take().unwrap());
        let (messages, responses) = channel();
        let sessions: Sessions = Arc::new(Mutex::new([(String::new(), messages)].into()));
        let readers = Arc::clone(&sessions);
        thread::spawn(move || distribute(pipe, &readers));
        BrowserProcess {
            browser,
            requests,
            responses: Mutex::new(responses),
            sessions,
            sent: AtomicU64::new(0),
            _profile: profile,
        }
    }

    /// Returns false if the browser has closed its pipe, for example after a crash.
    fn is_running(&self) -> bool {
        lock(&self.sessions).contains_key("")
    }

    /// Sends a command of the DevTools protocol, to a session or to the browser itself. Returns the
    /// number of the command. The response to the command repeats this number.
    pub(crate) fn send(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> std::io::Result<u64> {
        let id = self.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        write!(lock(&self.requests), "{message}\0")?;
        Ok(id)
    }

    /// Sends a command that belongs to no session, and returns the result.
    ///
    /// # Panics
    ///
    /// If the browser returns an error or does not respond in time.
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        let responses = lock(&self.responses);
        self.call_session(None, &responses, method, params, |_| {})
    }

    /// Sends a command to a session, or to the browser itself if `session` is `None`. Returns the
    /// result. `responses` receives the messages of the session. Passes all messages before the
    /// response to `on_event`.
    ///
    /// # Panics
    ///
    /// If the browser returns an error or does not respond in time.
    pub(crate) fn call_session(
        &self,
        session: Option<&str>,
        responses: &Receiver<Value>,
        method: &str,
        params: &Value,
        mut on_event: impl FnMut(&Value),
    ) -> Value {
        let id = self.send(session, method, params).expect("the browser listens");
        loop {
            let message = responses.recv_timeout(RESPONSE_TIMEOUT).expect("the browser answers");
            if message["id"] == json!(id) {
                assert_eq!(message.get("error"), None, "{method} {params}");
                return message["result"].clone();
            }
            on_event(&message);
        }
    }

    /// Returns a receiver of the messages of a session. The receiver is closed when the browser
    /// ends, or at once if it has ended already.
    pub(crate) fn subscribe_to_messages(&self, session: &str) -> Receiver<Value> {
        let (messages, responses) = channel();
        let mut sessions = lock(&self.sessions);
        if sessions.contains_key("") {
            sessions.insert(session.to_owned(), messages);
        }
        responses
    }

    /// Closes the tab with this session and browser context.
    pub(crate) fn close(&self, session: &str, context: &str) {
        lock(&self.sessions).remove(session);
        // The response is not needed. The command fails only if the browser has ended, and then the
        // tab is closed as well.
        let params = json!({"browserContextId": context});
        let _ = self.send(None, "Target.disposeBrowserContext", &params);
    }
}

impl Drop for BrowserProcess {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

/// Passes the messages of the browser on to their sessions, until the browser ends. Then closes all
/// channels, so that no tab waits for a response any more.
fn distribute(mut pipe: BufReader<ChildStdout>, sessions: &Mutex<HashMap<String, Sender<Value>>>) {
    let mut bytes = Vec::new();
    while pipe.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
        bytes.pop();
        // A message that is not valid JSON is skipped. A call that waits for it fails after its
        // time limit.
        if let Ok(message) = serde_json::from_slice::<Value>(&bytes) {
            let session = message["sessionId"].as_str().unwrap_or_default();
            let reader = lock(sessions).get(session).cloned();
            // Sending fails if the tab is being closed.
            let _ = reader.map(|reader| reader.send(message));
        }
        bytes.clear();
    }
    lock(sessions).clear();
}
