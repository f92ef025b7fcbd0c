//! The command `tenure`, which the generators of documentation pages run.

use std::path::{Path, PathBuf};
use std::process;

use serde_json::Value;

use crate::program;

/// Program `tenure`, identified by its path.
pub(super) struct TenureCommand {
    program: PathBuf,
}

impl TenureCommand {
    pub(super) fn new(root: &Path) -> Result<Self, String> {
        Ok(TenureCommand { program: program::build_tenure(root)? })
    }

    /// Uses the existing file `program` as the command.
    pub(super) fn from_program(program: PathBuf) -> Self {
        TenureCommand { program }
    }

    /// Runs `tenure` with these arguments, and returns the JSON output. A violation that
    /// the command reports is not an error.
    pub(super) fn json_output(&self, arguments: &str) -> Result<Value, String> {
        let failed = |message: String| format!("tenure {arguments}: {message}");
        let output = process::Command::new(&self.program)
            .args(arguments.split_whitespace())
            .args(["--format", "json"])
            .stdin(process::Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !matches!(output.status.code(), Some(0 | 1 | 3)) {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }

    /// Runs `tenure` with these arguments and returns the exit status. The status shows whether the
    /// expectations of a scenario or question hold. A query of a proof gets more time than by
    /// default, because other checks may run at the same time.
    pub(super) fn exit_status(&self, arguments: &str) -> Result<i32, String> {
        let more_time: &[&str] =
            if arguments.starts_with("prove ") { &["--query-timeout", "2m"] } else { &[] };
        let status = process::Command::new(&self.program)
            .args(arguments.split_whitespace())
            .args(more_time)
            .stdin(process::Stdio::null())
            .stdout(process::Stdio::null())
            .stderr(process::Stdio::null())
            .status()
            .map_err(|error| format!("tenure {arguments}: {error}"))?;
        status.code().ok_or_else(|| format!("tenure {arguments}: killed by a signal"))
    }
}

/// Returns the elements of an array, or an empty slice.
pub(super) fn as_list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the content of a string, or an empty string.
pub(super) fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
