//! A lock service for a test, and functions for processes and files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::member::Member;
use crate::skipped::report_skip;

const LONG: Duration = Duration::from_secs(180);

/// A member of a lock service, and a directory for the files of a test. Dropping this value ends
/// the member and removes the directory.
pub(crate) struct Service {
    member: Member,
    folder: TempDir,
}

impl Service {
    pub(crate) fn start() -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        Service { member: Member::start_in(folder.path()), folder }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.member.address)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the text of the file `name`; empty if there is no such file.
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns a command that runs a program in the directory of the test. The program finds the
    /// `tenure` of this build and the examples, and uses this service.
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

    pub(crate) fn post(&self, path: &str, body: &str) -> Value {
        let response = self.member.post(path, body).expect("a response");
        let (_, body) = response.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {response}"))
    }

    /// Returns the leases of the service, one per session.
    pub(crate) fn leases(&self) -> Vec<Value> {
        self.post("/v3/lease/leases", "{}")["leases"].as_array().cloned().unwrap_or_default()
    }

    /// Ends these leases at once, as the service does when their clients are silent for too long.
    /// Tests can therefore use long leases. A short lease could expire by itself when a busy
    /// machine delays its client.
    pub(crate) fn expire(&self, leases: &[Value]) {
        for lease in leases {
            self.post("/v3/lease/revoke", &lease.to_string());
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        let response = self.post("/v3/kv/range", r#"{"key":"AA=="}"#);
        let revision = response["header"]["revision"].as_str().and_then(|it| it.parse().ok());
        revision.expect("a revision")
    }
}

pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Waits until `holds` returns true. After the time limit, panics with `subject`.
#[track_caller]
pub(crate) fn until(subject: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < LONG, "{subject}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns true if all these programs are installed. Otherwise, prints the missing programs and
/// returns false.
pub(crate) fn has_programs(names: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_missing = |name: &&&str| !std::env::split_paths(&path).any(|it| it.join(name).exists());
    let missing: Vec<&str> = names.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        report_skip(&missing.join(", "));
    }
    missing.is_empty()
}
