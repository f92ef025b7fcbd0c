//! Runs the commands of a page in a shell.

use std::borrow::Cow;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A shell in a temporary directory. The directory is removed when this value is dropped.
pub(super) struct Shell<'a> {
    root: &'a Path,
    /// Directory with built programs. Commands use these programs instead of `cargo run`. If
    /// `None`, `cargo run` builds the programs.
    built: Option<&'a Path>,
    /// Directory that contains only the command `tenure`.
    tools: TempDir,
    folder: TempDir,
}

pub(super) struct CommandOutput {
    pub(super) lines: Vec<String>,
    /// Exit status; -1 if a signal ended the command.
    pub(super) status: i32,
}

impl<'a> Shell<'a> {
    /// Creates a shell in which the word `tenure` runs the program at this path. If `built` is
    /// given, a command with `cargo run` uses the programs in that directory.
    pub(super) fn new(
        root: &'a Path,
        tenure: &Path,
        built: Option<&'a Path>,
    ) -> Result<Shell<'a>, String> {
        let failed = |error: io::Error| format!("cannot create a temporary directory: {error}");
        let tools = TempDir::with_prefix("tenure-tools-").map_err(failed)?;
        let tenure = std::path::absolute(tenure).map_err(failed)?;
        symlink(tenure, tools.path().join("tenure")).map_err(failed)?;
        let folder = TempDir::with_prefix("tenure-book-").map_err(failed)?;
        Ok(Shell { root, built, tools, folder })
    }

    pub(super) fn run(&self, command: &str) -> io::Result<CommandOutput> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let tools = self.tools.path().to_path_buf();
        let path = std::iter::once(tools).chain(std::env::split_paths(&inherited));
        let path = std::env::join_paths(path).map_err(io::Error::other)?;
        let folder = if command.starts_with("cargo ") { self.root } else { self.folder.path() };
        let command =
            self.built.map_or(Cow::Borrowed(command), |built| without_build(command, built));
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
        Ok(CommandOutput { lines, status: output.status.code().unwrap_or(-1) })
    }
}

/// Replaces `cargo run` in a command by the path of the program. The folder `built` contains the
/// program.
fn without_build<'c>(command: &'c str, built: &Path) -> Cow<'c, str> {
    let Some(line) = command.strip_prefix("cargo run ") else { return Cow::Borrowed(command) };
    let (options, words) = line.split_once("-- ").unwrap_or((line, ""));
    let behind = |option: &str| {
        let mut options = options.split_whitespace().skip_while(|it| *it != option);
        options.nth(1)
    };
    let program = match (behind("--example"), behind("-p")) {
        (Some(example), _) => built.join("examples").join(example),
        (None, Some(package)) => built.join(package),
        (None, None) => return Cow::Borrowed(command),
    };
    Cow::Owned(format!("{} {words}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_built_programs() {
        let without = |command| without_build(command, Path::new("/built")).into_owned();
        let own = without("cargo run -q -p own-lock -- check mine -n 2 -- x");
        assert_eq!(own, "/built/own-lock check mine -n 2 -- x");
        assert_eq!(without("cargo run -q -p tenure --example 01_a"), "/built/examples/01_a ");
        assert_eq!(without("cargo test -p own-lock"), "cargo test -p own-lock");
    }
}
