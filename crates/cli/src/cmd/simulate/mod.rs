//! `tenure simulate`: seeded runs in virtual time.

pub(crate) mod books;
mod data;
mod estimate;
pub(crate) mod experiment;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod rows;
mod table;

use serde::Serialize;
use tenure_instances::Steering;

use data::Data;
use experiment::{Interrupt, Outcome};
use plan::{Plan, TraceTo};

use super::failure::{Failure, Status};
use super::machine::guard_memory;
use super::output::{Format, no_effect, print, print_json};
use super::program;

pub(crate) use options::Options;

/// What was run, and what came of it.
pub(crate) struct Performed {
    plan: Plan,
    outcome: Outcome,
    runs: u64,
}

/// Makes the runs and prints what came of them.
pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let plan = plan(options)?;
    for option in plan.idle(&options.run) {
        no_effect(option, &plan.card.name);
    }
    if let Some(says) = plan.estimate(options.run.runs(1)?) {
        eprintln!("{}: {says}", program::name());
    }
    guard_memory();
    let performed = perform(options)?;
    let Performed { plan, outcome, runs } = &performed;
    match options.format {
        Format::Text => print(&table::table(plan, outcome, *runs))?,
        Format::Json => print_json(&performed.data())?,
    }
    Ok(status(outcome))
}

/// Makes the runs.
pub(crate) fn perform(options: &Options) -> Result<Performed, Failure> {
    let runs = options.run.runs(1)?;
    let plan = plan(options)?;
    let interrupt = Interrupt::watch();
    let trace = options.trace.as_deref().map(|path| TraceTo { path, states: options.states });
    let outcome = plan.perform(runs, options.run.threads, trace, &interrupt)?;
    Ok(Performed { plan, outcome, runs })
}

/// What the options mean.
pub(crate) fn plan(options: &Options) -> Result<Plan, Failure> {
    let plan = Plan::new(&options.algorithm, &options.run, &options.property)?;
    let steering = Steering { steers: options.steer.clone(), most: options.steps };
    if steering.is_any() && options.run.runs(1)? > 1 {
        let says = "--steer and --steps are for one run; leave out --runs";
        return Err(Failure::usage(says));
    }
    Ok(plan.steered(steering))
}

/// What of the options means something only where results are printed.
pub(crate) fn only_for_the_terminal(options: &Options) -> Option<String> {
    let given = [
        ("--trace", options.trace.is_some()),
        ("--runs", options.run.runs.is_some_and(|runs| runs != 1)),
    ];
    let (option, _) = given.into_iter().find(|(_, given)| *given)?;
    Some(format!("{option} is for `tenure simulate` in a terminal; leave it out"))
}

impl Performed {
    /// What is printed as JSON.
    pub(crate) fn data(&self) -> impl Serialize {
        Data::new(&self.outcome, self.runs)
    }
}

/// What the outcome means to whoever started it.
pub(crate) fn status(outcome: &Outcome) -> Status {
    match outcome {
        Outcome { violations, .. } if !violations.is_empty() => Status::Violated,
        Outcome { interrupted: true, .. } | Outcome { incomplete: true, .. } => Status::Incomplete,
        _ => Status::Held,
    }
}
