//! `cargo xtask pictures`: the worked examples, drawn from their golden stories.
//!
//! The test that sees whether they are current is what draws them, too, so that there is one
//! list of them.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Draws the pictures, or says whether they are what would be drawn.
///
/// Exit status 1 if they are not, or if they could not be drawn.
pub(crate) fn main(root: &Path, writes: bool) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut test = Command::new(cargo);
    test.current_dir(root);
    test.args(["test", "--quiet", "--package", "tenure-sim", "--test", "sim", "pictures::stories"]);
    if writes {
        test.env("TENURE_PICTURES", "rewrite");
    }
    match test.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
