//! Requests and responses of the page, in JSON.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::embedded;
use tenure::lab::{Deadline, Lab, LabError, LabMethod, LabResponse};

use crate::commands;

/// Time limit of a request to the lab. If it passes before the first new step of the run, the
/// response is an error. If it passes later, the response shows the last state that the run has
/// reached.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Request of a web page, in JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackendRequest {
    #[serde(default)]
    method: RequestMethod,
    /// Path of the request in the interface of `tenure lab`, without the prefix `/api/`.
    path: String,
    #[serde(default)]
    body: Value,
}

/// Method of a request. The JSON of the request contains the name of the method in HTTP, such as
/// `POST`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum RequestMethod {
    #[default]
    Get,
    Post,
}

/// Response to a [`BackendRequest`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackendResponse {
    /// HTTP status code.
    pub status: u16,
    /// Content type of `body` or `text`.
    #[serde(rename = "type")]
    pub content_type: &'static str,
    /// Data of the response, or the error. `None` if the response is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Content of the file. `None` if the response is not a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Function that returns the time since any fixed moment. The time never decreases.
pub type MonotonicClock = fn() -> Duration;

/// Interface of a web page to the simulator, the checker, the lab and the lessons of `tenure`.
pub struct PageBackend {
    lab: Lab,
    clock: MonotonicClock,
}

impl PageBackend {
    /// Creates a page whose lab has no sessions. `clock` measures the time limit of each request to
    /// the lab.
    ///
    /// After this call, all commands in this process read and write their files in memory.
    pub fn with_files_in_memory(clock: MonotonicClock) -> Self {
        tenure::trace::files::keep_files_in_memory();
        PageBackend { lab: embedded::create_lab(), clock }
    }

    /// Handles a request in JSON, as [`PageBackend::handle`] does, and returns the response in
    /// JSON. If the text is not a valid request, the response has status 400.
    pub fn handle_json(&self, request: &str) -> String {
        let response = match serde_json::from_str(request) {
            Ok(request) => self.handle(&request),
            Err(error) => BackendResponse::error(400, format!("invalid request: {error}")),
        };
        serde_json::to_string(&response).expect("a response has text keys only")
    }

    /// Handles a request. If the response is an error, the request has not changed a session of the
    /// lab.
    pub fn handle(&self, request: &BackendRequest) -> BackendResponse {
        let BackendRequest { method, path, body } = request;
        if path == "commands" {
            return match method {
                RequestMethod::Post => commands::run_command(body),
                RequestMethod::Get => {
                    BackendResponse::error(405, "commands are sent by POST".to_owned())
                }
            };
        }
        let method = match method {
            RequestMethod::Get => LabMethod::Get,
            RequestMethod::Post => LabMethod::Post,
        };
        let (clock, started) = (self.clock, (self.clock)());
        let elapsed = move || clock().saturating_sub(started);
        let deadline = Deadline::with_clock(elapsed, REQUEST_TIMEOUT);
        match self.lab.handle(method, path, body, &deadline) {
            Ok(response) => BackendResponse::of_lab(response),
            Err(LabError { status, message }) => BackendResponse::error(status, message),
        }
    }
}

impl BackendResponse {
    pub(crate) fn data(body: Value) -> Self {
        BackendResponse {
            status: 200,
            content_type: "application/json",
            body: Some(body),
            text: None,
        }
    }

    pub(crate) fn error(status: u16, message: String) -> Self {
        BackendResponse { status, ..BackendResponse::data(serde_json::json!({ "error": message })) }
    }

    fn of_lab(response: LabResponse) -> Self {
        let is_json = response.is_json();
        let LabResponse { content_type, body } = response;
        let text = String::from_utf8_lossy(&body).into_owned();
        if !is_json {
            return BackendResponse { status: 200, content_type, body: None, text: Some(text) };
        }
        match serde_json::from_str(&text) {
            Ok(body) => BackendResponse::data(body),
            Err(error) => BackendResponse::error(500, format!("invalid response: {error}")),
        }
    }
}
