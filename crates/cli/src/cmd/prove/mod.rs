//! `tenure prove`: proves a property of an algorithm for every number of processes, or refutes it.

mod code_comparison;
mod conjuncts;
mod mutants;
mod proof;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tenure_algorithms::catalogue::Parameters;
use tenure_prove::{CATALOGUE, Model, ModelEntry, Solver, model_entries_of};

use self::proof::ProofAndComparison;
use super::duration;
use super::failure::{Failure, Status};
use super::output::Format;
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
#[command(after_help = "Examples:
  tenure prove ricart-agrawala
  tenure prove ricart-agrawala --without granted-seen
  tenure prove ricart-agrawala --redundant
  tenure prove --mutants 60 --seed 1")]
pub(crate) struct Options {
    /// Algorithm; without one, all algorithms with a model are listed
    algorithm: Option<String>,
    /// Rule of the algorithm to change, as in `tenure list NAME`
    #[arg(long)]
    variant: Option<String>,
    /// Prove without this conjunct of the invariant, to see its purpose
    #[arg(long, value_name = "CONJUNCT", requires = "algorithm")]
    without: Option<String>,
    /// List the conjuncts that the proof needs, and the redundant ones
    #[arg(long = "redundant", conflicts_with_all = ["variant", "without", "mutants"])]
    is_redundancy_listed: bool,
    /// Change one rule of the model at random, this number of times, and judge each mutant
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(conflicts_with_all = ["variant", "without"])]
    mutants: Option<u32>,
    /// Seed of the mutants
    #[arg(long, value_name = "S", default_value_t = 1, requires = "mutants")]
    seed: u64,
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

/// An entry of the catalogue of models, and the model to prove. If the user selects a variant or
/// gives `--without`, this model is a modification of the model in the catalogue.
type EntryModel = (&'static ModelEntry, Model);

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    if options.mutants.is_some() || options.is_redundancy_listed {
        return examine(options);
    }
    let Some(name) = &options.algorithm else { return list(options.format) };
    let models = models(options, &entries_of(name)?)?;
    let solver = solver(options)?;
    let mut proofs = Vec::new();
    for (entry, model) in &models {
        proofs.push(ProofAndComparison::prove_and_compare(entry, model, options, &solver)?);
    }
    let results: Vec<_> = proofs.iter().map(ProofAndComparison::to_json).collect();
    options.format.print(&results, || proofs.iter().map(ProofAndComparison::text).collect())?;
    let statuses: Vec<Status> = proofs.iter().map(ProofAndComparison::status).collect();
    let has = |status: &Status| statuses.contains(status);
    let worst = [Status::Violated, Status::Incomplete].into_iter().find(has);
    Ok(worst.unwrap_or(Status::Success))
}

/// Examines the proofs of one algorithm or, if the options name none, of all algorithms. With
/// `--mutants`, tries to prove mutants of the models. Without `--mutants`, determines for each
/// conjunct of an invariant whether the proof needs it.
fn examine(options: &Options) -> Result<Status, Failure> {
    let entries = match &options.algorithm {
        Some(name) => entries_of(name)?,
        None => CATALOGUE.iter().collect(),
    };
    let solver = solver(options)?;
    let (text, json, status) = match options.mutants {
        Some(count) => {
            let judged =
                mutants::sample_and_judge(&entries, count as usize, options.seed, &solver)?;
            let json = mutants::to_json(&judged, options.seed);
            (mutants::text(&judged), json, mutants::incomplete_if_undecided(&judged))
        }
        None => {
            let assessments = conjuncts::assess_invariants(&entries, &solver)?;
            let json = conjuncts::to_json(&assessments);
            (conjuncts::text(&assessments), json, conjuncts::status(&assessments))
        }
    };
    options.format.print(&json, || text)?;
    Ok(status)
}

