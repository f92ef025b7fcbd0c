//! `tenure trace replay`: a recorded run, made to happen again.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, ValueEnum};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_algorithms::catalogue::{self, Parameters, Visitor};
use tenure_core::{Algorithm, Card, Election, Mutex, Protocol, Rebase};
use tenure_runtime as runtime;
use tenure_sim::{Settings, Simulation, UserCommand, UserEvent};
use tenure_trace::{
    Asked, Course, Header, Judgement, Kind, Spoken, Told, Trace, Verification, plain, verify_files,
};

use super::of_input;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::group::GroupOptions;
use crate::cmd::output::{Format, print, print_json};

/// How many further steps a run that ended may take, so that nobody waits only for time to pass.
const FURTHER_STEPS: u32 = 200;

/// Make the run of a trace that violates a property happen again: does it violate the same?
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The trace, as `tenure check --trace` or `tenure simulate --trace` saved it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where it happens
    #[arg(long, value_enum, default_value_t)]
    over: Over,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Where a run happens again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Over {
    /// In the simulator
    #[default]
    Simulator,
    /// On real nodes on this machine, which talk TCP
    Tcp,
}

/// What is needed to make the group of a trace again.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    group: GroupOptions,
}

#[derive(Serialize)]
struct Outcome<'a> {
    property: &'a str,
    over: &'a str,
    steps: usize,
    violated_again: bool,
    verification: Verification,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let trace = Trace::read(&options.file).map_err(|error| of_input(error.into()))?;
    let property = &violated(&trace, &options.file)?;
    let parameters = parameters(&trace.header)?;
    let course = Course::of_trace(&trace).map_err(Failure::usage)?;
    let directory = tempfile::tempdir().map_err(Failure::environment)?;
    let again = Again {
        over: options.over,
        trace: &trace,
        course,
        ranks: parameters.ranks.clone(),
        directory: directory.path(),
    };
    let (files, steps) =
        catalogue::visit(&trace.header.algorithm, &parameters, again).map_err(Failure::usage)??;
    let verification = verify_files(&files).map_err(of_input)?;
    // Clocks of a trace count what applications say, wherever they say anything.
    let name = if property.starts_with("order") { "order" } else { property };
    let judged = verification.properties.get(name);
    // Whoever still waits after all that could be carried on waits for ever, unless for somebody
    // who is inside.
    let waits = !verification.waiting.is_empty() && verification.inside.is_empty();
    let waits = property == "progress" && waits;
    let again = waits || judged == Some(&Judgement::Violated);
    report(
        options,
        &Outcome {
            property,
            over: if options.over == Over::Tcp { "tcp" } else { "simulator" },
            steps,
            violated_again: again,
            verification,
        },
    )?;
    Ok(if again { Status::Violated } else { Status::Held })
}

/// What a run violates: what it was kept for, or what its verification finds.
fn violated(trace: &Trace, file: &Path) -> Result<String, Failure> {
    if let Some(property) = &trace.header.violates {
        return Ok(property.clone());
    }
    let verification = verify_files(&[file]).map_err(of_input)?;
    let first = verification.violations.first();
    first.map(|found| found.property.to_owned()).ok_or_else(|| {
        Failure::usage("this run violates nothing; `tenure check --trace` keeps one that does")
    })
}

/// What configures the algorithm and its group, as the head of a trace says it.
pub(crate) fn parameters(header: &Header) -> Result<Parameters, Failure> {
    let words = ["replay".to_owned()].into_iter().chain(header.options.iter().cloned());
    let line = Line::try_parse_from(words).map_err(|_| {
        Failure::usage("the options in the head of this trace are not understood; another release?")
    })?;
    line.group.parameters()
}

fn report(options: &Options, outcome: &Outcome<'_>) -> Result<(), Failure> {
    if options.format == Format::Json {
        return print_json(outcome);
    }
    let Outcome { property, over, steps, violated_again, verification } = outcome;
    let again = if *violated_again { "violated again" } else { "not violated this time" };
    let property = plain(property);
    let mut text = format!("{property} {again}, over {over}, {steps} steps\n");
    for violation in verification.violations.iter().filter(|it| property.starts_with(it.property)) {
        text.push_str(&format!("  {}\n", violation.says));
    }
    print(&text)
}

/// Makes the run happen again, once the protocol's type is known.
struct Again<'a> {
    over: Over,
    trace: &'a Trace,
    course: Course,
    ranks: std::sync::Arc<[tenure_core::Rank]>,
    directory: &'a Path,
}

impl Visitor for Again<'_> {
    /// The traces that were written, and how many steps there were.
    type Output = Result<(Vec<PathBuf>, usize), Failure>;

    fn mutex<P: Mutex + Algorithm + Rebase>(self, config: P::Config) -> Self::Output {
        self.happen::<P>(config)
    }

    fn election<P: Election + Algorithm + Rebase>(self, config: P::Config) -> Self::Output {
        self.happen::<P>(config)
    }
}

impl Again<'_> {
    fn happen<P>(self, config: P::Config) -> Result<(Vec<PathBuf>, usize), Failure>
    where
        P: Protocol + Algorithm,
        P::Command: Into<Asked> + Spoken + UserCommand,
        P::Event: Into<Told> + UserEvent,
        P::Message: Serialize + DeserializeOwned,
        P::Stable: Serialize + DeserializeOwned,
    {
        let ended = self.trace.records.last().is_some_and(|last| last.kind == Kind::End);
        let course = if ended {
            let carried = self.course.carried_on::<P>(|_| config.clone(), FURTHER_STEPS);
            carried.map_err(Failure::usage)?
        } else {
            self.course
        };
        let steps = course.actions.len();
        let card: Card = P::card(&config, course.size);
        let header = Header {
            promises: Vec::new(),
            ..Header::new(
                card.name.clone(),
                card.service.into(),
                course.size,
                tenure_trace::Source::Node,
            )
        };
        match self.over {
            Over::Simulator => {
                let path = self.directory.join("run.ndjson");
                let file = File::create(&path).map_err(Failure::environment)?;
                let settings = Settings { ranks: self.ranks, ..Settings::new(course.size) };
                let simulation = Simulation::<P>::new(config, settings).named(card.name);
                simulation.follow(&course, file).map_err(Failure::usage)?;
                Ok((vec![path], steps))
            }
            Over::Tcp => {
                let config = |_| config.clone();
                let nodes = runtime::follow::<P>(&course, config, self.directory, &header);
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
                let runtime = runtime.map_err(Failure::environment)?;
                let files = runtime.block_on(nodes).map_err(|error| match error {
                    runtime::FollowError::Impossible { .. } => Failure::usage(error),
                    error => Failure::environment(error),
                })?;
                Ok((files, steps))
            }
        }
    }
}
