//! Proofs for every number of processes.
//!
//! Begin with [`Model`]: it describes an algorithm, its property and an inductive invariant in
//! first-order logic. [`prove`] decides all obligations of the proof with an SMT solver.
//!
#![doc = include_str!("../README.md")]

mod conformance;
mod logic;
mod model;
mod models;
mod mutation;
mod obligations;
mod solver;
mod solver_error;
mod structure;

pub use conformance::comparison::{
    Abstraction, ConformanceChecker, ConformanceMismatch, ConformanceReport,
};
pub use logic::sort::Sort;
pub use logic::substitution::{SymbolUpdate, SymbolUpdates};
pub use logic::symbol::Symbol;
pub use logic::term::{
    Arguments, Term, TermOperations, conjunction, disjunction, exists, for_all, if_then_else,
};
pub use logic::variable::Variable;
pub use model::action::Action;
pub use model::{Axiom, Conjunct, Model};
pub use models::lease::LeaseModelParameters;
pub use models::raft_lease::RaftLeaseModelParameters;
pub use models::{
    CATALOGUE, ModelEntry, ModelVariant, ProvedProperty, first_model_entry_of, model_entries_of,
    proved_properties_of,
};
pub use mutation::mutant::{Mutant, MutationOperator, mutants};
pub use mutation::sample::sample_mutants;
pub use mutation::verdict::{MutantVerdict, judge_mutants};
pub use obligations::counterexample::CounterexampleToInduction;
pub use obligations::proof::prove;
pub use obligations::redundancy::{ConjunctRedundancy, check_conjunct_redundancy};
pub use obligations::report::{CheckedObligation, ObligationOutcome, ProofObligation, ProofReport};
pub use solver::{DEFAULT_QUERY_TIMEOUT, Solver, SolverKind};
pub use solver_error::SolverError;
pub use structure::evaluation::{Assignment, Evaluator};
pub use structure::table::{InterpretationTable, Structure};
pub use structure::transition::apply_updates;
pub use structure::value::Value;
