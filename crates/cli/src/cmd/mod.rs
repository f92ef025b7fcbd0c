//! The subcommands, one module each.

mod check;
mod choose;
mod compare;
mod completions;
mod duration;
mod failure;
mod group;
mod interrupt;
mod keys;
mod lab;
mod lessons;
mod list;
mod machine;
mod manual;
mod name_parser;
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
mod usage_error;

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

/// Runs the command line of this process, with the built-in algorithms and those of `own`. Prints a
/// failure as one line on standard error.
pub fn main(own: Catalogue) -> ExitCode {
    program::set_own_name(!own.is_empty());
    own.install();
    let command = Command::command().name(program::name()).bin_name(program::name());
    let parsed = command.try_get_matches().and_then(|it| Command::from_arg_matches(&it));
    let outcome = match parsed {
        Ok(command) => command.command.run(),
        Err(error) => usage_error::respond(&error),
    };
    match outcome {
        Ok(status) => status.into(),
        Err(failure) => {
            let message = failure.to_string();
            eprintln!("{}: {}", program::name(), program::with_program_name(&message));
            failure.status.into()
        }
    }
}

/// Joins the first names; a terminal has no room for all of them, and the most used come first.
fn first_names(names: &[&str]) -> String {
    const MAX_NAMES: usize = 12;
    match names.get(..MAX_NAMES) {
        Some(first) if names.len() > MAX_NAMES => format!("{} and more", first.join(", ")),
        _ => names.join(", "),
    }
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
    fn clap_definition_is_valid() {
        Command::command().debug_assert();
    }
}
