//! CORS headers for web pages of other origins, as etcd sends them.

use http::{HeaderMap, HeaderValue, Response, header};
use tonic::body::Body;

const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, OPTIONS, PUT, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static("accept, content-type, authorization");

/// Adds CORS headers to the response if the origin of the request is allowed. The entry `*` in
/// `allowed_origins` allows any origin.
pub(crate) fn add_headers(
    allowed_origins: &[String],
    request_headers: &HeaderMap,
    response: &mut Response<Body>,
) {
    let is_allowed = |origin: &[u8]| allowed_origins.iter().any(|it| it.as_bytes() == origin);
    let origin = match is_allowed(b"*") {
        true => Some(HeaderValue::from_static("*")),
        false => {
            request_headers.get(header::ORIGIN).filter(|it| is_allowed(it.as_bytes())).cloned()
        }
    };
    let Some(origin) = origin else { return };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_names_the_allowed_origin() {
        let allowed_for = |allowed: &[&str], origin: Option<&'static str>| {
            let allowed: Vec<String> = allowed.iter().map(|it| it.to_string()).collect();
            let origin = origin.map(|it| (header::ORIGIN, HeaderValue::from_static(it)));
            let mut response = Response::new(Body::empty());
            add_headers(&allowed, &origin.into_iter().collect(), &mut response);
            let allowed = response.headers().get(header::ACCESS_CONTROL_ALLOW_ORIGIN).cloned();
            allowed.map(|it| it.to_str().expect("text").to_owned())
        };
        let (a, b) = (Some("http://a"), Some("http://b"));
        for origin in [a, None] {
            assert_eq!(allowed_for(&["*"], origin).as_deref(), Some("*"));
        }
        assert_eq!(allowed_for(&["http://a"], a).as_deref(), a);
        assert_eq!(allowed_for(&["http://a"], b), None);
        assert_eq!(allowed_for(&["http://a"], None), None);
        assert_eq!(allowed_for(&[], a), None);
    }
}
