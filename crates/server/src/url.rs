//! The URLs by which members and clients are reached, as etcd writes them.

use std::fmt;

use thiserror::Error;

/// `http://host:port`, or `https://…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    is_sealed: bool,
    /// A name or an address, in brackets where it has colons.
    host: String,
    port: u16,
}

/// Why a text is not the URL of a member.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// It is none.
    #[error("`{0}` is not a URL such as http://127.0.0.1:2379")]
    Malformed(String),
    /// It asks for another protocol.
    #[error("`{url}`: {scheme} is not served here; say http")]
    Scheme {
        /// As it was given.
        url: String,
        /// What it asks for.
        scheme: String,
    },
    /// There is none.
    #[error("a URL is missing")]
    Missing,
    /// Its host is not known here.
    #[error("{url}: {says}")]
    Unresolved {
        /// As it was given.
        url: String,
        /// What the system says.
        says: String,
    },
}

impl Url {
    /// Whether it is `https`.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_sealed { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.address())
    }
}

/// Some URLs with commas between them; at least one.
pub(crate) fn urls(text: &str) -> Result<Vec<Url>, UrlError> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let urls: Vec<Url> = items.map(url).collect::<Result<_, _>>()?;
    if urls.is_empty() { Err(UrlError::Missing) } else { Ok(urls) }
}

fn url(text: &str) -> Result<Url, UrlError> {
    let malformed = || UrlError::Malformed(text.to_owned());
    let (scheme, rest) = text.split_once("://").ok_or_else(malformed)?;
    let is_sealed = scheme == "https";
    if !is_sealed && scheme != "http" {
        return Err(UrlError::Scheme { url: text.to_owned(), scheme: scheme.to_owned() });
    }
    let (host, port) = rest.trim_end_matches('/').rsplit_once(':').ok_or_else(malformed)?;
    let port = port.parse().map_err(|_| malformed())?;
    if host.is_empty() || host.contains(['/', '@', '?']) {
        return Err(malformed());
    }
    Ok(Url { is_sealed, host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_they_are_written() {
        let read = urls("http://127.0.0.1:2379, https://[::1]:2380/").expect("URLs");
        let written: Vec<String> = read.iter().map(Url::to_string).collect();
        assert_eq!(written, ["http://127.0.0.1:2379", "https://[::1]:2380"]);
        for wrong in ["", "127.0.0.1:2379", "http://:1", "http://a", "http://a:b", "ftp://a:1"] {
            assert!(urls(wrong).is_err(), "{wrong}");
        }
    }
}
