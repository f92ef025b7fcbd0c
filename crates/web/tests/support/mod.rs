//! HTTP client that sends requests exactly as given, over a real socket.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    /// Returns the value of a header. `None` if the response does not contain the header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(text, _)| text.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Sends a request with these headers and the length of its body. Returns the response.
pub(crate) fn send_raw(to: SocketAddr, line: &str, headers: &[String], body: &str) -> Response {
    let mut stream = TcpStream::connect(to).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let (headers, length) = (headers + "Connection: close", body.len());
    // Head and body are sent in one write, so that the server can read them at the same time.
    let request = format!("{line} HTTP/1.1\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).expect("a response");
    let text = String::from_utf8(text).expect("a response in UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").expect("a response has a head");
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    Response { status, head: head.to_owned(), body: body.to_owned() }
}

/// Sends a request in the way that a browser on this machine does. Returns the response.
pub(crate) fn send(to: SocketAddr, line: &str, body: &str) -> Response {
    send_raw(to, line, &[format!("Host: {to}")], body)
}
