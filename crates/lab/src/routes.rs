//! HTTP interface of the lab: its routes and sessions.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_trace::{Reader, Trace};
use tenure_web::axum::Router;
use tenure_web::axum::extract::{Path, State};
use tenure_web::axum::http::HeaderName;
use tenure_web::axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use tenure_web::axum::response::{IntoResponse, Response};
use tenure_web::axum::routing::{get, post};
use tenure_web::{HttpError, Server};
use tokio::sync::Semaphore;

use crate::act::ActRequest;
use crate::deadline::Deadline;
use crate::engine::{Advance, LabRun, RunSource};
use crate::page;
use crate::session::{LabSession, MAX_STEPS};
use crate::words;

/// Maximum number of sessions. If there are more, the lab drops the oldest.
const MAX_SESSIONS: usize = 32;

/// Maximum number of requests that the lab computes at the same time. Further requests wait.
const MAX_CONCURRENT_REQUESTS: usize = 2;

/// Time limit of one request. If it passes, the response shows the last moment that the run
/// reached.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Content security policy of an exported page. Its own scripts may run, but cannot access this
/// server.
const SANDBOX_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; \
                     style-src 'unsafe-inline'; \
                     img-src data:; sandbox allow-scripts allow-downloads";

/// The lab's sessions, and the source of new runs.
pub struct Lab {
    source: Box<dyn RunSource>,
    sessions: Mutex<SessionTable>,
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct SessionTable {
    last: u64,
    /// Number of the session that was created before the server started, if any.
    first: Option<u64>,
    all: BTreeMap<u64, Arc<Mutex<LabSession>>>,
}

type Shared = State<Arc<Lab>>;

impl Lab {
    /// Creates a lab without sessions.
    pub fn new(source: impl RunSource) -> Self {
        let places = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
        Lab { source: Box::new(source), sessions: Mutex::default(), places }
    }

    /// Creates a session for a run and returns its number. Clients that name no session see the
    /// first one.
    ///
    /// # Errors
    ///
    /// Returns the reason if the lab cannot show the run.
    pub fn open(&self, run: LabRun, deadline: &Deadline) -> Result<u64, String> {
        let number = self.create_session(run, deadline)?;
        locked(&self.sessions).first.get_or_insert(number);
        Ok(number)
    }

    fn create_session(&self, run: LabRun, deadline: &Deadline) -> Result<u64, String> {
        let session = LabSession::new(run, deadline)?;
        let mut sessions = locked(&self.sessions);
        sessions.last += 1;
        let number = sessions.last;
        sessions.all.insert(number, Arc::new(Mutex::new(session)));
        if sessions.all.len() > MAX_SESSIONS {
            sessions.all.pop_first();
        }
        Ok(number)
    }

    /// Serves the page and its data until `stop` resolves.
    pub async fn serve(self, server: Server, stop: impl Future<Output = ()>) {
        let routes = Router::new()
            .route("/api/algorithms", get(algorithms))
            .route("/api/sessions", get(first).post(create))
            .route("/api/sessions/{id}", get(present))
            .route("/api/sessions/{id}/step", post(step))
            .route("/api/sessions/{id}/act", post(act))
            .route("/api/sessions/{id}/go", post(go))
            .route("/api/sessions/{id}/trace.ndjson", get(trace))
            .route("/api/sessions/{id}/page.html", get(whole_page))
            .route("/api/sessions/{id}/diagram.svg", get(diagram))
            .with_state(Arc::new(self));
        server.serve(&page::assets(), routes, stop).await;
    }

    fn session(&self, id: &str) -> Result<(u64, Arc<Mutex<LabSession>>), HttpError> {
        let number = id.parse::<u64>().ok();
        let sessions = locked(&self.sessions);
        let found = number.and_then(|number| Some((number, sessions.all.get(&number)?.clone())));
        found.ok_or_else(|| HttpError::not_found(format!("session {id} does not exist")))
    }
}

/// Locks a mutex, even if it is poisoned. A session changes only after a successful computation, so
/// a panic leaves its previous state.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs blocking work on another thread. If the client disconnects, this future is dropped, and the
/// work is cancelled.
async fn run_blocking<T: Send + 'static>(
    lab: &Lab,
    work: impl FnOnce(&Deadline) -> Result<T, HttpError> + Send + 'static,
) -> Result<T, HttpError> {
    // The semaphore is never closed; if it were, requests would simply not wait.
    let place = lab.places.clone().acquire_owned().await;
    let deadline = Deadline::within(REQUEST_TIMEOUT);
    let _cancel = deadline.cancel_on_drop();
    let done = tokio::task::spawn_blocking(move || {
        let _place = place;
        work(&deadline)
    });
    let done = done.await;
    done.unwrap_or_else(|_| {
        Err(HttpError::bad_request("internal error of the lab; please report it"))
    })
}

/// Performs work on a session and responds with the view of its current moment.
async fn with_session(
    lab: Arc<Lab>,
    id: String,
    work: impl FnOnce(&mut LabSession, &Deadline) -> Result<(), HttpError> + Send + 'static,
) -> Result<Response, HttpError> {
    run_blocking(&lab.clone(), move |deadline| {
        let (number, session) = lab.session(&id)?;
        let mut session = locked(&session);
        work(&mut session, deadline)?;
        Ok(json(&session.view(number)))
    })
    .await
}

