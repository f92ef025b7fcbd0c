//! `tenure trace replay`: repeats a recorded run, and checks whether it violates the same property.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;
use tenure_algorithms::catalogue::Parameters;
use tenure_core::Property;
use tenure_trace::property::{ExpressionProperty, PropertyJudge, TemporalOperator, Vocabulary};
use tenure_trace::{
    ClockUnit, Header, MergedTrace, RecordKind, RecordSubject, Schedule, Trace, TraceBuffer,
    TraceVerifier, Verification, escape_invisible, merge, verify, verify_files,
};
#[cfg(not(target_family = "wasm"))]
use {
    tenure_instances::AnyAlgorithm,
    tenure_trace::{ActionError, MergeError, ScheduleReplayError, merge_files_for_verification},
};

use super::warn_torn_or_empty;
use crate::cmd::checker_only_card;
use crate::cmd::custom_monitors;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::graph::option_naming_file;
use crate::cmd::group::GroupOptions;
use crate::cmd::output::{Format, json_name};
use crate::cmd::parse_options;
use crate::cmd::property::parser as property_parser;

/// Limit on the number of steps that a replay adds after the recorded steps, if the recorded run
/// has ended. Exits do not count, and one repetition of a cycle may exceed the limit. If a process
/// waits at the end of the recording, the added steps show whether it waits for ever.
const FURTHER_STEPS: u32 = 200;

/// Replay a run that violates a property, and check whether it violates it again
///
/// Exit status 1: the property is violated again; 0: it is not; 2: a file cannot be read, or the
/// run cannot be replayed; 4: the environment fails, for example a port is in use.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Trace, as saved by `tenure check --trace` or `tenure simulate --trace`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Engine that replays the run
    #[arg(long = "over", value_name = "OVER", value_enum, default_value_t)]
    engine: ReplayEngine,
    /// Property to check [default: the one for which the trace was saved, or the first violated
    /// one]
    #[arg(long, value_parser = property_parser(Property::ALL), hide_possible_values = true)]
    property: Option<Property>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Engine that replays a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum ReplayEngine {
    /// Simulator
    #[default]
    Simulator,
    /// Checker
    Checker,
    /// Real nodes on this machine, over TCP
    #[cfg(not(target_family = "wasm"))]
    Tcp,
}

#[derive(Serialize)]
struct Outcome {
    property: Property,
    engine: ReplayEngine,
    steps: usize,
    violated_again: bool,
    /// Step that violates the property. `None` if the replay does not violate it, or if only the
    /// end of the run shows the violation. For example, only the end shows that a process is never
    /// served.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    /// Notes of the process that starts and controls the nodes, if the run was replayed on real
    /// nodes. Each note describes an action that the nodes do not perform by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    verification: Verification,
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let trace = Trace::read(&options.file).map_err(Failure::usage)?;
    warn_torn_or_empty(trace.torn.as_slice(), &[]);
    let own = if options.property.is_none() { custom_property(&trace)? } else { None };
    let property = match (options.property, &own) {
        (Some(property), _) => property,
        (None, Some(own)) => own.reported_property(),
        (None, None) => violated(&trace, &options.file)?,
    };
    reject_checker_only(&trace.header)?;
    let parameters = parameters_from_header(&trace.header)?;
    let (mut merged, schedule) = replay(options.engine, &trace, &parameters)?;
    let clock = merged.header.clock;
    // The new trace is checked with the settings of the recorded run.
    merged.header = Header {
        // The replay has no delays, so the trace uses ticks: liveness is then judged at the last
        // event. In other units, liveness would be judged only after a delay, as for real nodes.
        clock: ClockUnit::Tick,
        fenced: trace.header.fenced,
        max_inside: trace.header.max_inside,
        ranks: Some(trace.header.ranks.clone().unwrap_or_else(|| parameters.ranks.to_vec())),
        violates: Some(property.name().to_owned()),
        promises: Vec::new(),
        most_messages: trace.header.most_messages,
        most_bypass: trace.header.most_bypass,
        topology: trace.header.topology,
        graph: trace.header.graph.clone(),
        ..merged.header
    };
    let mut verification = verify(&merged);
    custom_monitors::add_custom_findings(&merged, true, &mut verification);
    let custom_step = own.and_then(|own| judge_custom(&own, (&merged, clock), &mut verification));
    let is_violated = violates(&verification, property);
    let step = custom_step.or_else(|| records_until(&merged, property)).filter(|_| is_violated);
    let outcome = Outcome {
        property,
        engine: options.engine,
        steps: schedule.step_count(),
        violated_again: is_violated,
        step: step.map(|records| schedule.begun_step_count(&merged.records[..records])),
        notes: notes(&merged),
        verification,
    };
    options.format.print(&outcome, || text(&outcome))?;
    Ok(if is_violated { Status::Violated } else { Status::Success })
}

