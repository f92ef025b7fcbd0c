//! The command `tenure`, performed in this process.

use clap::Parser;
use serde_json::Value;
use tenure_trace::diagram::{Direction, Margin, View, lay_out_files};

use super::Made;
use crate::cmd::failure::Failure;
use crate::cmd::{Command, Subcommands, check, compare, list, simulate};

/// Does what a line says and gives what it would print as JSON.
pub(crate) fn perform(line: &str) -> Result<Value, Failure> {
    let words = ["tenure"].into_iter().chain(line.split_whitespace());
    perform_words(&words.map(str::to_owned).collect::<Vec<_>>())
}

/// The same with a picture of the trace that it writes.
pub(super) fn perform_drawn(line: &str) -> Result<Made, Failure> {
    let folder = tempfile::tempdir().map_err(Failure::environment)?;
    let file = folder.path().join("trace.ndjson");
    let words = ["tenure"].into_iter().chain(line.split_whitespace());
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.extend(["--trace".to_owned(), file.to_string_lossy().into_owned()]);
    let data = perform_words(&words)?;
    let picture = if file.exists() {
        let layout = lay_out_files(&[file], View::default()).map_err(Failure::environment)?;
        Some(layout.to_text(Direction::Down, Margin::Place))
    } else {
        None
    };
    Ok(Made { data, picture })
}

fn perform_words(words: &[String]) -> Result<Value, Failure> {
    let command = Command::try_parse_from(words).map_err(|error| {
        let says = error.to_string();
        Failure::usage(says.lines().next().unwrap_or_default())
    })?;
    match command.command {
        Subcommands::Simulate(options) => {
            let performed = simulate::perform(&options)?;
            serde_json::to_value(performed.data()).map_err(Failure::environment)
        }
        Subcommands::Check(options) => {
            serde_json::to_value(check::perform(&options)?).map_err(Failure::environment)
        }
        Subcommands::Compare(options) => compare::data(&options),
        Subcommands::List(options) => list::data(&options),
        _ => Err(Failure::usage("an experiment simulates, checks, compares or lists")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_what_it_would_print() {
        let run = perform("simulate ricart-agrawala -n 3 --entries 1").unwrap();
        assert_eq!(run["messages"]["total"], 12);
        let checked = perform("check token-ring -n 2 --duplicate 1").unwrap();
        assert_eq!(checked["properties"]["mutual-exclusion"], "violated");
        assert_eq!(perform("list central").unwrap()[0]["name"], "central");
    }

    #[test]
    fn a_counterexample_is_drawn() {
        let made = perform_drawn("check ricart-agrawala -n 2 --variant clock-only-strict").unwrap();
        assert!(made.picture.is_some_and(|picture| picture.contains("P2")));
        assert_eq!(perform_drawn("check ricart-agrawala -n 2").unwrap().picture, None);
    }

    #[test]
    fn what_is_no_experiment_is_refused() {
        for line in ["run", "completions bash", "simulate", "simulate central -n none"] {
            assert!(perform(line).is_err(), "{line}");
        }
    }
}
