//! Commands of `tenure`. Their files are in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use tenure::embedded::{self, PerformedCommand};
use tenure::lab::split_words;
use tenure::trace::files;

use crate::page::BackendResponse;

/// Body of a request to perform a command. Exactly one of `line` and `words` is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    /// Command line without the name of the program, with quotes as in a shell. `None` if `words`
    /// is given.
    line: Option<String>,
    /// Arguments of the command, without the name of the program. `None` if `line` is given.
    words: Option<Vec<String>>,
    /// Texts of the files that the command may read, by name.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// Handles a request to perform a command. A failure of the command itself is not an error: the
/// response contains the exit status.
pub(crate) fn run_command(body: &Value) -> BackendResponse {
    let result = Command::deserialize(body)
        .map_err(|error| format!("invalid request: {error}"))
        .and_then(Command::perform);
    result.map_or_else(|message| BackendResponse::error(400, message), BackendResponse::data)
}

impl Command {
    /// Performs the command. Returns the exit status and the output, and the name and the text of
    /// each file that the command created or changed. Returns a description of the problem if the
    /// request is invalid.
    fn perform(self) -> Result<Value, String> {
        // Commands run one at a time, because they share the files in memory and the request to
        // stop.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let words = match (self.line, self.words) {
            (Some(line), None) => split_words(&line)?,
            (None, Some(words)) => words,
            _ => return Err("expected either `line` or `words`".to_owned()),
        };
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let given: BTreeMap<PathBuf, Vec<u8>> =
            self.files.into_iter().map(|(name, text)| (name.into(), text.into_bytes())).collect();
        files::replace_memory_files(given.clone());
        let PerformedCommand { exit, stdout, stderr } = embedded::perform(&words);
        let written = files::replace_memory_files(BTreeMap::new()).into_iter();
        let written = written.filter(|(path, bytes)| given.get(path) != Some(bytes));
        let text = |(path, bytes): (PathBuf, Vec<u8>)| {
            (path.to_string_lossy().into_owned(), String::from_utf8_lossy(&bytes).into_owned())
        };
        let files: BTreeMap<String, String> = written.map(text).collect();
        Ok(json!({ "exit": exit, "stdout": stdout, "stderr": stderr, "files": files }))
    }
}