/// Returns the property that a counterexample violates, if the user wrote this property as an
/// expression. Returns a usage failure if the expression is invalid or reads states of processes,
/// because a replay has no states.
fn custom_property(trace: &Trace) -> Result<Option<Arc<ExpressionProperty>>, Failure> {
    let header = &trace.header;
    let Some((form, text)) = header.violates.as_deref().and_then(TemporalOperator::split_name)
    else {
        return Ok(None);
    };
    // The names were checked when the run was saved.
    let vocabulary = Vocabulary { messages: None, ..Vocabulary::new(header.n, header.service) };
    let property = ExpressionProperty::parse(form, text, &vocabulary)
        .map_err(|error| Failure::invalid_expression(form.name(), &error))?;
    if property.inputs().states {
        let message = "a replay has no states of processes: repeat the command of the search";
        return Err(Failure::usage(message));
    }
    Ok(Some(Arc::new(property)))
}

/// Judges a property that the user wrote as an expression, and adds the finding to `verification`.
///
/// The times of the records are in units of `clock`. Returns the number of records up to the end of
/// the step that violates the property. Returns `None` if the property holds. Also returns `None`
/// if the violation is only known at the end of the run.
fn judge_custom(
    property: &Arc<ExpressionProperty>,
    (merged, clock): (&MergedTrace, ClockUnit),
    verification: &mut Verification,
) -> Option<usize> {
    let Header { n, service, .. } = merged.header;
    let judge = PropertyJudge::new(std::slice::from_ref(property), n, service, &[]);
    // A replay over TCP takes one step after another. So the records of each step follow each other
    // already.
    let mut judge = judge.with_clock_unit(clock);
    let mut violated = None;
    for (records, record) in merged.records_until_run_end().0.iter().enumerate() {
        // The judge evaluates a step when the first record of the next step arrives.
        judge.apply_record(record);
        if violated.is_none() && judge.violated_property().is_some() {
            violated = Some(records);
        }
    }
    let start = merged.records.first().map_or(0, |record| record.time);
    for finding in judge.finish(true) {
        verification.add_finding(finding, start);
    }
    violated
}

fn violates(verification: &Verification, property: Property) -> bool {
    verification.violations.iter().any(|found| found.property.name() == property.name())
}

/// Returns the number of records up to and including the violation of a property. Returns `None` if
/// the property holds. Also returns `None` for a liveness property, because its violation is only
/// known at the end of the run.
fn records_until(merged: &MergedTrace, property: Property) -> Option<usize> {
    let (records, has_end) = merged.records_until_run_end();
    let started = records.len() - usize::from(has_end);
    let is_violated = |records: usize| {
        let mut judge = TraceVerifier::new(&merged.header);
        merged.records[..records].iter().for_each(|record| judge.verify_record(record));
        violates(&judge.finish(), property)
    };
    // Only the end of the run decides liveness.
    if property.requires_fair_schedule() || !is_violated(started) {
        return None;
    }
    let (mut before, mut after) = (0, started);
    while after - before > 1 {
        let middle = before.midpoint(after);
        if is_violated(middle) { after = middle } else { before = middle }
    }
    Some(after)
}

fn notes(merged: &MergedTrace) -> Vec<String> {
    let of_parent = merged.records.iter().filter(|record| record.process == RecordSubject::Parent);
    let message = of_parent.filter_map(|record| match &record.kind {
        RecordKind::Note(message) => Some(message.clone()),
        _ => None,
    });
    message.collect()
}

/// Returns the property that a run violates. If the header of the trace names a property, returns
/// this property. Otherwise, verifies the run and returns the first violated property. Returns a
/// usage failure if the named property is unknown, or if no property is violated.
fn violated(trace: &Trace, file: &Path) -> Result<Property, Failure> {
    if let Some(name) = &trace.header.violates {
        let unknown = || {
            Failure::usage(format!(
                "unknown property '{}' in the trace: it may be from another release",
                escape_invisible(name)
            ))
        };
        let mut own = tenure_instances::custom_properties(trace.header.service);
        let known = Property::from_name(name).or_else(|| own.find(|own| own.name() == name));
        return known.ok_or_else(unknown);
    }
    let verification = verify_files(&[file]).map_err(Failure::usage)?;
    let first = verification.violations.first();
    first.map(|found| found.property).ok_or_else(|| {
        Failure::usage("this run violates no property: use a trace of `tenure check --trace`")
    })
}

/// Returns a usage failure if only `tenure check` runs the algorithm of this trace, so that the
/// trace cannot be replayed. The message contains the command that repeats the check.
fn reject_checker_only(header: &Header) -> Result<(), Failure> {
    let Header { algorithm, replay, .. } = header;
    if checker_only_card::names().all(|name| name != algorithm) {
        return Ok(());
    }
    let command = replay.clone().unwrap_or_else(|| format!("tenure check {algorithm}"));
    Err(Failure::usage(format!("only the checker runs {algorithm}: repeat `{command}`")))
}