fn json(value: &Value) -> Response {
    typed("application/json", value.to_string())
}

fn typed(content_type: &'static str, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, content_type)], body).into_response()
}

fn parse_body<T: DeserializeOwned>(body: &str) -> Result<T, HttpError> {
    serde_json::from_str(body)
        .map_err(|error| HttpError::bad_request(format!("invalid request: {error}")))
}

async fn algorithms(State(lab): Shared) -> Response {
    json(&lab.source.algorithms())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    words: Option<String>,
    trace: Option<String>,
}

async fn create(State(lab): Shared, body: String) -> Result<Response, HttpError> {
    let request: Create = parse_body(&body)?;
    let opened = lab.clone();
    let number = run_blocking(&lab, move |deadline| {
        let run = match (request.words, request.trace) {
            (Some(words), None) => {
                words::split(&words).and_then(|words| opened.source.run_from_args(&words))
            }
            (None, Some(text)) => {
                read(&text).and_then(|trace| opened.source.run_from_trace(&trace))
            }
            _ => Err("expected either `words` or `trace`".to_owned()),
        };
        run.and_then(|run| opened.create_session(run, deadline)).map_err(HttpError::bad_request)
    })
    .await?;
    with_session(lab, number.to_string(), |_, _| Ok(())).await
}

fn read(text: &str) -> Result<Trace, String> {
    let reader = Reader::new(text.as_bytes(), "the trace").map_err(|error| error.to_string())?;
    let header = reader.header().clone();
    let records = reader.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(Trace { header, records, torn: None })
}

async fn first(State(lab): Shared) -> Response {
    let sessions = locked(&lab.sessions);
    let first = sessions.first.filter(|number| sessions.all.contains_key(number));
    json(&serde_json::json!({ "first": first.map(|number| number.to_string()) }))
}

async fn present(State(lab): Shared, Path(id): Path<String>) -> Result<Response, HttpError> {
    with_session(lab, id, |_, _| Ok(())).await
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

async fn step(
    State(lab): Shared,
    Path(id): Path<String>,
    body: String,
) -> Result<Response, HttpError> {
    let advance = match parse_body(&body)? {
        Steps { steps: Some(steps), until: None } if (1..=MAX_STEPS).contains(&steps) => {
            Advance::Steps(steps)
        }
        Steps { steps: None, until: Some(Until::Event) } => Advance::UntilEvent(MAX_STEPS),
        Steps { steps: None, until: Some(Until::End) } => Advance::Steps(MAX_STEPS),
        _ => {
            let description =
                format!("expected `steps` from 1 to {MAX_STEPS}, or `until` with event or end");
            return Err(HttpError::bad_request(description));
        }
    };
    with_session(lab, id, move |session, deadline| {
        session.step(&advance, deadline).map_err(HttpError::bad_request)
    })
    .await
}

async fn act(
    State(lab): Shared,
    Path(id): Path<String>,
    body: String,
) -> Result<Response, HttpError> {
    let act: ActRequest = parse_body(&body)?;
    with_session(lab, id, move |session, deadline| {
        session.act(&act, deadline).map_err(HttpError::bad_request)
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoRequest {
    moment: usize,
}

async fn go(
    State(lab): Shared,
    Path(id): Path<String>,
    body: String,
) -> Result<Response, HttpError> {
    let GoRequest { moment } = parse_body(&body)?;
    let missing = move || HttpError::not_found(format!("there is no moment {moment}"));
    with_session(lab, id, move |session, deadline| {
        let is_there = session.go(moment, deadline).map_err(HttpError::bad_request)?;
        if is_there { Ok(()) } else { Err(missing()) }
    })
    .await
}

/// Responds with a file that `make` creates from a session.
async fn file(
    lab: Arc<Lab>,
    id: String,
    content_type: &'static str,
    make: impl FnOnce(&LabSession) -> Result<Vec<u8>, String> + Send + 'static,
) -> Result<Response, HttpError> {
    run_blocking(&lab.clone(), move |_| {
        let (_, session) = lab.session(&id)?;
        let made = make(&locked(&session)).map_err(HttpError::bad_request)?;
        Ok(typed(content_type, made))
    })
    .await
}

async fn trace(State(lab): Shared, Path(id): Path<String>) -> Result<Response, HttpError> {
    file(lab, id, "application/x-ndjson", LabSession::trace).await
}

async fn diagram(State(lab): Shared, Path(id): Path<String>) -> Result<Response, HttpError> {
    file(lab, id, "image/svg+xml", |session| Ok(session.svg(None).into_bytes())).await
}

async fn whole_page(State(lab): Shared, Path(id): Path<String>) -> Result<Response, HttpError> {
    let mut page = file(lab, id, "text/html; charset=utf-8", LabSession::page).await?;
    let alone: (HeaderName, _) = (CONTENT_SECURITY_POLICY, SANDBOX_POLICY.parse());
    if let (name, Ok(policy)) = alone {
        page.headers_mut().insert(name, policy);
    }
    Ok(page)
}
