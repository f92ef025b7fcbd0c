//! Headless browser for tests. The tests control the browser by the DevTools protocol over two
//! pipes.

mod process;
#[path = "../../../tests/support/skipped.rs"]
mod skipped;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::BrowserProcess;
use crate::skipped::report_skip;

/// Time limit for a response of the browser, and for a condition to become true. If the limit
/// passes, the test fails.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(300);

/// Keys for which the browser has a default action, such as moving the focus: their names and their
/// Windows key codes.
const KEY_CODES: [(&str, u32); 4] = [("Tab", 9), ("Enter", 13), ("Escape", 27), (" ", 32)];

/// Page in a browser. All open tabs of a program share one browser process, but no cookies, stored
/// data or settings. Dropping a tab closes its page. Dropping the last tab also closes the browser.
pub struct Tab {
    browser: Arc<BrowserProcess>,
    responses: Receiver<Value>,
    session: String,
    context: String,
    /// Exceptions in the page, entries of the browser's log, and messages of the console except
    /// those of `console.log`. A test should fail if there are any.
    pub complaints: Vec<String>,
}

impl Tab {
    /// Opens an empty page. Returns `None` with a message on standard error if no browser is
    /// installed.
    ///
    /// # Panics
    ///
    /// If no browser is installed, and `TENURE_REQUIRED` contains `chromium`.
    pub fn open() -> Option<Tab> {
        let Some(browser) = BrowserProcess::get_or_start() else {
            report_skip("chromium");
            return None;
        };
        let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let context = browser.call("Target.createBrowserContext", &json!({}));
        let context = name(&context["browserContextId"]);
        let page = json!({"url": "about:blank", "browserContextId": context});
        let target = browser.call("Target.createTarget", &page);
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = name(&browser.call("Target.attachToTarget", &attach)["sessionId"]);
        let responses = browser.subscribe_to_messages(&session);
        let mut tab = Tab { browser, responses, session, context, complaints: Vec::new() };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            tab.send_command(domain, json!({}));
        }
        // Makes the page behave as if its window had the focus. Several tabs are open at once, but
        // only one window can have the real focus.
        tab.send_command("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        Some(tab)
    }

    /// Sends a command of the DevTools protocol to the browser and returns the result.
    ///
    /// # Panics
    ///
    /// If the browser returns an error or does not respond in time.
    pub fn send_command(&mut self, method: &str, params: Value) -> Value {
        let Tab { browser, responses, session, complaints, .. } = self;
        browser.call_session(Some(session), responses, method, &params, |event| {
            complaints.extend(complaint(event));
        })
    }

