//! Rules that a request must obey, and security headers of responses.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::activity::Activity;
use crate::http_error::HttpError;
use crate::token::AccessToken;

/// Rules of a server for its requests.
#[derive(Clone, Debug)]
pub(crate) struct RequestPolicy {
    /// Address to which the server is bound.
    pub(crate) bound_address: IpAddr,
    /// Token that requests for data must contain. `None` if the server listens on a loopback
    /// address.
    pub(crate) token: Option<AccessToken>,
}

/// Headers of all responses. A response that sets one of these headers itself keeps its own value.
///
/// Inline styles are allowed, because drawings contain them. Inline scripts are not.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Middleware that rejects requests with another `Host` or from pages of other origins. Adds the
/// security headers to every response.
pub(crate) async fn check_origin(
    State(policy): State<RequestPolicy>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match policy.check(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// Middleware that rejects requests without the token, if a token is required. The connection of a
/// permitted request stays open until the response is complete.
pub(crate) async fn require_token(
    State(policy): State<RequestPolicy>,
    request: Request,
    next: Next,
) -> Response {
    if !policy.has_token(request.headers(), request.uri().query()) {
        return HttpError::unauthorized().into_response();
    }
    let Some(activity) = request.extensions().get::<Activity>() else {
        return next.run(request).await;
    };
    let permitted = activity.start_permitted();
    permitted.extend_to_body(next.run(request).await)
}

impl RequestPolicy {
    /// Checks the `Host` and the origin of a request. Returns the error response if the request is
    /// rejected.
    fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), HttpError> {
        let host = single_header(headers, &header::HOST)
            .ok_or_else(|| HttpError::bad_request("the request needs exactly one `Host` header"))?;
        if !self.is_own_host(host) {
            let message = format!("host `{host}` is not this server: use its IP address");
            return Err(HttpError::forbidden(message));
        }
        let changes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if !is_same_site(headers) && (changes || !is_navigation(headers)) {
            return Err(HttpError::forbidden("other sites may only link to this server"));
        }
        if changes && headers.contains_key(header::ORIGIN) {
            let origin =
                single_header(headers, &header::ORIGIN).and_then(|it| it.strip_prefix("http://"));
            if !origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host)) {
                return Err(HttpError::forbidden("other sites may not change anything here"));
            }
        }
        Ok(())
    }

    /// Returns true if the `Host` header of a request is `localhost`, a loopback address, or the
    /// address to which the server is bound. If the server is bound to an unspecified address, any
    /// IP address is accepted. The port does not matter, since ports may be forwarded. Other names
    /// are rejected, because a domain name might be under an attacker's control.
    fn is_own_host(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else { return false };
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let Ok(address) = name.trim_matches(['[', ']']).parse::<IpAddr>() else { return false };
        let (address, bound) = (address.to_canonical(), self.bound_address.to_canonical());
        address.is_loopback() || address == bound || bound.is_unspecified()
    }

    /// Returns true if the request contains the token in its `Authorization` header or in its
    /// query, or if the server requires no token.
    fn has_token(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let Some(token) = &self.token else { return true };
        let header = single_header(headers, &header::AUTHORIZATION)
            .and_then(|it| it.strip_prefix("Bearer "));
        let mut parameters = query.unwrap_or_default().split('&');
        let parameter = parameters.find_map(|part| part.strip_prefix("token="));
        header.or(parameter).is_some_and(|value| token.matches(value))
    }
}

/// Returns false if the browser reports that the request comes from a page of another origin.
/// Otherwise returns true.
fn is_same_site(headers: &HeaderMap) -> bool {
    match headers.get("sec-fetch-site") {
        None => true,
        Some(site) => site == "same-origin" || site == "none",
    }
}

/// Returns true if the browser will show the response as a page in a window, for example after the
/// user has followed a link.
fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
        && headers.get("sec-fetch-dest").is_none_or(|shown| shown == "document")
}

/// Returns the value of the header `name` if this header occurs exactly once and contains only
/// visible ASCII characters. Otherwise returns `None`.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

/// Returns the host without its port. An IPv6 address keeps its brackets. Returns `None` if the
/// port is invalid or a bracket is not closed.
fn without_port(host: &str) -> Option<&str> {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    if host.starts_with('[') {
        let (host, port) = host.split_at(host.find(']')? + 1);
        return (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(host);
    }
    match host.split_once(':') {
        None => Some(host),
        Some((host, port)) => is_port(port).then_some(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_own_host(bound: &str, host: &str) -> bool {
        RequestPolicy { bound_address: bound.parse().unwrap(), token: None }.is_own_host(host)
    }

    #[test]
    fn own_host_is_an_address_or_localhost() {
        for host in ["localhost", "LocalHost:80", "127.0.0.1:7070", "[::1]", "[::1]:80"] {
            assert!(is_own_host("127.0.0.1", host), "{host}");
        }
        assert!(is_own_host("192.0.2.7", "192.0.2.7:7070"));
        assert!(is_own_host("0.0.0.0", "192.0.2.7"));
        assert!(is_own_host("::", "[2001:db8::1]:80"));
    }

    #[test]
    fn foreign_host_names_are_rejected() {
        let foreign = [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "localhost:evil",
            "192.0.2.8",
            "[::1]evil",
            "[::1",
            "::1",
            "",
        ];
        for host in foreign {
            assert!(!is_own_host("127.0.0.1", host), "{host}");
            assert!(!is_own_host("192.0.2.7", host), "{host}");
        }
        assert!(!is_own_host("0.0.0.0", "evil.example"));
    }
}
