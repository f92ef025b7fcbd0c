//! The directory of a run. It contains the nodes' states, keys, configurations, traces and logs.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tenure_core::ProcessId;

use crate::cmd::failure::Failure;

/// The directory of a run: the directory of `--dir`, or a temporary directory. A temporary
/// directory is removed when this value is dropped, unless [`Workspace::keep`] was called.
#[derive(Debug)]
pub(super) struct Workspace {
    path: PathBuf,
    size: u32,
    /// Guard that removes the directory. `None` if the directory is not removed.
    temporary: Option<TempDir>,
}

impl Workspace {
    pub(super) fn new(requested: Option<&Path>, size: u32) -> Result<Workspace, Failure> {
        let Some(requested) = requested else {
            // The prefix contains the process ID, so that concurrent runs have different prefixes.
            let prefix = format!("tenure-run-{}-", std::process::id());
            let made = tempfile::Builder::new().prefix(&prefix).tempdir();
            let temporary = made.map_err(Failure::cannot("make a temporary directory"))?;
            let path = temporary.path().to_path_buf();
            return Ok(Workspace { path, size, temporary: Some(temporary) });
        };
        let failed = Failure::cannot(format!("use --dir {}", requested.display()));
        if requested.exists() && !requested.is_dir() {
            let requested = requested.display();
            return Err(Failure::usage(format!("invalid --dir {requested}: expected a directory")));
        }
        fs::create_dir_all(requested).map_err(&failed)?;
        let path = requested.canonicalize().map_err(&failed)?;
        let mut files = fs::read_dir(&path).map_err(failed)?;
        // Ignores `lost+found`, which a new file system contains.
        let foreign = files.find(|file| !matches!(file, Ok(it) if it.file_name() == "lost+found"));
        if foreign.is_some() {
            return Err(Failure::usage(format!(
                "--dir {} is not empty: use a new directory, or empty it first",
                requested.display()
            )));
        }
        Ok(Workspace { path, size, temporary: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the directory remains after the command: it is the directory of `--dir`, or
    /// [`Workspace::keep`] was called.
    pub(super) fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }

    /// Makes a temporary directory remain after the command.
    pub(super) fn keep(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            self.path = temporary.keep();
        }
    }

    pub(super) fn keys_path(&self) -> PathBuf {
        self.path.join("keys")
    }

    pub(super) fn config_path(&self, process: ProcessId) -> PathBuf {
        self.path.join(format!("p{}.toml", process.display_number()))
    }

    /// Returns the path of the directory with the durable state of a node.
    pub(super) fn store_path(&self, process: ProcessId) -> PathBuf {
        self.path.join(format!("p{}", process.display_number()))
    }

    pub(super) fn trace_path(&self, process: ProcessId) -> PathBuf {
        self.path.join(format!("p{}.ndjson", process.display_number()))
    }

    pub(super) fn log_path(&self, process: ProcessId) -> PathBuf {
        self.path.join(format!("p{}.log", process.display_number()))
    }

    pub(super) fn resource_trace_path(&self) -> PathBuf {
        self.path.join("resource.ndjson")
    }

    pub(super) fn parent_trace_path(&self) -> PathBuf {
        self.path.join("parent.ndjson")
    }

    /// Returns the paths of all traces: first those of the nodes, then the trace of the resource,
    /// and then the trace of the parent.
    pub(super) fn trace_paths(&self) -> Vec<PathBuf> {
        let nodes = (0..self.size).map(|process| self.trace_path(ProcessId(process)));
        nodes.chain([self.resource_trace_path(), self.parent_trace_path()]).collect()
    }
}
