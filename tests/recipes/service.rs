//! A lock service for a test, and helpers for processes and files.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Upper limit for any wait.
const LONG: Duration = Duration::from_secs(60);

/// A member process and a directory for the test. Both end with this value.
pub(crate) struct Service {
    child: Child,
    address: String,
    folder: TempDir,
}

impl Service {
    pub(crate) fn start() -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["serve", "--listen-client-urls", "http://127.0.0.1:0", "--data-dir"])
            .arg(folder.path().join("data"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("a line").expect("text");
        let address = line.split_once("http://").expect("an address").1.to_owned();
        Service { child, address, folder }
    }

    /// Returns the URL of the member.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns a path in the directory of the test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the text of a file, or an empty one if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns a command that finds the program `tenure` of this build and the examples, and that
    /// uses this service.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let tenure = Path::new(env!("CARGO_BIN_EXE_tenure"));
        let folder = tenure.parent().expect("a folder").to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&path)))
                .expect("a search path");
        let mut command = Command::new(program);
        command
            .env("PATH", path)
            .env("ENDPOINT", self.url())
            .env("FOLDER", self.folder.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Posts JSON and returns the response as JSON.
    pub(crate) fn post(&self, path: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}")
            .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let (_, body) = response.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {response}"))
    }

    /// Returns the number of leases: each session has one.
    pub(crate) fn leases(&self) -> usize {
        self.post("/v3/lease/leases", "{}")["leases"].as_array().map_or(0, Vec::len)
    }

    /// Returns the revision of the store.
    pub(crate) fn revision(&self) -> u64 {
        let response = self.post("/v3/kv/range", r#"{"key":"AA=="}"#);
        let revision = response["header"]["revision"].as_str().and_then(|it| it.parse().ok());
        revision.expect("a revision")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of a file in the folder `examples`.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn until(subject: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < LONG, "{subject}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns true if all programs are installed. Prints the missing ones otherwise.
pub(crate) fn has_programs(names: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_missing = |name: &&&str| !std::env::split_paths(&path).any(|it| it.join(name).exists());
    let missing: Vec<&str> = names.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        eprintln!("skipped: needs {}", missing.join(", "));
    }
    missing.is_empty()
}
