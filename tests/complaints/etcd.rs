//! The etcd that is installed on this machine.

use std::ffi::OsString;
use std::process::Command;

use crate::skipped::report_skip;

/// Environment variable with the path of the etcd server's program.
const PROGRAM_VARIABLE: &str = "TENURE_TEST_ETCD";

#[derive(Clone, Debug)]
pub(crate) struct Etcd {
    pub(crate) program: OsString,
    /// Version of etcd, such as `3.4.23`.
    pub(crate) version: String,
}

impl Etcd {
    /// Finds etcd on this machine. If it is not installed, prints a line and returns `None`.
    pub(crate) fn find() -> Option<Etcd> {
        let program = std::env::var_os(PROGRAM_VARIABLE).unwrap_or_else(|| "etcd".into());
        let Ok(output) = Command::new(&program).arg("--version").output() else {
            report_skip("etcd");
            return None;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().find_map(|line| line.strip_prefix("etcd Version: "));
        let version = version.unwrap_or_else(|| panic!("not an etcd: {text}")).to_owned();
        Some(Etcd { program, version })
    }
}