    /// Evaluates a JavaScript expression in the page, and returns its value. If the value is a
    /// promise, waits for its result.
    ///
    /// # Panics
    ///
    /// If the expression throws an exception, or if the browser does not respond in time.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let request =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let response = self.send_command("Runtime.evaluate", request);
        assert_eq!(response.get("exceptionDetails"), None, "{expression}");
        response["result"]["value"].clone()
    }

    /// Loads a file, and waits until the JavaScript expression `ready_expression` is true. Panics
    /// like [`Tab::wait_until`].
    pub fn load(&mut self, file: &Path, ready_expression: &str) {
        self.visit(&format!("file://{}", file.display()), ready_expression);
    }

    /// Opens a URL, and waits until the JavaScript expression `ready_expression` is true. Panics
    /// like [`Tab::wait_until`].
    pub fn visit(&mut self, url: &str, ready_expression: &str) {
        self.send_command("Page.navigate", json!({ "url": url }));
        self.wait_until(&format!("document.readyState === 'complete' && ({ready_expression})"));
    }

    /// Waits until a JavaScript expression is true.
    ///
    /// # Panics
    ///
    /// If the expression does not become true in time, or if [`complaints`](Tab::complaints) is not
    /// empty while the expression is false.
    pub fn wait_until(&mut self, expression: &str) {
        let started = Instant::now();
        while started.elapsed() < RESPONSE_TIMEOUT {
            if self.evaluate(&format!("Boolean({expression})")) == json!(true) {
                return;
            }
            assert_eq!(self.complaints, [""; 0], "while waiting for {expression}");
            thread::sleep(Duration::from_millis(50));
        }
        panic!("timed out waiting for {expression}");
    }

    /// Returns the text of the first element that matches a CSS selector.
    ///
    /// # Panics
    ///
    /// If no element matches.
    pub fn text(&mut self, selector: &str) -> String {
        let found = self.evaluate(&format!("document.querySelector({selector:?}).innerText"));
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Presses and releases the left mouse button at a point of the window, in pixels.
    pub fn click_at(&mut self, x: f64, y: f64) {
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
        self.send_command("Input.dispatchMouseEvent", event);
    }

    /// Scrolls the first element that matches a CSS selector into view, and clicks on its center.
    ///
    /// # Panics
    ///
    /// If no element matches.
    pub fn click(&mut self, selector: &str) {
        let (x, y) = self.center(selector);
        self.click_at(x, y);
    }

    /// Clicks like [`Tab::click`], and evaluates a JavaScript expression after the press and before
    /// the release of the button.
    pub fn evaluate_during_click(&mut self, selector: &str, expression: &str) {
        let (x, y) = self.center(selector);
        self.mouse("mousePressed", x, y);
        self.evaluate(expression);
        self.mouse("mouseReleased", x, y);
    }

    /// Scrolls the first element that matches a CSS selector into view, and returns the center of
    /// the element in pixels.
    ///
    /// A page redraws on the scroll event, up to a frame later. Therefore this function measures
    /// the position again every two frames, until the center stays the same.
    fn center(&mut self, selector: &str) -> (f64, f64) {
        let place = self.evaluate(&format!(
            "(async () => {{ let was; for (;;) {{ \
             const found = document.querySelector({selector:?}); \
             found.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const box = found.getBoundingClientRect(); \
             const now = [box.x + box.width / 2, box.y + box.height / 2]; \
             if (String(now) === was) return now; \
             was = String(now); \
             await new Promise((done) => \
             requestAnimationFrame(() => requestAnimationFrame(done))); }} }})()"
        ));
        (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
    }

    /// Presses and releases a key, such as `Tab` or `a`. The focused element of the page receives
    /// the key.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key});
            if let Some((_, code)) = KEY_CODES.iter().find(|(name, _)| *name == key) {
                event["windowsVirtualKeyCode"] = json!(code);
            }
            if kind == "keyDown" {
                match key {
                    "Enter" => event["text"] = json!("\r"),
                    key if key.chars().count() == 1 => event["text"] = json!(key),
                    _ => {}
                }
            }
            self.send_command("Input.dispatchKeyEvent", event);
        }
    }

    /// Sets the size of the window in pixels, and the color scheme (`light` or `dark`). Below a
    /// width of 600 pixels, the page is shown as on a mobile device. Also asks the page not to
    /// animate its elements, so that a click hits the intended element.
    pub fn emulate_display(&mut self, width: u32, height: u32, color_scheme: &str) {
        let mobile = width < 600;
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        self.send_command("Emulation.setDeviceMetricsOverride", size);
        let colors = json!({"name": "prefers-color-scheme", "value": color_scheme});
        let still = json!({"name": "prefers-reduced-motion", "value": "reduce"});
        self.send_command("Emulation.setEmulatedMedia", json!({"features": [colors, still]}));
    }
}

/// Returns the details of the exception, log entry or console message that an event reports, as
/// text. Returns `None` for any other event, and for messages of `console.log`.
fn complaint(event: &Value) -> Option<String> {
    let complains = match event["method"].as_str() {
        Some("Runtime.exceptionThrown" | "Log.entryAdded") => true,
        Some("Runtime.consoleAPICalled") => event["params"]["type"] != "log",
        _ => false,
    };
    complains.then(|| event["params"].to_string())
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.browser.close(&self.session, &self.context);
    }
}
