//! Page for operators: members, locks, queues, and clients that block others.
//!
//! The page is one HTML file, which requests the state once a second. The page itself contains no
//! data, so it needs no credentials. The client URLs serve the state with the names of locks. The
//! metrics URLs serve the state without these names. If authentication is enabled, a user sees only
//! the locks whose keys the user may read.

mod state;
mod waits_for;

use std::sync::{Arc, LazyLock};

use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tenure_trace::diagram::{ELEMENT_HELPERS_JS, PALETTE_CSS};
use tonic::body::Body;

use crate::auth::caller::Caller;
use crate::member::Member;
use crate::net::listener::{
    ListenerScope, json_response, method_not_allowed, plain_response, text_response,
};
use crate::rpc::error::RpcError;

const HTML: &str = include_str!("dashboard.html");
const STYLE: &str = include_str!("dashboard.css");
const SCRIPT: &str = include_str!("dashboard.js");

/// Placeholder in the page. Each response contains a new nonce in place of this text. The nonce
/// allows the page's own scripts and styles.
const NONCE_MARK: &str = "NONCE";

static PAGE: LazyLock<String> = LazyLock::new(|| {
    HTML.replace("/* STYLE */", &[PALETTE_CSS, STYLE].concat())
        .replace("/* SCRIPT */", &[ELEMENT_HELPERS_JS, SCRIPT].concat())
});

pub(crate) fn is_dashboard(path: &str) -> bool {
    ["/dashboard", "/dashboard/state"].contains(&path)
}

pub(crate) async fn respond(
    member: Arc<Member>,
    request: &Request<Incoming>,
    scope: ListenerScope,
) -> Response<Body> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return method_not_allowed();
    }
    let mut response = match request.uri().path() {
        "/dashboard" => page(),
        _ => {
            let caller = Caller::from_headers(member, request.headers());
            let state = async { state::read(&caller?, scope).await }.await;
            state.map_or_else(failed, |state| {
                json_response(StatusCode::OK, serde_json::to_string(&state).unwrap_or_default())
            })
        }
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the page. Its content security policy allows only the page's own scripts and styles, and
/// only requests to this member.
fn page() -> Response<Body> {
    let mut bytes = [0; 16];
    if let Err(error) = getrandom::fill(&mut bytes) {
        let text = format!("no random bits for the page: {error}\n");
        return plain_response(StatusCode::INTERNAL_SERVER_ERROR, text);
    }
    let nonce = hex::encode(bytes);
    let html = PAGE.replace(NONCE_MARK, &nonce);
    let mut response = text_response(StatusCode::OK, "text/html; charset=utf-8", html);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns the response for a state that could not be read, because the token is invalid or the
/// member is busy.
fn failed(error: RpcError) -> Response<Body> {
    let status = match tonic::Status::from(error.clone()).code() {
        tonic::Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    let body = serde_json::json!({ "error": error.to_string() });
    json_response(status, body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_contains_all_parts_and_requests_no_others() {
        for (mark, part) in [("/* STYLE */", STYLE), ("/* SCRIPT */", SCRIPT)] {
            assert_eq!(HTML.matches(mark).count(), 1, "{mark}");
            assert!(PAGE.contains(part));
        }
        assert_eq!(PAGE.matches(NONCE_MARK).count(), 2);
        for external in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!PAGE.contains(external), "{external}");
        }
    }
}
