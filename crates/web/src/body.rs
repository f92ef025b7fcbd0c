//! Limits on request bodies: their size, the time within which they must arrive, and the number of
//! bodies that the process receives at the same time.

use std::time::Duration;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::http_error::HttpError;

const MAX_BODY_BYTES: usize = 16 << 20;

/// Default time within which a body must arrive. The time includes the wait for one of the
/// [`BODY_SLOTS`].
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum number of bodies that are received at the same time, by all servers of the process.
static BODY_SLOTS: Semaphore = Semaphore::const_new(8);

/// Middleware that receives the whole body before it forwards the request. Responds with an error
/// if the body is incomplete, too large or late.
pub(crate) async fn buffer_body(
    State(body_timeout): State<Duration>,
    request: Request,
    next: Next,
) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let received = timeout(body_timeout, async {
        // The semaphore is never closed, so the result is not an error.
        let _slot = BODY_SLOTS.acquire().await;
        to_bytes(body, MAX_BODY_BYTES).await
    });
    let error = match received.await {
        Ok(Ok(bytes)) => return next.run(Request::from_parts(head, Body::from(bytes))).await,
        Ok(Err(_)) => HttpError {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            message: format!("request body is incomplete or exceeds {MAX_BODY_BYTES} bytes"),
        },
        Err(_) => HttpError {
            status: StatusCode::REQUEST_TIMEOUT,
            message: format!("request body did not arrive within {} ms", body_timeout.as_millis()),
        },
    };
    error.into_response()
}