fn list(format: Format) -> Result<Status, Failure> {
    let row = |entry: &ModelEntry| {
        json!({
            "name": entry.name,
            "property": entry.property,
            "paper": entry.paper,
            "variants": entry.variants.iter().map(|it| it.name).collect::<Vec<_>>(),
            "is_compared_with_code": entry.abstraction.is_some(),
        })
    };
    let line =
        |entry: &ModelEntry| format!("{:<18} {:<44} {}\n", entry.name, entry.property, entry.paper);
    let rows: Vec<_> = CATALOGUE.iter().map(row).collect();
    format.print(&rows, || CATALOGUE.iter().map(line).collect())?;
    Ok(Status::Success)
}

/// Returns the models of an algorithm in the catalogue, one for each proved property. Returns a
/// usage failure if the algorithm has no model.
fn entries_of(name: &str) -> Result<Vec<&'static ModelEntry>, Failure> {
    let found: Vec<_> = model_entries_of(name).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    // An algorithm with two proofs, such as `raft`, has two entries, but is named once.
    names.sort_unstable();
    names.dedup();
    let nearest = nearest(name, names.iter().copied()).first().map(|it| format!("; nearest: {it}"));
    Err(Failure::usage(format!(
        "invalid value '{name}' for ALGORITHM: expected one with a model: {}{}",
        names.join(", "),
        nearest.unwrap_or_default()
    )))
}

/// Returns the models to prove. With `--variant`, returns the models of this variant, or the result
/// of [`compared_variant`] if the variant has no models. With `--without`, returns only models that
/// have the conjunct, and removes the conjunct from them.
fn models(options: &Options, entries: &[&'static ModelEntry]) -> Result<Vec<EntryModel>, Failure> {
    let mut models: Vec<_> = match &options.variant {
        None => entries.iter().map(|entry| (*entry, entry.model())).collect(),
        Some(variant) => {
            let model = |entry: &&'static ModelEntry| Some((*entry, entry.variant_model(variant)?));
            entries.iter().filter_map(model).collect()
        }
    };
    if models.is_empty() {
        let variant = options.variant.as_deref().unwrap_or_default();
        models = compared_variant(entries, variant)?;
    }
    match &options.without {
        Some(conjunct) => conjuncts::remove_conjunct(&models, conjunct),
        None => Ok(models),
    }
}

/// Returns the unmodified models of the algorithm, for a variant that has no model of its own. The
/// code of the variant is later compared with these models, and this comparison is expected to
/// fail. Returns a usage failure if the algorithm has no such variant, or no model that can be
/// compared with code.
fn compared_variant(
    entries: &[&'static ModelEntry],
    variant: &str,
) -> Result<Vec<EntryModel>, Failure> {
    let unknown = || unknown_variant(variant, entries);
    let name = entries.first().ok_or_else(unknown)?.name;
    let card =
        tenure_instances::card(name, &Parameters::with_defaults(2)).map_err(Failure::usage)?;
    let compared = entries.iter().filter(|entry| entry.abstraction.is_some());
    let models: Vec<_> = compared.map(|entry| (*entry, entry.model())).collect();
    match card.variants.iter().any(|it| it.name == variant) && !models.is_empty() {
        true => Ok(models),
        false => Err(unknown()),
    }
}

fn unknown_variant(variant: &str, entries: &[&'static ModelEntry]) -> Failure {
    let variants = entries.iter().flat_map(|entry| entry.variants);
    let names: Vec<&str> = variants.map(|variant| variant.name).collect();
    let algorithm = entries.first().map_or("the algorithm", |entry| entry.name);
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Failure::usage(format!(
        "invalid value '{variant}' for --variant: the model of {algorithm} has: {names}"
    ))
}

fn solver(options: &Options) -> Result<Solver, Failure> {
    let solver = match &options.solver {
        Some(program) => Solver::from_path(program),
        None => Solver::find_on_path(),
    };
    Ok(solver.map_err(Failure::environment)?.with_query_timeout(options.query_timeout))
}
