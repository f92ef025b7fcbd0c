//! `tenure prove`: decides a property for every number of processes.

mod compared;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tenure_prove::{
    CATALOGUE, Comparison, Mismatch, Model, ModelEntry, ProofReport, ProveError, Solver, find,
    prove,
};

use super::duration;
use super::failure::{Failure, Status};
use super::output::{Format, print, print_json};
use crate::nearest::nearest;

/// Prove a property for every number of processes
///
/// Each proof is an inductive invariant of a model in first-order logic. An SMT solver decides that
/// the initial states satisfy it and that every action preserves it. The model is compared with the
/// code: every reachable state of small groups satisfies the invariant, and every step is a step of
/// the model. Safety only: `tenure check` decides liveness.
///
/// Needs z3 or cvc5 on the path (`apt install z3`, `pip install z3-solver`).
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Algorithm; without one, all algorithms with a model are listed
    algorithm: Option<String>,
    /// Rule of the algorithm to change, as in `tenure list NAME`
    #[arg(long)]
    variant: Option<String>,
    /// Solver program: z3 or cvc5
    #[arg(long, value_name = "PROGRAM")]
    solver: Option<PathBuf>,
    /// Time limit of each query
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    query_timeout: Duration,
    /// Largest group whose states and steps are compared with the model; 0 for none
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    nodes: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let Some(name) = &options.algorithm else { return list(options.format) };
    let entry = entry(name)?;
    let model = model(entry, options.variant.as_deref())?;
    let solver = solver(options)?;
    let proof = prove(&model, &solver).map_err(failure)?;
    let compared = match proof.is_proved() {
        true => compared::groups(entry, &model, options.variant.as_deref(), options.nodes)?,
        false => Vec::new(),
    };
    match options.format {
        Format::Text => print(&text(entry, &proof, &compared))?,
        Format::Json => {
            let compared: Vec<_> = compared.iter().map(Comparison::to_json).collect();
            print_json(&json!({ "proof": proof.to_json(), "code": compared }))?;
        }
    }
    Ok(status(&proof, &compared))
}

/// Prints the algorithms with a model.
fn list(format: Format) -> Result<Status, Failure> {
    match format {
        Format::Text => {
            let mut text = String::new();
            for entry in &CATALOGUE {
                let _ = writeln!(text, "{:<18} {:<44} {}", entry.name, entry.property, entry.paper);
            }
            print(&text)?;
        }
        Format::Json => {
            let row = |entry: &ModelEntry| {
                let variants = entry.variants.iter().map(|it| it.name).collect::<Vec<_>>();
                json!({
                    "name": entry.name,
                    "property": entry.property,
                    "paper": entry.paper,
                    "variants": variants,
                    "is_compared_with_code": entry.abstraction.is_some(),
                })
            };
            print_json(&CATALOGUE.iter().map(row).collect::<Vec<_>>())?;
        }
    }
    Ok(Status::Success)
}

fn entry(name: &str) -> Result<&'static ModelEntry, Failure> {
    find(name).ok_or_else(|| {
        let names = CATALOGUE.map(|entry| entry.name);
        let nearest = nearest(name, names).first().map(|it| format!("; nearest: {it}"));
        Failure::usage(format!(
            "invalid value '{name}' for ALGORITHM: expected one with a model: {}{}",
            names.join(", "),
            nearest.unwrap_or_default()
        ))
    })
}

fn model(entry: &ModelEntry, variant: Option<&str>) -> Result<Model, Failure> {
    let Some(variant) = variant else { return Ok(entry.model()) };
    entry.with_variant(variant).ok_or_else(|| {
        let names: Vec<&str> = entry.variants.iter().map(|variant| variant.name).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Failure::usage(format!(
            "invalid value '{variant}' for --variant: the model of {} has: {names}",
            entry.name
        ))
    })
}

fn solver(options: &Options) -> Result<Solver, Failure> {
    let solver = match &options.solver {
        Some(program) => Solver::at(program),
        None => Solver::find(),
    };
    Ok(solver.map_err(failure)?.with_query_timeout(options.query_timeout))
}

fn failure(error: ProveError) -> Failure {
    Failure::environment(error)
}

fn status(proof: &ProofReport, compared: &[Comparison]) -> Status {
    if proof.is_refuted() || compared.iter().any(|it| !it.agrees()) {
        Status::Violated
    } else if proof.is_proved() && compared.iter().all(|it| it.is_complete) {
        Status::Success
    } else {
        Status::Incomplete
    }
}

fn text(entry: &ModelEntry, proof: &ProofReport, compared: &[Comparison]) -> String {
    let mut text = format!("{}: {}\n", entry.name, entry.property);
    let verdict = if proof.is_proved() {
        "holds for every number of processes"
    } else if proof.is_refuted() {
        "not proved: the invariant is not inductive"
    } else {
        "not decided"
    };
    let _ = writeln!(
        text,
        "  model  {verdict}: {} of {} obligations proved by {} in {:.1} s\n         \
         {} actions, {} conjuncts; {}",
        proof.proved(),
        proof.decisions.len(),
        proof.solver,
        proof.elapsed.as_secs_f64(),
        proof.actions,
        proof.conjuncts,
        entry.paper,
    );
    for decision in proof.open() {
        let _ = writeln!(text, "         {}: {}", decision.outcome.name(), decision.obligation);
    }
    if let Some(found) = proof.counterexample() {
        text.push_str(
            "\ncounterexample to induction (not a run: the first state need not occur)\n",
        );
        text.push_str(&found.to_text());
    }
    if compared.is_empty() && proof.is_proved() {
        text.push_str("  code   not compared with the model\n");
    }
    for comparison in compared {
        let _ = writeln!(text, "  code   {}", comparison_text(comparison));
    }
    text
}

fn comparison_text(comparison: &Comparison) -> String {
    let Comparison { size, states, steps, .. } = comparison;
    let scope = if comparison.is_complete { "all" } else { "the first" };
    match &comparison.mismatch {
        None => {
            format!("n = {size}: agrees with the model in {scope} {states} states, {steps} steps")
        }
        Some(Mismatch::State { conjunct, state }) => {
            format!("n = {size}: a reachable state violates {conjunct}: {}", state.join(", "))
        }
        Some(Mismatch::Step { before, new, gone, process }) => {
            let process = process.map_or("the network".to_owned(), |number| format!("P{number}"));
            format!(
                "n = {size}: a step of {process} is no step of the model\n         \
                 before {}\n         \
                 new    {}\n         gone   {}",
                before.join(", "),
                new.join(", "),
                gone.join(", ")
            )
        }
    }
}
