//! Tests of the claims of each paper, and of the recorded runs under `tests/golden`. Each claim has
//! a test of its own.
//!
//! Some tests name entries of `docs/checklist.md`, such as W-05 and 7-R6.

mod applications;
mod byzantine;
mod catalogue;
mod coordinated;
mod election_from_mutex;
mod fifo;
mod golden;
mod heartbeat;
mod keyed;
mod lock_sequence;
mod mutex_from_election;
mod phi_accrual;
mod shared_memory;
#[path = "../support/mod.rs"]
mod support;
mod worked_examples;
mod wrapped;

/// Declares one test module for each algorithm in a list. The tests do not compile if an algorithm
/// has no test module.
macro_rules! each {
    ($($file:ident)+) => {
        $(mod $file;)+
    };
}

tenure_algorithms::each_lock!();
tenure_algorithms::each_election!();
tenure_algorithms::each_agreement!();
