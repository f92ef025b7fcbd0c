//! Error responses as JSON.

use std::fmt;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// An error response: a status and the body `{"error": "…"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    /// HTTP status of the response.
    pub status: StatusCode,
    /// Description of the problem, which the body of the response contains.
    pub message: String,
}

impl HttpError {
    /// Creates an error with status 400, for an invalid request that had no effect.
    pub fn bad_request(message: impl fmt::Display) -> Self {
        HttpError { status: StatusCode::BAD_REQUEST, message: message.to_string() }
    }

    /// Creates an error with status 404, for a path or resource that does not exist.
    pub fn not_found(message: impl fmt::Display) -> Self {
        HttpError { status: StatusCode::NOT_FOUND, message: message.to_string() }
    }

    /// Creates an error with status 403, for a request that breaks the rules of the server.
    pub(crate) fn forbidden(message: impl fmt::Display) -> Self {
        HttpError { status: StatusCode::FORBIDDEN, message: message.to_string() }
    }

    /// Creates an error with status 401, for a request without the token.
    pub(crate) fn unauthorized() -> Self {
        let message = "this server requires the token of its URL";
        HttpError { status: StatusCode::UNAUTHORIZED, message: message.to_owned() }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.message }).to_string();
        (self.status, [(CONTENT_TYPE, "application/json")], body).into_response()
    }
}
