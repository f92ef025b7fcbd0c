//! `tenure scenario`: reproduces worked examples of papers and textbooks.

use std::fmt::Write;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{InProcess, status, table};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::name_parser;
use crate::cmd::output::{Format, line_width, print, print_json, wrap};
use crate::lessons::{
    CompletedExperiment, ExperimentResults, Scenario, option_flag, run_experiments,
};

/// Reproduce a worked example of a paper or textbook: expected and observed results
///
/// Without a name, lists all scenarios. A scenario runs the algorithms and compares the observed
/// results with the expected ones. Its lines that begin with `tenure` can be copied and varied.
/// Exit status 1: an observation differs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure scenario
  tenure scenario race
  tenure scenario bully-eight-steps --broken")]
pub(crate) struct Options {
    /// Name of the scenario, such as race or bully-eight-steps
    #[arg(value_parser = name_parser::scenario(), hide_possible_values = true)]
    name: Option<String>,
    /// Change the scenario so that it must fail
    #[arg(long, requires = "name")]
    broken: bool,
    #[command(flatten)]
    varied: ScenarioOptions,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Parameters of scenarios; each scenario supports some of them.
#[derive(Debug, Args, Serialize)]
struct ScenarioOptions {
    /// Number of processes
    #[arg(short, value_name = "N")]
    n: Option<u32>,
    /// Two generals: minimum latency of a message, in units
    #[arg(long, value_name = "D")]
    min: Option<u64>,
    /// Two generals: maximum latency
    #[arg(long, value_name = "D")]
    max: Option<u64>,
    /// Two generals: time that the leader waits before it attacks
    #[arg(long, value_name = "D")]
    wait: Option<u64>,
    /// Number of seeds
    #[arg(long, value_name = "K")]
    seeds: Option<u64>,
    /// Race: initial value of the counter
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    start: Option<i64>,
}

impl ScenarioOptions {
    fn given(&self) -> Result<Map<String, Value>, Failure> {
        let Value::Object(all) = serde_json::to_value(self).map_err(Failure::environment)? else {
            unreachable!("options have names");
        };
        Ok(all.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }
}

#[derive(Serialize)]
struct ScenarioResult<'a> {
    name: &'a str,
    holds: bool,
    /// For each experiment, true if its observed results are as expected.
    held: Vec<bool>,
    expected: Value,
    observed: Value,
    done: Vec<&'a str>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let given = options.varied.given()?;
    let Some(name) = &options.name else {
        if let Some(name) = given.keys().next() {
            return Err(Failure::usage(format!(
                "{} requires the name of a scenario",
                option_flag(name)
            )));
        }
        list(options.format)?;
        return Ok(Status::Success);
    };
    let scenario = Scenario::find(name).map_err(Failure::usage)?;
    let experiments = scenario.experiments(&given).map_err(Failure::usage)?;
    let results = run_experiments(&experiments, &InProcess, options.broken)?;
    let result = ScenarioResult {
        name: &scenario.name,
        holds: results.all_hold(),
        held: results.0.iter().map(CompletedExperiment::holds).collect(),
        expected: results.expected_by_name(),
        observed: results.observed_by_name(),
        done: results.actions(),
    };
    options.format.print(&result, || text(scenario, &results))?;
    Ok(status(&results))
}

fn list(format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(&Scenario::all());
    }
    let mut text = String::new();
    for scenario in Scenario::all() {
        writeln!(text, "{}", scenario.name).expect("writing to a string succeeds");
        for line in wrap(&scenario.description, line_width() - 4) {
            writeln!(text, "    {line}").expect("writing to a string succeeds");
        }
    }
    text.push_str("\n`tenure scenario NAME` runs one; --broken changes it so that it fails.\n");
    print(&text)
}

fn text(scenario: &Scenario, results: &ExperimentResults) -> String {
    let mut lines = wrap(&format!("{}: {}", scenario.name, scenario.description), line_width());
    lines.extend(wrap(&format!("From {}.", scenario.source), line_width()));
    let verdict = if results.all_hold() {
        "All observations are as expected."
    } else {
        "Some observations differ from the expectation: see ✗."
    };
    format!("{}\n\n{}\n{verdict}\n", lines.join("\n"), table::format_results(results))
}
