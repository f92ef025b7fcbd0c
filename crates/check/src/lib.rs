//! An exhaustive checker for the protocols of Tenure: every interleaving, loss, timer and crash
//! within stated budgets, with shortest counterexamples.
//!
//! Begin with [`Check`]: it says what is explored, what is decided and where to stop, and gives
//! a [`Report`]. The search knows no protocol; it walks rows of small numbers (worlds) whose
//! parts are interned, so that a step of a protocol is computed once for each local state and
//! input, and looked up from then on.

mod action;
mod ample;
mod assumptions;
mod bypass;
mod canonical;
mod check;
mod choices;
mod circle;
mod components;
mod crashing;
mod display;
mod entries;
mod explore;
mod fairness;
mod fingerprint;
mod follow;
mod graph;
mod intern;
mod judge;
mod limits;
mod local;
mod memo;
mod memory;
mod model;
mod parcel;
mod processes;
mod recorder;
mod refusal;
mod replay;
mod report;
mod rules;
mod run;
mod shifts;
mod stamping;
mod start;
mod story;
mod successors;
mod symmetry;
mod told;
mod user;
mod users;
mod visited;
mod world;

pub use check::Check;
pub use crashing::Moment;
pub use entries::{Entries, EntriesOfAll};
pub use limits::{Limit, Progress};
pub use refusal::Refusal;
pub use report::{Bounds, Bypassing, Counterexample, Manner, Report, SaveError};
pub use story::{Scene, Story};
pub use symmetry::{Renaming, Symmetric};
pub use tenure_core::Judgement;
pub use user::{Offer, Service, Standing, User, Workload};
pub use users::{
    ClockUser, CommitUser, DetectorUser, ElectionUser, LedUser, MutexUser, OfficeUser,
    ReplicationUser, StreamUser, TreeUser,
};
