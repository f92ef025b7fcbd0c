//! HTTP transport of the lab: forwards requests to [`Lab::handle`].

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tenure_web::axum::Router;
use tenure_web::axum::extract::{Path, State};
use tenure_web::axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use tenure_web::axum::http::{HeaderValue, StatusCode};
use tenure_web::axum::response::{IntoResponse, Response};
use tenure_web::axum::routing::get;
use tenure_web::{HttpError, Server};
use tokio::sync::Semaphore;

use crate::deadline::Deadline;
use crate::handle::{Lab, LabError, LabMethod, LabResponse};
use crate::page;

/// Maximum number of requests that the lab computes at the same time. Further requests wait.
const MAX_CONCURRENT_REQUESTS: usize = 2;

/// Time limit of one request. If it passes before the first new step of the run, the response is an
/// error. If it passes later, the response shows the last state that the run has reached. The lab
/// checks the limit before each step, but does not interrupt a step.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Content security policy of the HTML pages that the lab exports. The scripts of an exported page
/// may run, but cannot access this server.
const SANDBOX_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; \
                     style-src 'unsafe-inline'; \
                     img-src data:; sandbox allow-scripts allow-downloads";

/// A lab that is served over HTTP. The semaphore limits the number of requests that the lab
/// computes at the same time.
struct ServedLab {
    lab: Lab,
    places: Arc<Semaphore>,
}

type Shared = State<Arc<ServedLab>>;

impl Lab {
    /// Serves the page and its data until `stop` resolves. `server` determines the address and the
    /// rules for requests.
    pub async fn serve(self, server: Server, stop: impl Future<Output = ()>) {
        let places = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
        let served = Arc::new(ServedLab { lab: self, places });
        let routes = Router::new().route("/api/{*path}", get(read).post(change)).with_state(served);
        server.serve(&page::assets(), routes, stop).await;
    }
}

async fn read(State(served): Shared, Path(path): Path<String>) -> Result<Response, HttpError> {
    handle(served, LabMethod::Get, path, Value::Null).await
}

async fn change(
    State(served): Shared,
    Path(path): Path<String>,
    body: String,
) -> Result<Response, HttpError> {
    let body = serde_json::from_str(&body)
        .map_err(|error| HttpError::bad_request(format!("invalid request: {error}")))?;
    handle(served, LabMethod::Post, path, body).await
}

/// Handles a request on another thread. If the client disconnects, this future is dropped, which
/// makes the computation stop before its next step.
async fn handle(
    served: Arc<ServedLab>,
    method: LabMethod,
    path: String,
    body: Value,
) -> Result<Response, HttpError> {
    // The semaphore is never closed, so the result is not an error.
    let place = served.places.clone().acquire_owned().await;
    let deadline = Deadline::within(REQUEST_TIMEOUT);
    let _cancel = deadline.cancel_on_drop();
    let done = tokio::task::spawn_blocking(move || {
        let _place = place;
        served.lab.handle(method, &path, &body, &deadline)
    });
    match done.await {
        Ok(response) => response.map(into_response).map_err(into_http_error),
        Err(_) => Err(HttpError::bad_request("internal error of the lab; please report it")),
    }
}

fn into_response(response: LabResponse) -> Response {
    let LabResponse { content_type, body } = response;
    let mut response = ([(CONTENT_TYPE, content_type)], body).into_response();
    if content_type.starts_with("text/html") {
        let policy = HeaderValue::from_static(SANDBOX_POLICY);
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn into_http_error(error: LabError) -> HttpError {
    let LabError { status, message } = error;
    HttpError { status: StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), message }
}
