//! A member of a lock service, as a process of its own.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::killed::Killed;

/// A running member, which is killed when this value is dropped.
pub(crate) struct Member {
    pub(crate) process: Killed,
    pub(crate) name: String,
    pub(crate) address: String,
}

impl Member {
    /// Starts `tenure serve` without a log at a free port, and waits until it serves clients.
    pub(crate) fn start(options: &str) -> Member {
        Member::started_by(Member::command(options).stderr(Stdio::null()))
    }

    /// Starts a member whose data is in `folder`, and waits until it serves clients.
    pub(crate) fn start_in(folder: &Path) -> Member {
        Member::start(&format!("--data-dir {}", folder.join("data").display()))
    }

    /// Returns the command that starts a member at a free port, with these options.
    pub(crate) fn command(options: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(["serve", "--listen-client-urls", "http://127.0.0.1:0"])
            .args(options.split_whitespace())
            .stdout(Stdio::piped());
        command
    }

    /// Executes a command that [`Member::command`] returned, and waits until the member serves
    /// clients.
    pub(crate) fn started_by(command: &mut Command) -> Member {
        let mut process = Killed(command.spawn().expect("the command starts"));
        // The output is closed after this line. The member ignores errors when it prints later
        // lines.
        let line = process.first_line();
        let (name, address) = line.split_once(" serves clients at http://").expect("an address");
        Member { name: name.to_owned(), address: address.to_owned(), process }
    }

    /// Posts a JSON body to the member. Returns the response, including its head.
    pub(crate) fn post(&self, path: &str, body: &str) -> io::Result<String> {
        let length = body.len();
        let head = format!("POST {path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n");
        self.exchange(&(head + body))
    }

    /// Sends a request in HTTP/1.0 to the member. Returns the response, including its head.
    pub(crate) fn exchange(&self, request: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.write_all(request.as_bytes())?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }
}
