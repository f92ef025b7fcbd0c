//! Performs the experiments of lessons in this process. Experiments are command lines or named
//! calls.

mod calls;
pub(crate) mod question;
pub(crate) mod scenario;
mod scratch;
mod table;

use clap::Parser;
use serde_json::Value;
use tenure_trace::diagram::{DiagramOptions, RowLabel, TimeDirection, lay_out_files};

use super::failure::{Failure, Status};
use super::output::line_width;
use super::{Command, Subcommands, check, compare, interrupt, list, simulate, usage_error};
use crate::lessons::{ActionExecutor, ActionResult, ExperimentResults};

struct InProcess;

impl ActionExecutor for InProcess {
    type Failure = Failure;

    fn run_line(&self, line: &str, drawn: bool) -> Result<ActionResult, Failure> {
        uninterrupted(|| run_line(line, drawn))
    }

    fn call(&self, name: &str, arguments: &Value) -> Result<ActionResult, Failure> {
        uninterrupted(|| calls::call(name, arguments).map_err(Failure::usage))
    }

    fn usage_error(&self, failure: &Failure) -> Option<String> {
        (failure.status == Status::Usage).then(|| failure.to_string())
    }
}

/// Performs `act`. If the user interrupts `act`, returns an error, because the result of `act`
/// would be partial.
fn uninterrupted(
    act: impl FnOnce() -> Result<ActionResult, Failure>,
) -> Result<ActionResult, Failure> {
    interrupt::fail_if_interrupted("before it started")?;
    let made = act();
    interrupt::fail_if_interrupted("before it was complete")?;
    made
}

/// Performs a command line and returns its JSON output. If `drawn` is true and the command writes a
/// trace, also returns a diagram of the run.
fn run_line(line: &str, drawn: bool) -> Result<ActionResult, Failure> {
    let mut words = vec!["tenure".to_owned()];
    words.extend(tenure_lab::split_words(line).map_err(Failure::usage)?);
    if !drawn {
        return run_to_json(&words).map(ActionResult::from);
    }
    let folder = scratch::TempFolder::new().map_err(Failure::environment)?;
    let file = folder.file_path("trace.ndjson");
    words.extend(["--trace".to_owned(), file.to_string_lossy().into_owned()]);
    let data = run_to_json(&words)?;
    let picture = if folder.has_file(&file) {
        let layout =
            lay_out_files(&[file], DiagramOptions::default()).map_err(Failure::environment)?;
        Some(layout.to_text_within(TimeDirection::Down, RowLabel::Place, line_width()))
    } else {
        None
    };
    Ok(ActionResult { data, picture })
}

fn run_to_json(words: &[String]) -> Result<Value, Failure> {
    let command = Command::try_parse_from(words)
        .map_err(|error| Failure::usage(usage_error::one_line(&error)))?;
    match command.command {
        Subcommands::Simulate(options) => {
            let run_line = simulate::perform_runs(&options)?;
            serde_json::to_value(run_line.json_output()).map_err(Failure::environment)
        }
        Subcommands::Check(options) => check::run_to_json(&options),
        Subcommands::Compare(options) => compare::run_to_json(&options),
        Subcommands::List(options) => list::run_to_json(&options),
        _ => Err(Failure::usage(
            "unsupported command in an experiment: expected simulate, check, compare or list",
        )),
    }
}

fn status(results: &ExperimentResults) -> Status {
    if results.all_hold() { Status::Success } else { Status::Violated }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_returns_its_json_output() {
        let data = |line| InProcess.run_line(line, false).unwrap().data;
        let run = data("simulate ricart-agrawala -n 3 --entries 1");
        assert_eq!(run["messages"]["total"], 12);
        let checked = data("check token-ring -n 2 --duplicate 1 --beyond-assumptions");
        assert_eq!(checked["properties"]["mutual-exclusion"], "violated");
        assert_eq!(data("list central")[0]["name"], "central");
    }

    #[test]
    fn draws_counterexamples() {
        let picture = |line| InProcess.run_line(line, true).unwrap().picture;
        let drawn = picture("check ricart-agrawala -n 2 --variant clock-only-strict");
        assert!(drawn.is_some_and(|picture| picture.contains("P2")));
        assert_eq!(picture("check ricart-agrawala -n 2"), None);
    }

    #[test]
    fn rejects_unsupported_commands() {
        for line in ["run", "completions bash", "simulate", "simulate central -n none"] {
            assert!(InProcess.run_line(line, false).is_err(), "{line}");
        }
        assert!(InProcess.call("nothing", &Value::Null).is_err());
    }
}
