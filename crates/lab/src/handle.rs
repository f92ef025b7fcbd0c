//! Requests of the page and responses to them, independent of their transport.
//!
//! The lab's server receives requests over HTTP and calls [`Lab::handle`]. A page without a server
//! calls the same function in WebAssembly.

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tenure_trace::Trace;

use crate::act::ActionRequest;
use crate::deadline::Deadline;
use crate::engine::{RunContinuation, RunSource, RunSpec};
use crate::session::{LabSession, MAX_STEPS_PER_REQUEST};
use crate::sessions::{SessionTable, lock};
use crate::words;

const JSON: &str = "application/json";

/// Operation that a request asks for: reading data, or changing a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabMethod {
    /// Reads data, and changes nothing.
    Get,
    /// Creates or changes a session.
    Post,
}

/// Response to a request of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabResponse {
    /// Media type of the body, such as `application/json`.
    pub content_type: &'static str,
    /// Bytes of the response: JSON, or the content of a file.
    pub body: Vec<u8>,
}

/// Error response. The request has changed no session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabError {
    /// Status as in HTTP: 400 for a request that is invalid, impossible now or not completed in
    /// time, 404 for an unknown path, session or moment.
    pub status: u16,
    /// Description of the problem.
    pub message: String,
}

impl LabError {
    /// Creates an error for an invalid request, with status 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        LabError { status: 400, message: message.into() }
    }

    /// Creates an error for a path, session or moment that does not exist, with status 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        LabError { status: 404, message: message.into() }
    }
}

impl LabResponse {
    /// Creates a response whose body is this JSON.
    pub fn json(value: &Value) -> Self {
        LabResponse { content_type: JSON, body: value.to_string().into_bytes() }
    }

    /// Returns true if the body is JSON, and false if it is the content of a file.
    pub fn is_json(&self) -> bool {
        self.content_type == JSON
    }
}

/// Sessions of the lab, and the [`RunSource`] that creates their runs.
pub struct Lab {
    source: Box<dyn RunSource>,
    sessions: Mutex<SessionTable>,
}

impl Lab {
    /// Creates a lab without sessions.
    pub fn new(source: impl RunSource) -> Self {
        Lab { source: Box::new(source), sessions: Mutex::default() }
    }

    /// Creates a session for a run and returns its number. The page opens the first session that
    /// this function has created, unless its URL names another one.
    ///
    /// # Errors
    ///
    /// A description of the problem if the lab cannot show the run. No session was created.
    pub fn open_session(&self, run: RunSpec, deadline: &Deadline) -> Result<u64, String> {
        let session = LabSession::new(run, deadline)?;
        let mut sessions = lock(&self.sessions);
        let number = sessions.add(session);
        sessions.first.get_or_insert(number);
        Ok(number)
    }

    /// Handles a request. `path` is the path of the request without the prefix of the interface,
    /// such as `sessions/1/step`. `body` is `null` if the request has none.
    ///
    /// # Errors
    ///
    /// [`LabError`] if the request is invalid or impossible now, or if the deadline passes before
    /// the first new step of the run. The session is then unchanged.
    pub fn handle(
        &self,
        method: LabMethod,
        path: &str,
        body: &Value,
        deadline: &Deadline,
    ) -> Result<LabResponse, LabError> {
        let parts: Vec<&str> = path.split('/').collect();
        match (method, &parts[..]) {
            (LabMethod::Get, ["algorithms"]) => Ok(LabResponse::json(&self.source.algorithms())),
            (LabMethod::Get, ["sessions"]) => Ok(self.first()),
            (LabMethod::Post, ["sessions"]) => self.create(body, deadline),
            (LabMethod::Get, ["sessions", id]) => self.with_session(id, |_| Ok(())),
            (LabMethod::Get, ["sessions", id, file]) => self.file(id, file),
            (LabMethod::Post, ["sessions", id, operation]) => {
                self.with_session(id, |session| change(session, operation, body, deadline))
            }
            _ => Err(unknown_path(path)),
        }
    }

    fn first(&self) -> LabResponse {
        let first = lock(&self.sessions).first_session();
        LabResponse::json(&json!({ "first": first.map(|number| number.to_string()) }))
    }

