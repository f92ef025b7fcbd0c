//! Executes cargo, and builds the command `tenure` for generators and checks.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Returns a command that runs cargo in the repository.
pub(crate) fn cargo(root: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).stdin(Stdio::null());
    command
}

/// Builds the command `tenure` and returns its path. The build reuses the compiled files of
/// `cargo run --release`, because the options are the same.
pub(crate) fn build_tenure(root: &Path) -> Result<PathBuf, String> {
    let files = build_files(root, "release", &["--bin", "tenure-textbook"])?;
    let name = format!("tenure-textbook{}", std::env::consts::EXE_SUFFIX);
    let program = files.into_iter().rfind(|file| file.ends_with(&name));
    program.ok_or_else(|| "cargo did not build the command".to_owned())
}

/// Executes `cargo build` with a profile and these arguments, and returns the built files.
pub(crate) fn build_files(
    root: &Path,
    profile: &str,
    arguments: &[&str],
) -> Result<Vec<PathBuf>, String> {
    let output = cargo(root)
        .args(["build", "--profile", profile, "--locked", "--quiet"])
        .args(["--message-format", "json-render-diagnostics"])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let files = messages.flat_map(|it| it["filenames"].as_array().cloned().unwrap_or_default());
    Ok(files.filter_map(|name| name.as_str().map(PathBuf::from)).collect())
}
