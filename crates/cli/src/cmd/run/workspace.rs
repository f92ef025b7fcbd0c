//! The directory of a run: states, keys, configurations, traces and logs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tenure_core::ProcessId;

use crate::cmd::failure::Failure;

/// The directory of a run. A temporary one is removed in the end, unless it is to be kept.
#[derive(Debug)]
pub(super) struct Workspace {
    path: PathBuf,
    size: u32,
    temporary: Option<TempDir>,
}

impl Workspace {
    /// Makes the directory that was asked for, or a temporary one.
    pub(super) fn new(wanted: Option<&Path>, size: u32) -> Result<Workspace, Failure> {
        let Some(wanted) = wanted else {
            // Named by the process, so that no prefix covers those of two runs.
            let prefix = format!("tenure-run-{}-", std::process::id());
            let made = tempfile::Builder::new().prefix(&prefix).tempdir();
            let temporary = made.map_err(|error| {
                Failure::environment(format!("cannot make a temporary directory: {error}"))
            })?;
            let path = temporary.path().to_path_buf();
            return Ok(Workspace { path, size, temporary: Some(temporary) });
        };
        let failed = |error: io::Error| {
            Failure::environment(format!("cannot use --dir {}: {error}", wanted.display()))
        };
        if wanted.exists() && !wanted.is_dir() {
            let wanted = wanted.display();
            return Err(Failure::usage(format!("--dir {wanted} is a file; name a directory")));
        }
        fs::create_dir_all(wanted).map_err(failed)?;
        let path = wanted.canonicalize().map_err(failed)?;
        let mut files = fs::read_dir(&path).map_err(failed)?;
        // What a new file system comes with disturbs nobody.
        let foreign = files.find(|file| !matches!(file, Ok(it) if it.file_name() == "lost+found"));
        if foreign.is_some() {
            return Err(Failure::usage(format!(
                "--dir {} is not empty; name a new directory, or empty it first",
                wanted.display()
            )));
        }
        Ok(Workspace { path, size, temporary: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the files are there when the command has ended.
    pub(super) fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }

    /// Keeps the files for whoever wants to see what happened.
    pub(super) fn keep(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            self.path = temporary.keep();
        }
    }

    /// The directory of the keys by which the nodes know each other.
    pub(super) fn keys(&self) -> PathBuf {
        self.path.join("keys")
    }

    pub(super) fn config(&self, process: ProcessId) -> PathBuf {
        self.path.join(format!("p{}.toml", process.number()))
    }

    pub(super) fn store(&self, process: ProcessId) -> PathBuf {
        self.path.join(format!("p{}", process.number()))
    }

    pub(super) fn trace(&self, process: ProcessId) -> PathBuf {
        self.path.join(format!("p{}.ndjson", process.number()))
    }

    pub(super) fn log(&self, process: ProcessId) -> PathBuf {
        self.path.join(format!("p{}.log", process.number()))
    }

    pub(super) fn resource_trace(&self) -> PathBuf {
        self.path.join("resource.ndjson")
    }

    pub(super) fn parent_trace(&self) -> PathBuf {
        self.path.join("parent.ndjson")
    }

    /// What the clients of a log have seen.
    pub(super) fn history(&self) -> PathBuf {
        self.path.join("clients.ndjson")
    }

    /// The traces that there will be: those of the nodes first.
    pub(super) fn traces_to_be(&self) -> Vec<PathBuf> {
        let nodes = (0..self.size).map(|process| self.trace(ProcessId(process)));
        nodes.chain([self.resource_trace(), self.parent_trace()]).collect()
    }
}
