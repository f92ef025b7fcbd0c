//! `tenure scenario`: the worked examples of papers and textbooks, made to happen.

mod applications;
mod elections;
mod knobs;
mod locks;
mod memory;
mod models;

use std::fmt::Write;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::experiment::{self, Experiment, Results};
use super::failure::{Failure, Status};
use super::output::{Format, WIDTH, print, print_json, wrapped};

use knobs::{Knob, Knobs};

pub(crate) use memory::record;

/// Make a worked example of a paper or textbook happen: expected beside observed
///
/// Without a name, lists them. Each scenario runs the algorithms themselves and compares what it
/// sees with what is expected; its lines that begin with `tenure` can be copied and varied. Exit
/// status 1: something else was observed.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Which, such as race or bully-eight-steps
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

/// A worked example.
struct Scenario {
    name: &'static str,
    /// Where it comes from.
    source: &'static str,
    /// What happens in it.
    says: &'static str,
    /// What may be varied.
    takes: &'static [Knob],
    experiments: fn(&Knobs) -> Vec<Experiment>,
}

/// By chapter.
const CHAPTERS: &[&[Scenario]] = &[
    models::SCENARIOS,
    memory::SCENARIOS,
    locks::problem::SCENARIOS,
    locks::central::SCENARIOS,
    locks::ring::SCENARIOS,
    locks::lamport::SCENARIOS,
    locks::ricart_agrawala::SCENARIOS,
    elections::problem::SCENARIOS,
    elections::lelann::SCENARIOS,
    elections::chang_roberts::SCENARIOS,
    elections::hirschberg_sinclair::SCENARIOS,
    elections::bully::SCENARIOS,
    applications::SCENARIOS,
];

/// What the list says of a scenario.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    source: &'static str,
    says: &'static str,
}

/// What came of a scenario.
#[derive(Serialize)]
struct Data<'a> {
    name: &'a str,
    holds: bool,
    expected: Value,
    observed: Value,
    /// What was done: lines to be copied, or words.
    done: Vec<&'a str>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let Some(name) = &options.name else {
        options.knobs.refuse_all()?;
        list(options.format)?;
        return Ok(Status::Held);
    };
    let scenario = find(name)?;
    options.knobs.check(scenario.name, scenario.takes)?;
    let experiments = (scenario.experiments)(&options.knobs);
    let results = experiment::conduct(&experiments, options.broken)?;
    match options.format {
        Format::Text => print(&text(scenario, &results))?,
        Format::Json => print_json(&Data {
            name: scenario.name,
            holds: results.hold(),
            expected: results.expected(),
            observed: results.observed(),
            done: results.acts(),
        })?,
    }
    Ok(results.status())
}

/// What a scenario does when nothing is varied.
pub(crate) fn experiments(name: &str) -> Result<Vec<Experiment>, Failure> {
    find(name).map(|scenario| (scenario.experiments)(&Knobs::default()))
}

fn all() -> impl Iterator<Item = &'static Scenario> {
    CHAPTERS.iter().copied().flatten()
}

fn find(name: &str) -> Result<&'static Scenario, Failure> {
    let names = || all().map(|scenario| scenario.name);
    all()
        .find(|scenario| scenario.name == name)
        .ok_or_else(|| experiment::unknown("scenario", name, names()))
}

fn list(format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let listed = |it: &Scenario| Listed { name: it.name, source: it.source, says: it.says };
        return print_json(&all().map(listed).collect::<Vec<_>>());
    }
    let mut text = String::new();
    for scenario in all() {
        writeln!(text, "{}", scenario.name).expect("a string takes everything");
        for line in wrapped(scenario.says, WIDTH - 4) {
            writeln!(text, "    {line}").expect("a string takes everything");
        }
    }
    text.push_str(
        "\n`tenure scenario NAME` makes one happen, --broken changes it so that it fails.\n",
    );
    print(&text)
}

fn text(scenario: &Scenario, results: &Results) -> String {
    let mut lines = wrapped(&format!("{}: {}", scenario.name, scenario.says), WIDTH);
    lines.extend(wrapped(&format!("From {}.", scenario.source), WIDTH));
    let verdict = if results.hold() {
        "Everything is as expected."
    } else {
        "Something else was expected: see ✗."
    };
    format!("{}\n\n{}\n{verdict}\n", lines.join("\n"), results.text())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_in_kebab_case_and_all_differ() {
        let mut seen = BTreeSet::new();
        for Scenario { name, source, says, .. } in all() {
            assert!(seen.insert(name), "{name} is there twice");
            assert!(
                name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-')
            );
            assert!(!source.ends_with('.') && says.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn each_experiment_of_a_scenario_holds_and_can_be_broken() {
        for scenario in all() {
            let experiments = (scenario.experiments)(&Knobs::default());
            for broken in [false, true] {
                let Results(conducted) = experiment::conduct(&experiments, broken).unwrap();
                for made in conducted {
                    assert_eq!(made.holds(), !broken, "{}: {made:#?}", scenario.name);
                }
            }
        }
    }

    #[test]
    fn what_is_expected_has_a_name_of_its_own_in_its_scenario() {
        for scenario in all() {
            let experiments = (scenario.experiments)(&Knobs::default());
            let names: Vec<_> = experiments.iter().flat_map(Experiment::names).collect();
            let different: BTreeSet<_> = names.iter().collect();
            assert_eq!(names.len(), different.len(), "{}: {names:?}", scenario.name);
        }
    }
}
