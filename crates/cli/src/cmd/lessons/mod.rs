//! What lessons ask for: lines, which are done in this process by the code of the command, and
//! calls.

mod calls;
pub(crate) mod question;
pub(crate) mod scenario;
mod table;

use clap::Parser;
use serde_json::Value;
use tenure_lessons::{Made, Performs, Results};
use tenure_trace::diagram::{Direction, Margin, View, lay_out_files};

use super::failure::{Failure, Status};
use super::output::width;
use super::{Command, Subcommands, check, compare, interrupt, list, simulate};

/// This process.
struct Here;

impl Performs for Here {
    type Failure = Failure;

    fn line(&self, line: &str, drawn: bool) -> Result<Made, Failure> {
        unless_interrupted(|| performed(line, drawn))
    }

    fn call(&self, name: &str, arguments: &Value) -> Result<Made, Failure> {
        unless_interrupted(|| calls::call(name, arguments).map_err(Failure::usage))
    }

    fn refused(&self, failure: &Failure) -> Option<String> {
        (failure.status == Status::Usage).then(|| failure.to_string())
    }
}

/// What was cut short has other figures, and says nothing.
fn unless_interrupted(act: impl FnOnce() -> Result<Made, Failure>) -> Result<Made, Failure> {
    interrupt::check("before it began")?;
    let made = act();
    interrupt::check("before this was over")?;
    made
}

/// The words of a line, as a shell takes them apart: what stands in '…' is one of them.
fn words(line: &str) -> Vec<String> {
    let mut words = vec!["tenure".to_owned()];
    for (place, part) in line.split('\'').enumerate() {
        if place % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Does what a line says, and draws the trace that it writes.
fn performed(line: &str, drawn: bool) -> Result<Made, Failure> {
    let mut words = words(line);
    if !drawn {
        return perform(&words).map(Made::from);
    }
    let folder = tempfile::tempdir().map_err(Failure::environment)?;
    let file = folder.path().join("trace.ndjson");
    words.extend(["--trace".to_owned(), file.to_string_lossy().into_owned()]);
    let data = perform(&words)?;
    let picture = if file.exists() {
        let layout = lay_out_files(&[file], View::default()).map_err(Failure::environment)?;
        Some(layout.to_text_within(Direction::Down, Margin::Place, width()))
    } else {
        None
    };
    Ok(Made { data, picture })
}

/// Does what a line says and gives what it would print as JSON.
fn perform(words: &[String]) -> Result<Value, Failure> {
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

/// What a script is told by an exit status.
fn status(results: &Results) -> Status {
    if results.hold() { Status::Held } else { Status::Violated }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_what_it_would_print() {
        let data = |line| Here.line(line, false).unwrap().data;
        let run = data("simulate ricart-agrawala -n 3 --entries 1");
        assert_eq!(run["messages"]["total"], 12);
        let checked = data("check token-ring -n 2 --duplicate 1 --beyond-assumptions");
        assert_eq!(checked["properties"]["mutual-exclusion"], "violated");
        assert_eq!(data("list central")[0]["name"], "central");
    }

    #[test]
    fn a_counterexample_is_drawn() {
        let picture = |line| Here.line(line, true).unwrap().picture;
        let drawn = picture("check ricart-agrawala -n 2 --variant clock-only-strict");
        assert!(drawn.is_some_and(|picture| picture.contains("P2")));
        assert_eq!(picture("check ricart-agrawala -n 2"), None);
    }

    #[test]
    fn what_is_no_experiment_is_refused() {
        for line in ["run", "completions bash", "simulate", "simulate central -n none"] {
            assert!(Here.line(line, false).is_err(), "{line}");
        }
        assert!(Here.call("nothing", &Value::Null).is_err());
    }
}
