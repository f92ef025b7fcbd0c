//! Activity of connections. If a server has too many connections, their activity determines which
//! connection it closes.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Activity of one connection. Each request updates the activity, and the accept loop reads it.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<Mutex<ActivityState>>);

#[derive(Debug)]
struct ActivityState {
    /// Number of permitted requests whose response is not complete. A request for data is permitted
    /// if it contains the token, or if the server requires no token. Requests for static files are
    /// never counted.
    permitted: u32,
    /// Latest time at which a request began or a permitted request ended. Before the first request,
    /// this is the time at which the connection began.
    last_request: Instant,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Activity(Arc::new(Mutex::new(ActivityState { permitted: 0, last_request: Instant::now() })))
    }

    fn lock(&self) -> MutexGuard<'_, ActivityState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a request begins, permitted or not.
    pub(crate) fn record_request(&self) {
        self.lock().last_request = Instant::now();
    }

    /// Marks the start of a permitted request. The request is in progress until the returned value
    /// is dropped.
    pub(crate) fn start_permitted(&self) -> PermittedRequest {
        self.lock().permitted += 1;
        PermittedRequest(self.clone())
    }

    /// Returns the latest time at which a request began or a permitted request ended. Returns
    /// `None` if a permitted request is in progress.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let state = self.lock();
        (state.permitted == 0).then_some(state.last_request)
    }
}

/// A permitted request in progress. The request ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct PermittedRequest(Activity);

impl PermittedRequest {
    /// Keeps the request in progress until the body of its response has been sent or dropped.
    pub(crate) fn extend_to_body(self, response: Response) -> Response {
        response.map(|body| Body::new(TrackedBody { body, _request: self }))
    }
}

impl Drop for PermittedRequest {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.permitted -= 1;
        state.last_request = Instant::now();
    }
}

/// Body of the response to a permitted request. The request ends when the body is dropped.
struct TrackedBody {
    body: Body,
    _request: PermittedRequest,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
