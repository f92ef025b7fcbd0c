//! Exhaustive model checker for the protocols of Tenure. It explores all interleavings, losses,
//! timers and crashes within stated limits. For each violated property, it returns a
//! counterexample. A run to a violating step is a shortest one.
//!
//! Begin with [`Check`]: it configures the search and the properties, and returns a [`Report`]. A
//! *world* is a global state. It is stored as a row of small integers, most of which are ids of
//! interned parts. Each thread computes a step of the protocol once for each local state and input,
//! and looks up the result afterwards.
//!
//!
#![doc = include_str!("../README.md")]

mod byzantine;
mod check;
mod clock;
mod config;
mod custom;
mod display;
mod error;
mod explain;
mod explore;
mod limits;
mod liveness;
mod measure;
mod model;
mod plan;
mod reduce;
mod report;
mod run;
mod shared_memory;
mod shortest_walk;
mod stabilization;
mod strong_components;
mod swarm;
mod users;
mod walk;
mod world;

pub use byzantine::{GeneralsConfig, check_generals};
pub use check::Check;
pub use clock::{HostClock, HostInstant, Instant, set_host_clock};
pub use config::{BoundConfig, CheckConfig, FaultConfig, ModelConfig, OnProgress, SearchConfig};
pub use error::CheckError;
pub use explain::description::{StepDescription, StepwiseDescription};
pub use limits::{CheckLimits, MemoryReader, ReachedLimit, SearchProgress};
pub use liveness::Fairness;
pub use measure::report::{ExtremeRun, MeasureReport, MeasureValue, RunEnd};
pub use measure::{Measure, MeasureConfig};
pub use reduce::symmetry::{Renaming, Symmetric};
pub use report::{BypassBound, Counterexample, ReachedBounds, Report, SaveError, ViolationKind};
pub use shared_memory::{SharedMemoryConfig, check_shared_memory};
pub use stabilization::{
    StabilizationConfig, StabilizationError, StabilizationReport, StabilizationRun,
    StabilizationViolation, check_stabilization,
};
pub use swarm::SwarmConfig;
pub use swarm::report::SwarmCoverage;
pub use tenure_core::Judgement;
pub use users::crashes::{CrashFilter, SaveTiming, UserPhase};
pub use users::entries::{RequestLimit, RequestLimits};
pub use users::user::{Checkable, CheckableCommand, EnabledCommand, User, UserState, Workload};
pub use users::{
    AgreementUser, ClockUser, CombinedUser, CommitUser, DetectorUser, ElectionUser, MutexUser,
    ReplicationUser, SpanningTreeUser, StreamUser,
};
pub use walk::{GlobalState, MessageInFlight, VisitedStep, WalkObserver, WalkReport};
pub use world::MAX_PROCESSES;
