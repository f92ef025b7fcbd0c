//! Endpoints of a service.

use http::Uri;

use crate::error::ClientError;
use crate::options::ConnectOptions;

/// Port of an endpoint that names no port.
const DEFAULT_PORT: u16 = 2379;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    origin: Uri,
    address: String,
    is_tls: bool,
}

impl Endpoint {
    /// Parses an endpoint of the form `http://host:port`, `https://host:port` or `host:port`.
    pub(crate) fn parse(text: &str) -> Result<Endpoint, ClientError> {
        let invalid = || ClientError::InvalidEndpoint { endpoint: text.to_owned() };
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = full.trim_end_matches('/').parse().map_err(|_| invalid())?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(invalid)?;
        let has_no_port = uri.authority().is_some_and(|it| it.as_str() == host);
        let has_valid_port = has_no_port || uri.port_u16().is_some();
        let is_tls = uri.scheme_str() == Some("https");
        let is_supported = is_tls || uri.scheme_str() == Some("http");
        if !has_valid_port || !is_supported || uri.path() != "/" || uri.query().is_some() {
            return Err(invalid());
        }
        let address = format!("{host}:{}", uri.port_u16().unwrap_or(DEFAULT_PORT));
        let scheme = if is_tls { "https" } else { "http" };
        let origin = format!("{scheme}://{address}").parse().map_err(|_| invalid())?;
        Ok(Endpoint { origin, address, is_tls })
    }

    /// Parses the endpoints of a service.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidEndpoint`] if an endpoint is invalid or the list is empty, and
    /// [`ClientError::MissingCertificates`] for an `https` endpoint without certificates.
    pub(crate) fn parse_all(
        endpoints: impl IntoIterator<Item: AsRef<str>>,
        options: &ConnectOptions,
    ) -> Result<Vec<Endpoint>, ClientError> {
        let parsed = endpoints.into_iter().map(|it| Endpoint::parse(it.as_ref()));
        let endpoints = parsed.collect::<Result<Vec<Endpoint>, ClientError>>()?;
        if endpoints.is_empty() {
            return Err(ClientError::InvalidEndpoint { endpoint: String::new() });
        }
        match endpoints.iter().find(|it| it.is_tls && options.certificates.is_none()) {
            Some(endpoint) => {
                Err(ClientError::MissingCertificates { endpoint: endpoint.origin().to_string() })
            }
            None => Ok(endpoints),
        }
    }

    pub(crate) const fn origin(&self) -> &Uri {
        &self.origin
    }

    pub(crate) const fn is_tls(&self) -> bool {
        self.is_tls
    }

    pub(crate) fn host(&self) -> &str {
        self.origin.host().expect("an origin has a host")
    }

    /// Returns the address of the endpoint, as `host:port`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns a description of the endpoints, for the error of a request to which no endpoint
    /// responded.
    pub(crate) fn describe_all(endpoints: &[Endpoint]) -> String {
        match endpoints {
            [one] => one.address().to_owned(),
            several => format!("any of {} endpoints", several.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_host_and_optional_port() {
        for (text, address) in [
            ("http://127.0.0.1:2379", "127.0.0.1:2379"),
            ("http://etcd.example/", "etcd.example:2379"),
            ("localhost:7", "localhost:7"),
            ("http://[::1]:7", "[::1]:7"),
            ("https://a:1", "a:1"),
        ] {
            assert_eq!(Endpoint::parse(text).expect(text).address(), address);
        }
        for text in ["", "http://", "ftp://a:1", "http://a:1/v3", "a b", "http://a:99999"] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }
}
