//! `tenure trace replay`: a recorded run, made to happen again.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, ValueEnum};
use serde::Serialize;
use tenure_algorithms::catalogue::Parameters;
use tenure_core::Property;
use tenure_trace::{
    ClockUnit, Course, FollowError, Header, Impossible, Judge, Kind, Merged, Record, Trace,
    Verification, Who, merge, merge_files, plain, verify, verify_files,
};

use super::{of_input, report_torn};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::group::GroupOptions;
use crate::cmd::output::{Format, print, print_json};
use crate::cmd::property::one_of;

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
    /// Which property, where the run violates several; left out: what it was kept for, or the first
    #[arg(long, value_parser = one_of(Property::ALL), hide_possible_values = true)]
    property: Option<Property>,
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
    /// In the checker
    Checker,
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
    property: Property,
    over: &'a str,
    steps: usize,
    violated_again: bool,
    /// The step that violates it; absent where its end does.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    /// What real nodes would not have done by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    verification: Verification,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let trace = Trace::read(&options.file).map_err(|error| of_input(error.into()))?;
    report_torn(trace.torn.as_slice(), &[]);
    let property = match options.property {
        Some(property) => property,
        None => violated(&trace, &options.file)?,
    };
    let parameters = parameters(&trace.header)?;
    let directory = tempfile::tempdir().map_err(Failure::environment)?;
    let (mut merged, course) = again(options.over, &trace, &parameters, directory.path())?;
    // What is judged, and of whom, is what it was when the run was kept.
    merged.header = Header {
        // It ends when nothing is left to do: no time need pass before its end says something.
        clock: ClockUnit::Tick,
        fenced: trace.header.fenced,
        most_inside: trace.header.most_inside,
        ranks: Some(trace.header.ranks.clone().unwrap_or_else(|| parameters.ranks.to_vec())),
        violates: Some(property.name().to_owned()),
        promises: Vec::new(),
        most_messages: trace.header.most_messages,
        most_bypass: trace.header.most_bypass,
        topology: trace.header.topology,
        ..merged.header
    };
    let verification = verify(&merged);
    let again = violates(&verification, property);
    let step = records_until(&merged, property).filter(|_| again);
    report(
        options,
        &Outcome {
            property,
            over: match options.over {
                Over::Simulator => "simulator",
                Over::Checker => "checker",
                Over::Tcp => "tcp",
            },
            steps: course.steps(),
            violated_again: again,
            step: step.map(|records| course.done_in(&merged.records[..records])),
            notes: notes(&merged),
            verification,
        },
    )?;
    Ok(if again { Status::Violated } else { Status::Held })
}

fn violates(verification: &Verification, property: Property) -> bool {
    verification.violations.iter().any(|found| found.property.name() == property.name())
}

/// How many records it takes until a property is violated; none where only the end violates it.
fn records_until(merged: &Merged, property: Property) -> Option<usize> {
    let ends = |record: &&Record| record.process == Who::Parent && record.kind == Kind::End;
    let ended = merged.records.iter().rev().take_while(ends).count();
    let begun = merged.records.len() - ended;
    let is_violated = |records: usize| {
        let mut judge = Judge::new(&merged.header);
        merged.records[..records].iter().for_each(|record| judge.read(record));
        violates(&judge.finish(), property)
    };
    // Whoever waits may still be served: that is decided by the end alone.
    if property.is_of_liveness() || !is_violated(begun) {
        return None;
    }
    let (mut before, mut after) = (0, begun);
    while after - before > 1 {
        let middle = before.midpoint(after);
        if is_violated(middle) { after = middle } else { before = middle }
    }
    Some(after)
}

/// What the parent of real nodes remarked.
fn notes(merged: &Merged) -> Vec<String> {
    let of_parent = merged.records.iter().filter(|record| record.process == Who::Parent);
    let says = of_parent.filter_map(|record| match &record.kind {
        Kind::Note(says) => Some(says.clone()),
        _ => None,
    });
    says.collect()
}

/// What a run violates: what it was kept for, or what its verification finds.
fn violated(trace: &Trace, file: &Path) -> Result<Property, Failure> {
    if let Some(name) = &trace.header.violates {
        let unknown =
            || Failure::usage(format!("`{}` is no property; another release?", plain(name)));
        return Property::named(name).ok_or_else(unknown);
    }
    let verification = verify_files(&[file]).map_err(of_input)?;
    let first = verification.violations.first();
    first.map(|found| found.property).ok_or_else(|| {
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
    let Outcome { property, over, steps, violated_again, step, notes, verification } = outcome;
    let again = if *violated_again { "violated again" } else { "not violated this time" };
    let when = match step {
        Some(step) => format!("by step {step} of {steps}"),
        None if *violated_again => format!("at the end of {steps} steps"),
        None => format!("{steps} steps"),
    };
    let mut text = format!("{property} {again}, over {over}, {when}\n");
    for violation in
        verification.violations.iter().filter(|it| it.property.name() == property.name())
    {
        text.push_str(&format!("  {}\n", violation.says));
    }
    for note in notes {
        text.push_str(&format!("  {}\n", plain(note)));
    }
    print(&text)
}

/// Makes the run happen again. Gives the trace that was written, and what was done.
fn again(
    over: Over,
    trace: &Trace,
    parameters: &Parameters,
    directory: &Path,
) -> Result<(Merged, Course), Failure> {
    let subject = tenure_instances::subject(&trace.header.algorithm, parameters);
    let subject = subject.map_err(Failure::usage)?;
    let mut course = Course::of_trace(trace).map_err(Failure::usage)?;
    let ended = trace.records.last().is_some_and(|last| last.kind == Kind::End);
    // On a stage first, whose users ask only what they may: a protocol does not check that.
    let further = if ended { FURTHER_STEPS } else { 0 };
    let whole = subject.carried_on(&course, further).map_err(Failure::usage)?;
    if ended {
        course = whole;
    }
    let merged = match over {
        Over::Simulator => {
            let path = directory.join("run.ndjson");
            let file = File::create(&path).map_err(Failure::environment)?;
            let followed = subject.follow(&course, parameters.ranks.clone(), Box::new(file));
            followed.map_err(Failure::usage)?;
            merge_files(&[path])
        }
        Over::Checker => {
            let followed = subject.follow_in_checker(&course).map_err(Failure::usage)?;
            merge(vec![followed])
        }
        Over::Tcp => {
            let followed = subject.follow_over_tcp(&course, directory);
            let files = followed.map_err(|error| match error {
                FollowError::Engine(_)
                | FollowError::Impossible { why: Impossible::Broken(_), .. } => {
                    Failure::environment(error)
                }
                error => Failure::usage(error),
            })?;
            merge_files(&files)
        }
    };
    Ok((merged.map_err(of_input)?, course))
}
