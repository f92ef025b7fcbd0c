//! URLs of listeners and members, as etcd writes them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// URL of the form `http://host:port` or `https://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    is_tls: bool,
    /// Host name or address, in brackets if it contains colons.
    host: String,
    port: u16,
}

/// Reason why a text is not a valid URL of a listener or member.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// The text has no scheme, host or port, or it has further parts such as a path.
    #[error("invalid URL '{0}': expected one such as http://127.0.0.1:2379")]
    Malformed(String),
    /// The scheme is not supported.
    #[error("invalid URL '{url}': unknown scheme {scheme}, expected http or https")]
    Scheme {
        /// Text that was given as a URL.
        url: String,
        /// Scheme of the URL.
        scheme: String,
    },
    /// The list of URLs is empty.
    #[error("missing URL: expected at least one, such as http://127.0.0.1:2379")]
    Missing,
    /// The host cannot be resolved.
    #[error("{url}: {reason}")]
    Unresolved {
        /// URL whose host cannot be resolved.
        url: String,
        /// Error of the operating system, or the statement that there is no address.
        reason: String,
    },
}

impl Url {
    /// Returns true if the scheme is `https`.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Returns the host and the port as `host:port`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.address())
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Url, UrlError> {
        let malformed = || UrlError::Malformed(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(malformed)?;
        let is_tls = scheme == "https";
        if !is_tls && scheme != "http" {
            return Err(UrlError::Scheme { url: text.to_owned(), scheme: scheme.to_owned() });
        }
        let (host, port) = rest.trim_end_matches('/').rsplit_once(':').ok_or_else(malformed)?;
        let port = port.parse().map_err(|_| malformed())?;
        if host.is_empty() || host.contains(['/', '@', '?']) {
            return Err(malformed());
        }
        Ok(Url { is_tls, host: host.to_owned(), port })
    }
}

/// Parses a list of URLs, separated by commas. Fails if the list is empty or a URL is invalid.
pub(crate) fn parse_urls(text: &str) -> Result<Vec<Url>, UrlError> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let urls: Vec<Url> = items.map(Url::from_str).collect::<Result<_, _>>()?;
    if urls.is_empty() { Err(UrlError::Missing) } else { Ok(urls) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsed_urls_are_displayed_in_normal_form() {
        let read = parse_urls("http://127.0.0.1:2379, https://[::1]:2380/").expect("URLs");
        let written: Vec<String> = read.iter().map(Url::to_string).collect();
        assert_eq!(written, ["http://127.0.0.1:2379", "https://[::1]:2380"]);
        for wrong in ["", "127.0.0.1:2379", "http://:1", "http://a", "http://a:b", "ftp://a:1"] {
            assert!(parse_urls(wrong).is_err(), "{wrong}");
        }
    }
}
