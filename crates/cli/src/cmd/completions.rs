//! `tenure completions`: prints a completion script for a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::failure::{Failure, Status};
use super::output::print_unwrapped;
use super::program;

/// Print the completion script for a shell
///
/// Save it where the shell looks for completions.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure completions bash > ~/.local/share/bash-completion/completions/tenure
  tenure completions fish > ~/.config/fish/completions/tenure.fish")]
pub(crate) struct Options {
    /// Shell to generate completions for
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let mut script = Vec::new();
    let mut command = super::Command::command();
    clap_complete::generate(options.shell, &mut command, program::name(), &mut script);
    print_unwrapped(&String::from_utf8_lossy(&script))?;
    Ok(Status::Success)
}
