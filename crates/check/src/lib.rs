//! An exhaustive checker for the protocols of Tenure: every interleaving, loss, timer and crash
//! within stated budgets, with shortest counterexamples.
//!
//! Begin with [`Check`]: it says what is explored, what is decided and where to stop, and gives
//! a [`Report`]. The search knows no protocol; it walks rows of small numbers (worlds) whose
//! parts are interned, so that a step of a protocol is computed once for each local state and
//! input, and looked up from then on.
//!
#![doc = include_str!("../README.md")]

mod check;
mod display;
mod explore;
mod limits;
mod liveness;
mod model;
mod reduce;
mod refusal;
mod report;
mod run;
mod tell;
mod users;
mod world;

pub use check::Check;
pub use limits::{Limit, Progress, ReadMemory};
pub use reduce::symmetry::{Renaming, Symmetric};
pub use refusal::Refusal;
pub use report::{Bounds, Bypassing, Counterexample, Manner, Report, SaveError};
pub use tell::story::{Scene, Story};
pub use tenure_core::Judgement;
pub use users::crashing::{Moment, Saving};
pub use users::entries::{Entries, EntriesOfAll};
pub use users::user::{Checkable, Offer, Service, Standing, User, Workload};
pub use users::{
    AgreementUser, BothUser, ClockUser, CommitUser, DetectorUser, ElectionUser, MutexUser,
    ReplicationUser, StreamUser, TreeUser,
};
