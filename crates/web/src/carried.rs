//! What requests carry: how much, how long it may take, and how many at a time.

use std::time::Duration;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::refusal::Refusal;

/// What a request may carry, in bytes.
const MOST: usize = 16 << 20;

/// How long that may take, with the wait for a place, where nobody says how long.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);

/// For how many requests in this program something is received at a time.
static PLACES: Semaphore = Semaphore::const_new(8);

/// Receives all that a request carries before anybody sees the request.
pub(crate) async fn carry(
    State(longest): State<Duration>,
    request: Request,
    next: Next,
) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let received = timeout(longest, async {
        // Nobody closes the places; if they were, nobody would have to wait.
        let _place = PLACES.acquire().await;
        to_bytes(body, MOST).await
    });
    let refusal = match received.await {
        Ok(Ok(bytes)) => return next.run(Request::from_parts(head, Body::from(bytes))).await,
        Ok(Err(_)) => Refusal {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            says: format!("a request carries at most {MOST} bytes, and all of them"),
        },
        Err(_) => Refusal {
            status: StatusCode::REQUEST_TIMEOUT,
            says: format!("what a request carries comes within {} ms", longest.as_millis()),
        },
    };
    refusal.into_response()
}
