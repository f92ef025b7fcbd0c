//! The subcommands of `tenure`, one module each.

mod capture;
mod card_text;
mod check;
mod checker_only_card;
#[cfg(not(target_family = "wasm"))]
mod choose;
mod compare;
#[cfg(not(target_family = "wasm"))]
mod completions;
mod custom_monitors;
mod custom_property;
mod duration;
pub mod embedded;
mod failure;
mod graph;
mod group;
mod interrupt;
#[cfg(not(target_family = "wasm"))]
mod keys;
mod lab;
mod lessons;
mod list;
#[cfg(not(target_family = "wasm"))]
mod machine;
#[cfg(target_family = "wasm")]
#[path = "wasm_machine.rs"]
mod machine;
#[cfg(not(target_family = "wasm"))]
mod manual;
mod name_parser;
#[cfg(not(target_family = "wasm"))]
mod node;
#[cfg(not(target_family = "wasm"))]
mod notify;
mod output;
mod program;
mod progress_bar;
mod property;
#[cfg(not(target_family = "wasm"))]
mod prove;
mod rows;
#[cfg(not(target_family = "wasm"))]
mod run;
mod scale;
#[cfg(feature = "service")]
mod service;
#[cfg(all(not(feature = "service"), not(target_family = "wasm")))]
#[path = "no_service.rs"]
mod service;
mod simulate;
mod size;
mod stabilizing_card;
#[cfg(not(target_family = "wasm"))]
mod status;
mod sweep;
mod timeout_option;
mod trace;
mod usage_error;
mod verification_extent;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use tenure_instances::{CustomAlgorithms, CustomMonitors};

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
    #[cfg(not(target_family = "wasm"))]
    Run(Box<run::Options>),
    Check(Box<check::Options>),
    #[cfg(not(target_family = "wasm"))]
    Prove(prove::Options),
    Simulate(Box<simulate::Options>),
    Compare(Box<compare::Options>),
    Merge(sweep::merge::Options),
    Scenario(lessons::scenario::Options),
    Question(lessons::question::Options),
    #[cfg(not(target_family = "wasm"))]
    Lab(lab::server::Options),
    #[cfg(not(target_family = "wasm"))]
    Node(node::Options),
    #[cfg(not(target_family = "wasm"))]
    #[command(flatten)]
    Service(service::Subcommands),
    #[cfg(not(target_family = "wasm"))]
    Status(status::Options),
    #[cfg(not(target_family = "wasm"))]
    Keys(keys::Options),
    #[cfg(not(target_family = "wasm"))]
    Choose(choose::Options),
    List(list::Options),
    Trace(trace::Options),
    #[cfg(not(target_family = "wasm"))]
    Completions(completions::Options),
    #[cfg(not(target_family = "wasm"))]
    Man(manual::Options),
}

/// Runs `tenure` with the arguments of this process, and returns its exit status. The catalogue
/// contains the built-in algorithms and those of `own_algorithms`. The built-in monitors and those
/// of `monitors` judge the runs. If the command fails, prints its error to standard error.
pub fn main(own_algorithms: CustomAlgorithms, monitors: CustomMonitors) -> ExitCode {
    program::init_name(!own_algorithms.is_empty() || !monitors.is_empty());
    own_algorithms.install();
    monitors.install();
    run_line(std::env::args_os().collect()).into()
}

/// Runs a command line, whose first word is the name of the program. If the command fails, prints
/// its error to standard error.
fn run_line(words: Vec<OsString>) -> Status {
    let command = Command::command().name(program::name()).bin_name(program::name());
    let command = with_negative_values(command);
    let words = with_help_as_subcommand(&command, words);
    let parsed = command.try_get_matches_from(words).and_then(|it| Command::from_arg_matches(&it));
    let outcome = match parsed {
        Ok(command) => command.command.run(),
        Err(error) => usage_error::print_help_or_error(&error),
    };
    outcome.unwrap_or_else(|failure| {
        let message = failure.to_string();
        let message = program::replace_program_name(&message);
        capture::print_stderr_line(&format!("{}: {message}", program::name()));
        failure.status
    })
}

/// Lets each option read a negative number as its value. The parser of the value then rejects the
/// number and states which values are allowed.
fn with_negative_values(command: clap::Command) -> clap::Command {
    let accept = |arg: clap::Arg| {
        let is_option = arg.get_action().takes_values() && !arg.is_positional();
        if is_option { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(accept).mut_subcommands(with_negative_values)
}

/// Parses options and arguments of the type `T`, such as the options in the header of a trace. The
/// words contain neither the name of the program nor that of a subcommand.
fn parse_options<T: Args>(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<T, clap::Error> {
    let command = T::augment_args(clap::Command::new("tenure").no_binary_name(true));
    let command = with_negative_values(command);
    T::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Removes `--help` and `-h` behind the subcommand `help`. This subcommand of clap has no options,
/// and would read `--help` as the name of a subcommand. If no other word follows, adds a second
/// `help`: `help --help` becomes `help help`.
fn with_help_as_subcommand(command: &clap::Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let mut group = command;
    for place in 1..words.len() {
        if words[place] == "help" && group.has_subcommands() {
            let is_option = |word: &OsString| word == "--help" || word == "-h";
            let topic = words.split_off(place + 1);
            let (options, mut topic): (Vec<_>, Vec<_>) = topic.into_iter().partition(is_option);
            if !options.is_empty() && topic.is_empty() {
                topic.push("help".into());
            }
            words.append(&mut topic);
            break;
        }
        match words[place].to_str().and_then(|word| group.find_subcommand(word)) {
            Some(subcommand) => group = subcommand,
            None => break,
        }
    }
    words
}

/// Joins the first twelve names of a list of subcommands. A terminal has no room for all names, and
/// the most used subcommands are listed first.
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
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Run(options) => run::run(*options),
            Subcommands::Check(options) => check::run(*options),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Prove(options) => prove::run(&options),
            Subcommands::Simulate(options) => simulate::run(&options),
            Subcommands::Compare(options) => compare::run(&options),
            Subcommands::Merge(options) => sweep::merge::run(&options),
            Subcommands::Scenario(options) => lessons::scenario::run(&options),
            Subcommands::Question(options) => lessons::question::run(&options),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Lab(options) => lab::server::run(&options),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Node(options) => node::run(options),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Service(subcommand) => subcommand.run(),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Status(options) => status::run(&options),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Keys(options) => keys::run(&options),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Choose(options) => choose::run(&options),
            Subcommands::List(options) => list::run(&options),
            Subcommands::Trace(options) => trace::run(&options),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Completions(options) => completions::run(&options),
            #[cfg(not(target_family = "wasm"))]
            Subcommands::Man(options) => manual::run(&options),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_accepts_the_option_for_help() {
        let rewritten = |line: &str| {
            let words = std::iter::once("tenure").chain(line.split_whitespace());
            let words = words.map(OsString::from).collect();
            let words = with_help_as_subcommand(&Command::command(), words);
            words[1..].join(" ".as_ref()).into_string().expect("text")
        };
        for (line, expected) in [
            ("help --help", "help help"),
            ("help -h", "help help"),
            ("trace help --help", "trace help help"),
            ("help check --help", "help check"),
            ("help --help trace show", "help trace show"),
            ("help check", "help check"),
            ("help", "help"),
            // A lock with the name `help`.
            ("lock help -- ls --help", "lock help -- ls --help"),
            ("trace show help --help", "trace show help --help"),
            ("--help", "--help"),
        ] {
            assert_eq!(rewritten(line), expected);
        }
    }

    #[test]
    fn clap_definition_is_valid() {
        Command::command().debug_assert();
    }
}
