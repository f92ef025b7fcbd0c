//! `tenure simulate`: seeded runs in virtual time.

pub(crate) mod books;
mod data;
pub(crate) mod experiment;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod rows;
mod table;

use serde::Serialize;

use data::Data;
use experiment::{Interrupt, Outcome};
use plan::Plan;

use super::failure::{Failure, Status};
use super::output::{Format, print, print_json};

pub(crate) use options::Options;

/// What was run, and what came of it.
pub(crate) struct Performed {
    plan: Plan,
    outcome: Outcome,
    runs: u64,
}

/// Makes the runs and prints what came of them.
pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
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
    let plan = Plan::new(&options.algorithm, &options.run, &options.property)?;
    for option in plan.unused(&options.run) {
        eprintln!("tenure: {option} has no effect on {}", plan.card.name);
    }
    let interrupt = Interrupt::watch();
    let outcome = plan.perform(runs, options.run.threads, options.trace.as_deref(), &interrupt)?;
    Ok(Performed { plan, outcome, runs })
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
