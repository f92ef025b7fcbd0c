//! Tests of the claims of each paper, one claim per test, and of the stories under `tests/golden`.
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
mod mutex_from_election;
mod ordered_locks;
mod phi_accrual;
mod shared_memory;
#[path = "../support/mod.rs"]
mod support;
mod worked_examples;
mod wrapped;

/// Lists the test modules, one for each algorithm. If an algorithm has no module here, the test
/// does not compile.
macro_rules! each {
    ($($file:ident)+) => {
        $(mod $file;)+
    };
}

tenure_algorithms::each_lock!();
tenure_algorithms::each_election!();
tenure_algorithms::each_agreement!();