    fn create(&self, body: &Value, deadline: &Deadline) -> Result<LabResponse, LabError> {
        let request: Create = parse_body(body)?;
        let run = match (request.words, request.trace) {
            (Some(words), None) => {
                words::split(&words).and_then(|words| self.source.spec_from_args(&words))
            }
            (None, Some(text)) => Trace::parse(text.as_bytes(), "the trace")
                .map_err(|error| error.to_string())
                .and_then(|trace| self.source.spec_from_trace(&trace)),
            _ => Err("expected either `words` or `trace`".to_owned()),
        };
        let session = run.and_then(|run| {
            // The source does not check the deadline, although it may take long to create a run.
            deadline.ensure_may_continue()?;
            LabSession::new(run, deadline)
        });
        let session = session.map_err(LabError::bad_request)?;
        let number = lock(&self.sessions).add(session);
        self.with_session(&number.to_string(), |_| Ok(()))
    }

    fn session(&self, id: &str) -> Result<(u64, Arc<Mutex<LabSession>>), LabError> {
        let found = id.parse().ok().and_then(|number| {
            let session = lock(&self.sessions).find(number)?;
            Some((number, session))
        });
        found.ok_or_else(|| LabError::not_found(format!("session {id} does not exist")))
    }

    /// Performs `work` on the session with the number `id`, and responds with the view of the
    /// current moment of this session.
    fn with_session(
        &self,
        id: &str,
        work: impl FnOnce(&mut LabSession) -> Result<(), LabError>,
    ) -> Result<LabResponse, LabError> {
        let (number, session) = self.session(id)?;
        let mut session = lock(&session);
        work(&mut session)?;
        Ok(LabResponse::json(&session.view_json(number)))
    }

    /// Responds with the file `name`, which shows the run of the session `id` up to the current
    /// moment.
    fn file(&self, id: &str, name: &str) -> Result<LabResponse, LabError> {
        let (_, session) = self.session(id)?;
        let session = lock(&session);
        let (content_type, made) = match name {
            "trace.ndjson" => ("application/x-ndjson", session.trace_bytes()),
            "page.html" => ("text/html; charset=utf-8", session.diagram_html()),
            "diagram.svg" => ("image/svg+xml", Ok(session.diagram_svg(None).into_bytes())),
            _ => return Err(unknown_path(name)),
        };
        let body = made.map_err(LabError::bad_request)?;
        Ok(LabResponse { content_type, body })
    }
}

fn unknown_path(path: &str) -> LabError {
    LabError::not_found(format!("unknown request: {path}"))
}

fn change(
    session: &mut LabSession,
    operation: &str,
    body: &Value,
    deadline: &Deadline,
) -> Result<(), LabError> {
    match operation {
        "step" => session.advance(&advance(body)?, deadline).map_err(LabError::bad_request),
        "act" => {
            let act: ActionRequest = parse_body(body)?;
            session.act(&act, deadline).map_err(LabError::bad_request)
        }
        "go" => {
            let GoRequest { moment } = parse_body(body)?;
            match session.select_moment(moment, deadline).map_err(LabError::bad_request)? {
                true => Ok(()),
                false => Err(LabError::not_found(format!("there is no moment {moment}"))),
            }
        }
        _ => Err(unknown_path(operation)),
    }
}

fn parse_body<T: DeserializeOwned>(body: &Value) -> Result<T, LabError> {
    T::deserialize(body).map_err(|error| LabError::bad_request(format!("invalid request: {error}")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    words: Option<String>,
    trace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    steps: Option<u64>,
    until: Option<Until>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Until {
    Event,
    End,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoRequest {
    moment: usize,
}

fn advance(body: &Value) -> Result<RunContinuation, LabError> {
    match parse_body(body)? {
        Steps { steps: Some(steps), until: None }
            if (1..=MAX_STEPS_PER_REQUEST).contains(&steps) =>
        {
            Ok(RunContinuation::Steps(steps))
        }
        Steps { steps: None, until: Some(Until::Event) } => {
            Ok(RunContinuation::UntilEvent(MAX_STEPS_PER_REQUEST))
        }
        Steps { steps: None, until: Some(Until::End) } => {
            Ok(RunContinuation::Steps(MAX_STEPS_PER_REQUEST))
        }
        _ => Err(LabError::bad_request(format!(
            "expected `steps` from 1 to {MAX_STEPS_PER_REQUEST}, or `until` with event or end"
        ))),
    }
}
