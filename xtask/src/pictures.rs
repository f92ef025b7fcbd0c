//! `cargo xtask pictures`: draws the pictures of the worked examples. Each picture shows a recorded
//! run that is stored in the repository.
//!
//! A test of the simulator draws the pictures and checks them. This program runs the test, so that
//! the list of pictures exists only in the test.

use std::path::Path;
use std::process::ExitCode;

use crate::program::cargo;

/// Draws the pictures if `writes` is true. Otherwise checks that the pictures are up to date.
///
/// Exits with status 1 if a picture is out of date or could not be drawn.
pub(crate) fn main(root: &Path, writes: bool) -> ExitCode {
    let mut test = cargo(root);
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
