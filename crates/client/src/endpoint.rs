//! Where a member of a service is.

use http::Uri;

use crate::access::Access;
use crate::error::ClientError;

/// The port of a service where none is named.
const PORT: u16 = 2379;

/// Where a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    origin: Uri,
    address: String,
    is_sealed: bool,
}

impl Endpoint {
    /// What `http://host:port`, `https://host:port` or `host:port` means.
    pub(crate) fn parse(text: &str) -> Result<Endpoint, ClientError> {
        let wrong = || ClientError::Endpoint { endpoint: text.to_owned() };
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = full.trim_end_matches('/').parse().map_err(|_| wrong())?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let is_bare = uri.authority().is_some_and(|it| it.as_str() == host);
        let is_clear = is_bare || uri.port_u16().is_some();
        let is_sealed = uri.scheme_str() == Some("https");
        let is_served = is_sealed || uri.scheme_str() == Some("http");
        if !is_clear || !is_served || uri.path() != "/" || uri.query().is_some() {
            return Err(wrong());
        }
        let address = format!("{host}:{}", uri.port_u16().unwrap_or(PORT));
        let scheme = if is_sealed { "https" } else { "http" };
        let origin = format!("{scheme}://{address}").parse().map_err(|_| wrong())?;
        Ok(Endpoint { origin, address, is_sealed })
    }

    /// Parses the endpoints of a service.
    ///
    /// # Errors
    ///
    /// [`ClientError::Endpoint`] for what is none or if there are none, and
    /// [`ClientError::Unvouched`] for an `https` endpoint without certificates.
    pub(crate) fn parse_all<I>(endpoints: I, access: &Access) -> Result<Vec<Endpoint>, ClientError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let parsed = endpoints.into_iter().map(|it| Endpoint::parse(it.as_ref()));
        let endpoints = parsed.collect::<Result<Vec<Endpoint>, ClientError>>()?;
        if endpoints.is_empty() {
            return Err(ClientError::Endpoint { endpoint: String::new() });
        }
        match endpoints.iter().find(|it| it.is_sealed && access.certificates.is_none()) {
            Some(sealed) => Err(ClientError::Unvouched { endpoint: sealed.origin().to_string() }),
            None => Ok(endpoints),
        }
    }

    /// It as a URL.
    pub(crate) const fn origin(&self) -> &Uri {
        &self.origin
    }

    /// Whether it speaks TLS.
    pub(crate) const fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// What it is called.
    pub(crate) fn host(&self) -> &str {
        self.origin.host().expect("an origin has a host")
    }

    /// It as `host:port`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_host_and_mostly_a_port() {
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
