//! Runs what the reader would type.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A shell in an empty folder, which goes with it.
pub(super) struct Shell<'a> {
    root: &'a Path,
    /// The folder of the command `tenure`.
    tools: PathBuf,
    folder: TempDir,
}

/// What a command did.
pub(super) struct Said {
    pub(super) lines: Vec<String>,
    /// The exit status; -1 if a signal ended it.
    pub(super) status: i32,
}

impl<'a> Shell<'a> {
    /// A shell where `tenure` is the program of that path.
    pub(super) fn new(root: &'a Path, tenure: &Path) -> Result<Shell<'a>, String> {
        let failed = |error: io::Error| format!("no folder to run in: {error}");
        if tenure.file_name().is_none_or(|name| name != "tenure") {
            return Err(format!("{}: the command is called `tenure`", tenure.display()));
        }
        let tools = std::path::absolute(tenure).map_err(failed)?;
        let tools = tools.parent().unwrap_or(Path::new("/")).to_path_buf();
        let folder = TempDir::with_prefix("tenure-book-").map_err(failed)?;
        Ok(Shell { root, tools, folder })
    }

    /// Runs a command to its end.
    pub(super) fn run(&self, command: &str) -> io::Result<Said> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.tools.clone()).chain(std::env::split_paths(&inherited));
        let path = std::env::join_paths(path).map_err(io::Error::other)?;
        let folder = if command.starts_with("cargo ") { self.root } else { self.folder.path() };
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(folder)
            .env("PATH", path)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("COLUMNS")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().map(|line| line.trim_end().to_owned()).collect();
        Ok(Said { lines, status: output.status.code().unwrap_or(-1) })
    }
}