/// Returns the parameters of the algorithm, which the header of a trace contains as options. If the
/// header contains no options, returns the default parameters. Returns a usage failure if the
/// options are invalid, name a file, or do not fit the group size in the header.
pub(crate) fn parameters_from_header(header: &Header) -> Result<Parameters, Failure> {
    if header.options.is_empty() {
        return Ok(Parameters::with_defaults(header.n));
    }
    // A header contains the contents of files instead of their names. A trace must not make this
    // program read other files.
    if let Some(option) = option_naming_file(&header.options) {
        let message = format!("the header of the trace names a file for {option}");
        return Err(Failure::usage(message));
    }
    let group: GroupOptions = parse_options(&header.options).map_err(|_| {
        Failure::usage("invalid options in the header of the trace: it may be from another release")
    })?;
    let size = group.size()?;
    if size != header.n {
        let message = format!(
            "the header of the trace is for {} processes, but its options are for {size}: use the \
             file as it was written",
            header.n
        );
        return Err(Failure::usage(message));
    }
    group.parameters()
}

fn text(outcome: &Outcome) -> String {
    let Outcome { property, engine, steps, violated_again, step, notes, verification } = outcome;
    let engine = json_name(engine);
    let verdict = if *violated_again { "violated again" } else { "not violated this time" };
    let when = match step {
        Some(step) => format!("by step {step} of {steps}"),
        None if *violated_again => format!("at the end of {steps} steps"),
        None => format!("{steps} steps"),
    };
    let mut text = format!("{property} {verdict}, over {engine}, {when}\n");
    for violation in
        verification.violations.iter().filter(|it| it.property.name() == property.name())
    {
        text.push_str(&format!("  {}\n", violation.description));
    }
    for note in notes {
        text.push_str(&format!("  {}\n", escape_invisible(note)));
    }
    text
}

/// Repeats the run in this engine. Returns the new trace, and the schedule that the engine
/// replayed. If the recorded run has ended, the schedule is extended by [`Schedule::extended`],
/// with [`FURTHER_STEPS`] as `max_steps`. That bound does not count exits, and one repetition of a
/// cycle may exceed it.
fn replay(
    engine: ReplayEngine,
    trace: &Trace,
    parameters: &Parameters,
) -> Result<(MergedTrace, Schedule), Failure> {
    let algorithm = tenure_instances::algorithm(&trace.header.algorithm, parameters);
    let algorithm = algorithm.map_err(Failure::usage)?;
    let mut schedule = Schedule::from_trace(trace).map_err(Failure::usage)?;
    let ended = trace.records.last().is_some_and(|last| last.kind == RecordKind::End);
    // Replays the run first in the script runner, which checks that users behave as specified. A
    // protocol does not check its users.
    let further = if ended { FURTHER_STEPS } else { 0 };
    let whole = algorithm.extend_schedule(&schedule, further).map_err(Failure::usage)?;
    if ended {
        schedule = whole;
    }
    let merged = match engine {
        ReplayEngine::Simulator => {
            let run = TraceBuffer::default();
            let writer = Box::new(run.clone());
            let followed = algorithm.replay(&schedule, parameters.ranks.clone(), writer);
            followed.map_err(Failure::usage)?;
            let followed = Trace::parse(&run.take_bytes(), "run");
            let followed = followed.map_err(Failure::usage)?;
            merge(vec![followed])
        }
        ReplayEngine::Checker => {
            let followed = algorithm.replay_in_checker(&schedule).map_err(Failure::usage)?;
            merge(vec![followed])
        }
        #[cfg(not(target_family = "wasm"))]
        ReplayEngine::Tcp => replay_over_tcp(&*algorithm, &schedule)?,
    };
    Ok((merged.map_err(Failure::usage)?, schedule))
}

/// Repeats the run on real nodes. The nodes write their traces to a temporary folder. The function
/// merges the traces and removes the folder.
#[cfg(not(target_family = "wasm"))]
fn replay_over_tcp(
    algorithm: &dyn AnyAlgorithm,
    schedule: &Schedule,
) -> Result<Result<MergedTrace, MergeError>, Failure> {
    let directory = tempfile::tempdir().map_err(Failure::environment)?;
    let followed = algorithm.replay_over_tcp(schedule, directory.path());
    let files = followed.map_err(|error| match error {
        ScheduleReplayError::Engine(_)
        | ScheduleReplayError::Impossible { why: ActionError::EngineFailed(_), .. } => {
            Failure::environment(error)
        }
        error => Failure::usage(error),
    })?;
    Ok(merge_files_for_verification(&files))
}
