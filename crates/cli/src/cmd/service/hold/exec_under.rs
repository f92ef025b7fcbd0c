//! `tenure exec-under`, a hidden subcommand: replaces itself by a command. On Linux, the kernel
//! kills this command when the parent process ends.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::cmd::capture::print_stderr_line;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::node;

/// Replace this process by a command that the system kills when the parent ends
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Process ID of the parent
    #[arg(long, value_name = "ID")]
    parent: i32,
    /// Command to run, with its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// Replaces this process by the command. If the command cannot be started, ends this process with
/// the exit status that a shell has in this case: 127 if there is no such program, and 126
/// otherwise.
pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    node::end_with_parent(options.parent)?;
    let [program, arguments @ ..] = &options.command[..] else {
        return Err(Failure::usage("missing command: give the command to run"));
    };
    let error = Command::new(program).args(arguments).exec();
    print_stderr_line(&format!("tenure: cannot run `{}`: {error}", program.to_string_lossy()));
    let is_missing = error.kind() == ErrorKind::NotFound;
    std::process::exit(if is_missing { 127 } else { 126 })
}
