//! What is served for operators beside the page: `/health`, `/metrics` and `/status`.

use serde::Serialize;
use tenure_web::axum::Router;
use tenure_web::axum::http::StatusCode;
use tenure_web::axum::http::header::CONTENT_TYPE;
use tenure_web::axum::response::{IntoResponse, Response};
use tenure_web::axum::routing::get;
use tokio::sync::{mpsc, oneshot};

use crate::status::{NodeStatus, metrics};

/// Who asks how the node is; nothing is the answer as long as it does not run yet.
pub(super) type Question = oneshot::Sender<Option<NodeStatus>>;

/// What Prometheus calls its text format.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes; whoever holds the other end of `ask` answers.
pub(super) fn routes(ask: &mpsc::Sender<Question>) -> Router {
    let by = |ask: &mpsc::Sender<Question>, show: fn(&NodeStatus) -> Response| {
        let ask = ask.clone();
        get(async move || answer(&ask, show).await)
    };
    Router::new()
        .route("/health", by(ask, health))
        .route("/metrics", by(ask, exposition))
        .route("/status", by(ask, |status| json(StatusCode::OK, status)))
}

async fn answer(ask: &mpsc::Sender<Question>, show: fn(&NodeStatus) -> Response) -> Response {
    let (sender, told) = oneshot::channel();
    // Nobody answers any more when the node has ended.
    let asked = ask.send(sender).await.is_ok();
    match told.await {
        Ok(Some(status)) if asked => show(&status),
        _ => {
            let says = serde_json::json!({ "healthy": false, "says": "the node does not run" });
            json(StatusCode::SERVICE_UNAVAILABLE, &says)
        }
    }
}

fn health(status: &NodeStatus) -> Response {
    match status.ailment() {
        None => json(StatusCode::OK, &serde_json::json!({ "healthy": true })),
        Some(says) => {
            let says = serde_json::json!({ "healthy": false, "says": says });
            json(StatusCode::SERVICE_UNAVAILABLE, &says)
        }
    }
}

fn exposition(status: &NodeStatus) -> Response {
    ([(CONTENT_TYPE, EXPOSITION)], metrics(status)).into_response()
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).expect("what a node tells can be written as JSON");
    (status, [(CONTENT_TYPE, "application/json")], text + "\n").into_response()
}
