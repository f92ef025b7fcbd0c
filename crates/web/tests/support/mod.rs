//! A client that says exactly what it is told to, over a real socket.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header, if it is there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(said, _)| said.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Asks with these lines of a head, and no others but the length of the body.
pub(crate) fn ask_raw(to: SocketAddr, line: &str, headers: &[String], body: &str) -> Answer {
    let mut stream = TcpStream::connect(to).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let (headers, length) = (headers + "Connection: close", body.len());
    write!(stream, "{line} HTTP/1.1\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).expect("an answer");
    let said = String::from_utf8(said).expect("an answer in words");
    let (head, body) = said.split_once("\r\n\r\n").expect("an answer has a head");
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Asks as a browser on this machine does.
pub(crate) fn ask(to: SocketAddr, line: &str, body: &str) -> Answer {
    ask_raw(to, line, &[format!("Host: {to}")], body)
}
