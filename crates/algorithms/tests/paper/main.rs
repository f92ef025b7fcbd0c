//! What each paper claims, one claim a test; and the stories under `tests/golden`.
//!
//! The names W-05, 7-R6 and the like are those of `docs/checklist.md`.

mod applications;
mod coordinated;
mod election_from_mutex;
mod fifo;
mod golden;
mod heartbeat;
mod in_turn;
mod keyed;
mod mutex_from_election;
mod phi_accrual;
#[path = "../support/mod.rs"]
mod support;
mod worked_examples;
mod wrapped;

/// Every algorithm has a file here, of its name; one that is missing does not compile.
macro_rules! each {
    ($($file:ident)+) => {
        $(mod $file;)+
    };
}

tenure_algorithms::each_lock!();
tenure_algorithms::each_election!();
tenure_algorithms::each_agreement!();
