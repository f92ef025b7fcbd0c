//! `tenure simulate`: simulates runs in virtual time. The seed and the options determine a run.

mod duration_warning;
pub(crate) mod experiment;
mod json_output;
pub(crate) mod options;
pub(crate) mod plan;
mod table;
pub(crate) mod theory;

use serde::Serialize;
use tenure_instances::InterventionPlan;

use experiment::SimulationOutcome;
use json_output::SimulationOutput;
use plan::{SimulationPlan, TraceFile};

use super::capture::print_stderr_line;
use super::failure::{Failure, Status};
use super::machine::stop_at_memory_limit;
use super::output::{print, print_json, warn_no_effect};
use super::program;
use super::sweep::{self, MeasureFormat};

pub(crate) use options::Options;

pub(crate) struct CompletedRuns {
    plan: SimulationPlan,
    outcome: SimulationOutcome,
    runs: u64,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    if options.sweep.is_sweep_requested(options.format) {
        return run_sweep(options);
    }
    let plan = build_plan(options)?;
    for option in options.run.unused_options(&plan.card) {
        warn_no_effect(option, &plan.card.name);
    }
    let warnings =
        [plan.excess_holders_warning(&options.run), plan.duration_warning(options.run.runs_or(1))];
    for message in warnings.into_iter().flatten() {
        print_stderr_line(&format!("{}: {message}", program::name()));
    }
    stop_at_memory_limit();
    let completed = perform_runs(options)?;
    let CompletedRuns { plan, outcome, runs } = &completed;
    match options.format {
        MeasureFormat::Json => print_json(&completed.json_output())?,
        _ => print(&table::table(plan, outcome, *runs))?,
    }
    Ok(status(outcome))
}

fn run_sweep(options: &Options) -> Result<Status, Failure> {
    let single = [
        ("--trace", options.trace.is_some()),
        ("--steer", !options.steer.is_empty()),
        ("--steps", options.steps.is_some()),
        ("--load", options.load),
    ];
    if let Some((option, _)) = single.into_iter().find(|(_, given)| *given) {
        let message = format!(
            "{option} does not apply to measurements: leave it out, or --sweep, \
                               --shard, --raw and --format csv and jsonl"
        );
        return Err(Failure::usage(message));
    }
    let build = |algorithm: &str, run: &options::RunOptions| {
        SimulationPlan::new(algorithm, run, &options.property)?
            .with_custom_properties(&options.custom)
    };
    if let Ok(plan) = build(&options.algorithm, &options.run) {
        for option in options.run.unused_options(&plan.card) {
            warn_no_effect(option, &plan.card.name);
        }
    }
    sweep::run(&sweep::SweepRequest {
        algorithms: std::slice::from_ref(&options.algorithm),
        run: &options.run,
        sweep: &options.sweep,
        plot: options.plot.as_deref(),
        format: options.format,
        build: &build,
    })
}

/// Performs the runs without printing their result. Returns an error if the options request a
/// sweep.
pub(crate) fn perform_runs(options: &Options) -> Result<CompletedRuns, Failure> {
    if options.sweep.is_sweep_requested(options.format) {
        return Err(Failure::usage("a sweep is supported by the command only: leave it out"));
    }
    let runs = options.run.runs_or(1);
    options.run.check_seeds(runs)?;
    let plan = build_plan(options)?;
    let trace = options.trace.as_deref().map(|path| TraceFile { path, has_states: options.states });
    let outcome = plan.perform_runs(runs, options.run.threads(), trace)?;
    Ok(CompletedRuns { plan, outcome, runs })
}

pub(crate) fn build_plan(options: &Options) -> Result<SimulationPlan, Failure> {
    let plan = SimulationPlan::new(&options.algorithm, &options.run, &options.property)?;
    let mut plan =
        plan.with_load_measurement(options.load).with_custom_properties(&options.custom)?;
    let intervention_plan =
        InterventionPlan { interventions: options.steer.clone(), max_steps: options.steps };
    if !intervention_plan.is_empty() && options.run.runs_or(1) > 1 {
        let message = "--steer and --steps apply to a single run: leave out --runs";
        return Err(Failure::usage(message));
    }
    plan.intervention_plan = intervention_plan;
    Ok(plan)
}

/// Returns an error message if an option is given that `tenure simulate` supports, but the lab does
/// not. Otherwise, returns `None`.
pub(crate) fn terminal_only_option_error(options: &Options) -> Option<String> {
    let given = [
        ("--trace", options.trace.is_some()),
        ("--runs", options.run.runs_or(1) != 1),
        ("--sweep", options.sweep.is_sweep_requested(options.format)),
    ];
    let (option, _) = given.into_iter().find(|(_, given)| *given)?;
    Some(format!("{option} is supported by `tenure simulate` only: leave it out"))
}

impl CompletedRuns {
    pub(crate) fn json_output(&self) -> impl Serialize {
        SimulationOutput::new(&self.outcome, self.runs)
    }
}

pub(crate) fn status(outcome: &SimulationOutcome) -> Status {
    match outcome {
        SimulationOutcome { violations, .. } if !violations.is_empty() => Status::Violated,
        SimulationOutcome { interrupted: true, .. }
        | SimulationOutcome { incomplete: true, .. } => Status::Incomplete,
        _ => Status::Success,
    }
}
