//! `tenure exec-under`, hidden: becomes a command that the kernel kills when its parent ends.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::cmd::failure::{Failure, Status};
use crate::cmd::node;

/// Become a command that the system kills when the process that started this one ends
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The process that started this one
    #[arg(long, value_name = "ID")]
    parent: i32,
    /// The command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// Returns only if there is no such command: with the status that shells have for that.
pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    node::end_with(options.parent)?;
    let [program, arguments @ ..] = &options.command[..] else {
        return Err(Failure::usage("a command is missing"));
    };
    let error = Command::new(program).args(arguments).exec();
    eprintln!("tenure: `{}` cannot be run: {error}", program.to_string_lossy());
    let is_missing = error.kind() == ErrorKind::NotFound;
    std::process::exit(if is_missing { 127 } else { 126 })
}
