//! `tenure scenario`: the worked examples of papers and textbooks, made to happen.

use std::fmt::Write;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use tenure_lessons::{Conducted, Results, Scenario, conduct, option};

use super::{Here, status, table};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::known;
use crate::cmd::output::{Format, print, print_json, width, wrapped};

/// Make a worked example of a paper or textbook happen: expected beside observed
///
/// Without a name, lists them. Each scenario runs the algorithms themselves and compares what it
/// sees with what is expected; its lines that begin with `tenure` can be copied and varied. Exit
/// status 1: something else was observed.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Which, such as race or bully-eight-steps
    #[arg(value_parser = known::scenario(), hide_possible_values = true)]
    name: Option<String>,
    /// Change one parameter so that it must fail
    #[arg(long, requires = "name")]
    broken: bool,
    #[command(flatten)]
    knobs: Knobs,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What may be varied; each scenario takes some of them.
#[derive(Debug, Args, Serialize)]
struct Knobs {
    /// How many processes
    #[arg(short, value_name = "N")]
    n: Option<u32>,
    /// Two generals: the least that a message takes, in units
    #[arg(long, value_name = "D")]
    min: Option<u64>,
    /// Two generals: the most that it takes
    #[arg(long, value_name = "D")]
    max: Option<u64>,
    /// Two generals: how long the leader waits before it attacks
    #[arg(long, value_name = "D")]
    wait: Option<u64>,
    /// How many seeds
    #[arg(long, value_name = "K")]
    seeds: Option<u64>,
    /// The race: what the counter is at the start
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    start: Option<i64>,
}

impl Knobs {
    /// Those that were given, by name.
    fn given(&self) -> Result<Map<String, Value>, Failure> {
        let Value::Object(all) = serde_json::to_value(self).map_err(Failure::environment)? else {
            unreachable!("options have names");
        };
        Ok(all.into_iter().filter(|(_, value)| !value.is_null()).collect())
    }
}

/// What the list says of a scenario.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    source: &'a str,
    says: &'a str,
}

/// What came of a scenario.
#[derive(Serialize)]
struct Data<'a> {
    name: &'a str,
    holds: bool,
    /// Which of its experiments hold, in their order.
    held: Vec<bool>,
    expected: Value,
    observed: Value,
    /// What was done: lines to be copied, or words.
    done: Vec<&'a str>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let given = options.knobs.given()?;
    let Some(name) = &options.name else {
        if let Some(name) = given.keys().next() {
            return Err(Failure::usage(format!(
                "{} belongs to a scenario; name one",
                option(name)
            )));
        }
        list(options.format)?;
        return Ok(Status::Held);
    };
    let scenario = Scenario::find(name).map_err(Failure::usage)?;
    let experiments = scenario.experiments(&given).map_err(Failure::usage)?;
    let results = conduct(&experiments, &Here, options.broken)?;
    match options.format {
        Format::Text => print(&text(scenario, &results))?,
        Format::Json => print_json(&Data {
            name: &scenario.name,
            holds: results.hold(),
            held: results.0.iter().map(Conducted::holds).collect(),
            expected: results.expected(),
            observed: results.observed(),
            done: results.acts(),
        })?,
    }
    Ok(status(&results))
}

fn list(format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let listed = Scenario::all().iter();
        let listed = listed.map(|it| Listed { name: &it.name, source: &it.source, says: &it.says });
        return print_json(&listed.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for scenario in Scenario::all() {
        writeln!(text, "{}", scenario.name).expect("a string takes everything");
        for line in wrapped(&scenario.says, width() - 4) {
            writeln!(text, "    {line}").expect("a string takes everything");
        }
    }
    text.push_str(
        "\n`tenure scenario NAME` makes one happen, --broken changes it so that it fails.\n",
    );
    print(&text)
}

fn text(scenario: &Scenario, results: &Results) -> String {
    let mut lines = wrapped(&format!("{}: {}", scenario.name, scenario.says), width());
    lines.extend(wrapped(&format!("From {}.", scenario.source), width()));
    let verdict = if results.hold() {
        "Everything is as expected."
    } else {
        "Something else was expected: see ✗."
    };
    format!("{}\n\n{}\n{verdict}\n", lines.join("\n"), table::text(results))
}
