//! The command `tenure`, asked for data.

use std::path::{Path, PathBuf};
use std::process;

use serde_json::Value;

use crate::program;

/// How to ask.
pub(super) struct Command {
    program: PathBuf,
}

impl Command {
    /// The command of the repository at `root`, built once.
    pub(super) fn new(root: &Path) -> Result<Self, String> {
        Ok(Command { program: program::build(root)? })
    }

    /// The command that is this program.
    pub(super) fn of(program: PathBuf) -> Self {
        Command { program }
    }

    /// What `tenure` answers to these words, as JSON. A violation found is an answer, too.
    pub(super) fn ask(&self, words: &str) -> Result<Value, String> {
        let failed = |says: String| format!("tenure {words}: {says}");
        let output = process::Command::new(&self.program)
            .args(words.split_whitespace())
            .args(["--format", "json"])
            .stdin(process::Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !matches!(output.status.code(), Some(0 | 1 | 3)) {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }

    /// The status with which `tenure` ends for these words: the answer of a scenario or a question
    /// to whether all that it expects is observed.
    pub(super) fn ends(&self, words: &str) -> Result<i32, String> {
        let ended = process::Command::new(&self.program)
            .args(words.split_whitespace())
            .stdin(process::Stdio::null())
            .stdout(process::Stdio::null())
            .stderr(process::Stdio::null())
            .status()
            .map_err(|error| format!("tenure {words}: {error}"))?;
        ended.code().ok_or_else(|| format!("tenure {words}: it was killed"))
    }
}

/// A list, or nothing.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text, or nothing.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
