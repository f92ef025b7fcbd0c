//! `tenure man`: prints the manual pages.

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use super::failure::{Failure, Status};
use super::output::print_unwrapped;
use super::program;

/// Print the manual page of the command or of a subcommand
///
/// Pipe the page to `man -l -` to read it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure man run | man -l -")]
pub(crate) struct Options {
    /// Subcommand, such as run or trace diagram [default: the page that lists them]
    subcommand: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let mut command = super::Command::command().name(program::name());
    command.build();
    for name in &options.subcommand {
        let found = command.find_subcommand(name).cloned();
        command = found.ok_or_else(|| {
            let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
            let names = shown.map(clap::Command::get_name);
            let names = super::first_names(&names.collect::<Vec<_>>());
            Failure::usage(format!("unknown subcommand '{name}': expected {names}"))
        })?;
    }
    // The display name of a built subcommand includes its parents, joined by hyphens.
    let title = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    let written = Man::new(command).title(title).render(&mut page);
    written.map_err(Failure::environment)?;
    print_unwrapped(&String::from_utf8_lossy(&page))?;
    Ok(Status::Success)
}
