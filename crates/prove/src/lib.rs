//! Proofs for every number of processes.
//!
//! Begin with [`Model`]: it describes an algorithm, its property and an inductive invariant in
//! first-order logic. [`prove`] decides all obligations of the proof with an SMT solver.
//!
#![doc = include_str!("../README.md")]

mod conformance;
mod error;
mod logic;
mod model;
mod models;
mod mutation;
mod obligations;
mod solver;
mod structure;

pub use conformance::comparison::{Abstraction, Comparer, Comparison, Mismatch};
pub use error::ProveError;
pub use logic::sort::Sort;
pub use logic::substitution::{Update, Updates};
pub use logic::symbol::Symbol;
pub use logic::term::{Arguments, Operations, Term, all, any, choose, exists, for_all};
pub use logic::variable::Variable;
pub use model::action::Action;
pub use model::{Axiom, Conjunct, Model};
pub use models::lease::LeaseTimes;
pub use models::raft_lease::ElectionTimes;
pub use models::{CATALOGUE, Claim, ModelEntry, ModelVariant, claims, entries, find};
pub use mutation::mutant::{Mutant, Operator, mutants};
pub use mutation::sample::sample;
pub use mutation::verdict::{MutantVerdict, judge};
pub use obligations::counterexample::Counterexample;
pub use obligations::proof::prove;
pub use obligations::redundancy::{Need, needs};
pub use obligations::report::{Decision, Obligation, Outcome, ProofReport};
pub use solver::{QUERY_TIMEOUT, Solver, SolverKind};
pub use structure::evaluation::{Assignment, Evaluation};
pub use structure::table::{Structure, Table};
pub use structure::transition::apply;
pub use structure::value::Value;
