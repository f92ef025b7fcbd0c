//! Requests the status of nodes by HTTP from the status pages of the nodes.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use tenure_daemon::status::NodeStatus;

use super::{Response, Target};

/// Time limit for connecting to a status page, and for each read and write.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

const MAX_RESPONSE_BYTES: u64 = 16 << 20;

/// Requests the status of all targets at the same time. Returns one [`Response`] per target, in the
/// order of the targets. If a target does not respond, its [`Response`] contains an error.
pub(super) fn query_all(targets: &[Target]) -> Vec<Response> {
    thread::scope(|scope| {
        let queries: Vec<_> = targets.iter().map(|target| scope.spawn(|| query(target))).collect();
        let joined = queries.into_iter().map(|query| query.join());
        joined.map(|response| response.expect("a query does not panic")).collect()
    })
}

fn query(target: &Target) -> Response {
    let response = match &target.page {
        Some(page) => request(page, &target.query),
        None => Err("the address of its page is unknown: list all pages in page.addresses".into()),
    };
    let (status, error) =
        response.map_or_else(|error| (None, Some(error)), |status| (Some(status), None));
    let node = status.as_ref().map(|status| status.process).or(target.node);
    Response { node, page: target.page.clone(), status, error }
}

/// Requests the status of a node from its status page. `query` is the query part of the URL, or
/// empty. The request uses HTTP/1.0, so that the response is not chunked and ends with the
/// connection. Returns a description of the problem if there is no valid response.
fn request(page: &str, query: &str) -> Result<NodeStatus, String> {
    let path = format!("/status{query}");
    let response = exchange(page, &path).map_err(|error| describe_io_error(&error))?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or("the response is not HTTP")?;
    match head.split(' ').nth(1) {
        Some("200") => serde_json::from_str(body)
            .map_err(|_| "the response is not from a node of this release".to_owned()),
        Some("401") => Err("the page requires another token: use the address that the node \
                            reported, or give all nodes one page.token"
            .into()),
        Some("503") => Err("the node is not running yet, or has ended".into()),
        Some(code) => Err(format!("the response is not from the page of a node (HTTP {code})")),
        None => Err("the response is not HTTP".into()),
    }
}

/// Describes an I/O error for the user. For a timeout, replaces the unclear text of the operating
/// system.
fn describe_io_error(error: &Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("no response within {} s", REQUEST_TIMEOUT.as_secs())
        }
        _ => format!("no response: {error}"),
    }
}

/// Returns true if a member of a lock service responds at `address`, which is `host:port`. The
/// service may be Tenure or etcd.
#[cfg(feature = "service")]
pub(super) fn is_responding_service(address: &str) -> bool {
    let response = exchange(address, "/version").unwrap_or_default();
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or_default();
    head.split(' ').nth(1) == Some("200") && body.contains("etcdserver")
}

/// Requests `path` from the HTTP server at `page`, and returns the whole response with its head.
/// Cuts the response off after [`MAX_RESPONSE_BYTES`].
fn exchange(page: &str, path: &str) -> std::io::Result<String> {
    let no_address = || std::io::Error::other("the name has no address");
    let to = page.to_socket_addrs()?.next().ok_or_else(no_address)?;
    let mut stream = TcpStream::connect_timeout(&to, REQUEST_TIMEOUT)?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {to}\r\n\r\n")?;
    let mut response = String::new();
    stream.take(MAX_RESPONSE_BYTES).read_to_string(&mut response)?;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn reports_timeout_of_silent_page() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let page = silent.local_addr().unwrap().to_string();
        assert_eq!(request(&page, "").unwrap_err(), "no response within 2 s");
        drop(silent);
        let gone = request(&page, "").unwrap_err();
        assert!(gone.starts_with("no response: "), "{gone}");
    }
}
