//! Tests of the proofs with installed solvers, and of the models against the code.

mod conformance;
mod margin;
mod mutants;
mod proofs;
mod redundancy;
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;
mod support;
