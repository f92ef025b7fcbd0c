//! HTTP routes for operators: `/health`, `/metrics` and `/status`.

use serde::Serialize;
use tenure_web::axum::Router;
use tenure_web::axum::http::StatusCode;
use tenure_web::axum::http::header::CONTENT_TYPE;
use tenure_web::axum::response::{IntoResponse, Response};
use tenure_web::axum::routing::get;
use tokio::sync::{mpsc, oneshot};

use crate::status::{NodeStatus, metrics_text};

/// Request for the status of the node. The response is `None` while the node is starting.
pub(super) type StatusRequest = oneshot::Sender<Option<NodeStatus>>;

const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the routes for operators. Each route sends a request for the status to `requests`, and
/// waits for the response.
pub(super) fn routes(requests: &mpsc::Sender<StatusRequest>) -> Router {
    let route = |requests: &mpsc::Sender<StatusRequest>, show: fn(&NodeStatus) -> Response| {
        let requests = requests.clone();
        get(async move || respond(&requests, show).await)
    };
    Router::new()
        .route("/health", route(requests, health))
        .route("/metrics", route(requests, exposition))
        .route("/status", route(requests, |status| json(StatusCode::OK, status)))
}

async fn respond(
    requests: &mpsc::Sender<StatusRequest>,
    show: fn(&NodeStatus) -> Response,
) -> Response {
    let (sender, response) = oneshot::channel();
    // The page may have stopped.
    let was_sent = requests.send(sender).await.is_ok();
    match response.await {
        Ok(Some(status)) if was_sent => show(&status),
        _ => {
            let body = serde_json::json!({ "healthy": false, "reason": "the node is not running" });
            json(StatusCode::SERVICE_UNAVAILABLE, &body)
        }
    }
}

fn health(status: &NodeStatus) -> Response {
    match status.unavailable_reason() {
        None => json(StatusCode::OK, &serde_json::json!({ "healthy": true })),
        Some(reason) => {
            let body = serde_json::json!({ "healthy": false, "reason": reason });
            json(StatusCode::SERVICE_UNAVAILABLE, &body)
        }
    }
}

fn exposition(status: &NodeStatus) -> Response {
    ([(CONTENT_TYPE, PROMETHEUS_TEXT)], metrics_text(status)).into_response()
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).expect("a status has a text in JSON");
    (status, [(CONTENT_TYPE, "application/json")], text + "\n").into_response()
}
