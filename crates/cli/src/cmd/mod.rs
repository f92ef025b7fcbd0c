//! The subcommands, a file for each.

mod check;
mod choose;
mod compare;
mod completions;
mod duration;
mod failure;
mod group;
mod interrupt;
mod keys;
mod known;
mod lab;
mod lessons;
mod list;
mod machine;
mod manual;
mod misread;
mod node;
mod notify;
mod output;
mod program;
mod property;
mod run;
#[cfg(feature = "service")]
mod service;
#[cfg(not(feature = "service"))]
#[path = "no_service.rs"]
mod service;
mod simulate;
mod size;
mod status;
mod trace;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tenure_instances::Catalogue;

use failure::{Failure, Status};

/// Leader election and distributed mutual exclusion that you can check, watch and run.
#[derive(Debug, Parser)]
#[command(name = "tenure", version, max_term_width = 100)]
struct Command {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    Run(Box<run::Options>),
    Check(Box<check::Options>),
    Simulate(Box<simulate::Options>),
    Compare(Box<compare::Options>),
    Scenario(lessons::scenario::Options),
    Question(lessons::question::Options),
    Lab(lab::Options),
    Node(node::Options),
    #[command(flatten)]
    Service(service::Subcommands),
    Status(status::Options),
    Keys(keys::Options),
    Choose(choose::Options),
    List(list::Options),
    Trace(trace::Options),
    Completions(completions::Options),
    Man(manual::Options),
}

/// The command: does what the command line of this process asks for, with the algorithms of the
/// house and with those that the program brings along. Every failure is one line on standard error.
pub fn main(own: Catalogue) -> ExitCode {
    program::is_called(!own.is_empty());
    own.install();
    let command = Command::command().name(program::name()).bin_name(program::name());
    let parsed = command.try_get_matches().and_then(|it| Command::from_arg_matches(&it));
    let done = match parsed {
        Ok(command) => command.command.run(),
        Err(error) => misread::answer(&error),
    };
    match done {
        Ok(status) => status.into(),
        Err(failure) => {
            let says = failure.to_string();
            eprintln!("{}: {}", program::name(), program::with_own_name(&says));
            failure.status.into()
        }
    }
}

/// Names in a line that a terminal has room for: the first of them, which are the most used.
fn some(names: &[&str]) -> String {
    const MOST: usize = 12;
    match names.get(..MOST) {
        Some(first) if names.len() > MOST => format!("{} and more", first.join(", ")),
        _ => names.join(", "),
    }
}

/// What is said where a subcommand is missing behind these words.
fn missing(words: impl Iterator<Item = String>) -> String {
    let mut command = Command::command();
    let mut typed = program::name().to_owned();
    for word in words {
        let Some(found) = command.find_subcommand(&word).cloned() else { break };
        typed = format!("{typed} {word}");
        command = found;
    }
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    let names = some(&names);
    if command.get_name() == "tenure" {
        return format!("a command is missing: {names}; `tenure run` is the main job");
    }
    format!("`{typed}` needs one of {names} behind it")
}

impl Subcommands {
    fn run(self) -> Result<Status, Failure> {
        match self {
            Subcommands::Run(options) => run::run(*options),
            Subcommands::Check(options) => check::run(*options),
            Subcommands::Simulate(options) => simulate::run(&options),
            Subcommands::Compare(options) => compare::run(&options),
            Subcommands::Scenario(options) => lessons::scenario::run(&options),
            Subcommands::Question(options) => lessons::question::run(&options),
            Subcommands::Lab(options) => lab::run(&options),
            Subcommands::Node(options) => node::run(options),
            Subcommands::Service(subcommand) => subcommand.run(),
            Subcommands::Status(options) => status::run(&options),
            Subcommands::Keys(options) => keys::run(&options),
            Subcommands::Choose(options) => choose::run(&options),
            Subcommands::List(options) => list::run(&options),
            Subcommands::Trace(options) => trace::run(&options),
            Subcommands::Completions(options) => completions::run(&options),
            Subcommands::Man(options) => manual::run(&options),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Command::command().debug_assert();
    }

    #[test]
    fn what_is_missing_is_told_where_it_is_missing() {
        let words = |line: &'static str| line.split(' ').map(str::to_owned);
        let says = missing(words("trace"));
        assert!(says.starts_with("`tenure trace` needs one of verify, show, diagram"), "{says}");
        assert!(missing(words("")).contains("run, check, simulate"));
    }
}
