//! Exhaustive model checker for the protocols of Tenure. It explores all interleavings, losses,
//! timers and crashes within stated limits. For each violated property, it returns a
//! counterexample. A run to a violating step is a shortest one.
//!
//! Begin with [`Check`]: it configures the search and the properties, and returns a
//! [`CheckReport`]. A *world* is a global state. It is stored as a row of small integers, most of
//! which are ids of interned parts. Each thread computes a step of the protocol once for each local
//! state and input, and looks up the result afterwards.
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

pub use byzantine::{ByzantineGeneralsConfig, check_byzantine_generals};
pub use check::Check;
pub use clock::{HostClock, HostInstant, Instant, set_host_clock};
pub use config::{
    CheckConfig, FaultConfig, ModelConfig, OnProgress, SearchConfig, StateSpaceBounds,
};
pub use error::CheckError;
pub use explain::description::{StepDescription, StepwiseDescription};
pub use limits::{CheckLimits, MemoryUsageFn, SearchProgress, StopReason};
pub use liveness::Fairness;
pub use measure::report::{ExtremeRun, FinalStateKind, MeasureReport, MeasureValue};
pub use measure::{Measure, MeasureConfig};
pub use reduce::symmetry::{Renaming, Symmetric};
pub use report::{
    BypassBound, CheckReport, Counterexample, ReachedBounds, TraceSaveError, ViolationKind,
};
pub use shared_memory::{SharedMemoryLockConfig, check_shared_memory_lock};
pub use stabilization::{
    StabilizationConfig, StabilizationCounterexample, StabilizationError, StabilizationReport,
    StabilizationRun, check_stabilization,
};
pub use swarm::SwarmMemberConfig;
pub use swarm::report::SwarmMemberCoverage;
pub use tenure_core::Judgement;
pub use users::crashes::{CrashFilter, SaveTiming, UserPhase};
pub use users::entries::{RequestLimit, RequestLimits};
pub use users::user::{Checkable, CheckableCommand, EnabledCommand, User, UserState, UserWorkload};
pub use users::{
    AgreementUser, ClockUser, CombinedUser, CommitUser, DetectorUser, ElectionUser, MutexUser,
    ReplicationUser, SpanningTreeUser, StreamUser,
};
pub use walk::{ExplorationReport, GlobalState, InFlightMessage, StateSpaceObserver, VisitedStep};
pub use world::MAX_PROCESSES;
