//! Who may ask, and what an answer may do in a browser.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::refusal::Refusal;
use crate::token::Token;

/// What decides whether a request is served.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Where the server listens.
    pub(crate) bound: IpAddr,
    /// What must be said, where it listens beyond this machine.
    pub(crate) token: Option<Token>,
}

/// What every answer says, unless it says something else itself.
///
/// Styles may stand in a page, since drawings have them; scripts may not.
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

/// Refuses what another site's page asks for, and says what an answer may do in a browser.
pub(crate) async fn door(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.admits(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// Lets only those in who know the token, where there is one.
pub(crate) async fn lock(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if guard.knows(request.headers(), request.uri().query()) {
        return next.run(request).await;
    }
    Refusal::unauthorized().into_response()
}

impl Guard {
    fn admits(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let said = one(headers, &header::HOST).ok_or_else(|| {
            Refusal::bad("a request names the server that it is for, once, in `Host`")
        })?;
        if !self.is_me(said) {
            let says = format!("`{said}` is no name of this server; use its address in numbers");
            return Err(Refusal::forbidden(says));
        }
        let changes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if !is_of_this_site(headers) && (changes || !leads_here(headers)) {
            return Err(Refusal::forbidden("pages of other sites may lead here, and do no more"));
        }
        if changes && headers.contains_key(header::ORIGIN) {
            let origin = one(headers, &header::ORIGIN).and_then(|it| it.strip_prefix("http://"));
            if !origin.is_some_and(|origin| origin.eq_ignore_ascii_case(said)) {
                return Err(Refusal::forbidden("pages of other sites may change nothing here"));
            }
        }
        Ok(())
    }

    /// Whether a `Host` can only mean this server: no name of somebody's domain, whatever port it
    /// was forwarded from.
    fn is_me(&self, said: &str) -> bool {
        let Some(host) = without_port(said) else { return false };
        if host.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() else { return false };
        let (address, bound) = (address.to_canonical(), self.bound.to_canonical());
        address.is_loopback() || address == bound || bound.is_unspecified()
    }

    fn knows(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let Some(token) = &self.token else { return true };
        let header = one(headers, &header::AUTHORIZATION).and_then(|it| it.strip_prefix("Bearer "));
        let mut asked = query.unwrap_or_default().split('&');
        let asked = asked.find_map(|part| part.strip_prefix("token="));
        header.or(asked).is_some_and(|said| token.is(said))
    }
}

/// Whether a page of this server asks, or nobody's, as far as a browser tells.
fn is_of_this_site(headers: &HeaderMap) -> bool {
    match headers.get("sec-fetch-site") {
        None => true,
        Some(site) => site == "same-origin" || site == "none",
    }
}

/// Whether somebody follows a link to here.
fn leads_here(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
        && headers.get("sec-fetch-dest").is_none_or(|shown| shown == "document")
}

/// The value of a header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

/// The host without its port; nothing when what follows the colon is no port.
fn without_port(said: &str) -> Option<&str> {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    if said.starts_with('[') {
        let (host, port) = said.split_at(said.find(']')? + 1);
        return (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(host);
    }
    match said.split_once(':') {
        None => Some(said),
        Some((host, port)) => is_port(port).then_some(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_me(bound: &str, said: &str) -> bool {
        Guard { bound: bound.parse().unwrap(), token: None }.is_me(said)
    }

    #[test]
    fn a_server_is_called_by_its_number_or_localhost() {
        for said in ["localhost", "LocalHost:80", "127.0.0.1:7070", "[::1]", "[::1]:80"] {
            assert!(is_me("127.0.0.1", said), "{said}");
        }
        assert!(is_me("192.0.2.7", "192.0.2.7:7070"));
        assert!(is_me("0.0.0.0", "192.0.2.7"));
        assert!(is_me("::", "[2001:db8::1]:80"));
    }

    #[test]
    fn a_name_of_somebodys_domain_is_refused() {
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
        for said in foreign {
            assert!(!is_me("127.0.0.1", said), "{said}");
            assert!(!is_me("192.0.2.7", said), "{said}");
        }
        assert!(!is_me("0.0.0.0", "evil.example"));
    }
}
