use std::fmt;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// Why a request is not served: a status, and `{"error": "…"}` for whoever asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the answer.
    pub status: StatusCode,
    /// What was wrong, in one sentence.
    pub says: String,
}

impl Refusal {
    /// The request itself is wrong, and nothing was changed.
    pub fn bad(says: impl fmt::Display) -> Self {
        Refusal { status: StatusCode::BAD_REQUEST, says: says.to_string() }
    }

    /// There is no such thing.
    pub fn missing(says: impl fmt::Display) -> Self {
        Refusal { status: StatusCode::NOT_FOUND, says: says.to_string() }
    }

    /// Whoever asks may not.
    pub(crate) fn forbidden(says: impl fmt::Display) -> Self {
        Refusal { status: StatusCode::FORBIDDEN, says: says.to_string() }
    }

    /// Whoever asks has not said the token.
    pub(crate) fn unauthorized() -> Self {
        let says = "this server listens beyond its machine and wants the token of its address";
        Refusal { status: StatusCode::UNAUTHORIZED, says: says.to_owned() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.says }).to_string();
        (self.status, [(CONTENT_TYPE, "application/json")], body).into_response()
    }
}
