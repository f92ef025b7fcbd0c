//! The vocabulary of Tenure: protocols, effects, nodes, process sets, clocks, quorums, services and
//! monitors.
//!
//! Read [`Protocol`] first. An algorithm is a pure state machine: it receives an [`Input`] and
//! responds through [`Effects`]. It opens no socket. It obtains clock readings and random choices
//! only from [`Effects`]. Therefore the same algorithm can be simulated, checked exhaustively and
//! run over TCP.
//!
//! This crate is `no_std` (with `alloc`). It has no dependencies unless the feature `serde` is
//! enabled. This feature derives serialization for everything that is sent or stored.
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod algorithm;
pub mod byzantine;
mod card;
mod clock;
mod cost;
mod dyn_effects;
mod effect_buffer;
pub mod graph;
mod label;
mod lift;
mod lock_name;
#[cfg(feature = "serde")]
pub mod mark;
mod monitor;
mod monitor_set;
pub mod monitors;
mod never;
mod node;
mod process;
mod process_set;
mod property;
mod protocol;
pub mod quorum;
mod rank;
pub mod service;
mod shared_config;
pub mod shared_memory;
pub mod stabilization;
mod system_model;
pub mod theory;
mod time;
mod timestamped;
pub mod tree;
mod wrap;

pub use algorithm::Algorithm;
pub use card::{
    AlgorithmClass, Card, ChannelOrder, ConfigurableTimeout, CrashModel, DetectorClass,
    ProcessKnowledge, Service, Timing, ToleratedFaults, Topology, Variant,
};
pub use clock::{Causality, LamportClock, Timestamp, VectorClock};
pub use cost::{CostBound, CostUnit, MessageCost};
pub use dyn_effects::DynEffects;
pub use effect_buffer::{BufferSink, ConstantEnvironment, EffectBuffer, Environment, TimerChange};
pub use graph::{Graph, GraphError};
pub use label::{Labelled, Layer, MessageLabel};
pub use lift::CollectingEffects;
pub use lock_name::{LockName, LockNameError};
pub use monitor::{
    ElectionObservation, Monitor, MonitorResult, MutexObservation, Observation, Violation,
};
pub use monitor_set::{
    AgreementMonitorSet, ElectionMonitorSet, Finding, FirstViolation, Judgement, MonitorConfig,
    MonitorRun, MutexMonitorSet,
};
pub use never::Never;
pub use node::{Node, PendingSave, ReleasedEffects, Step};
pub use process::{Group, ProcessId};
pub use process_set::ProcessSet;
pub use property::{Property, ReportLevel, RequiredInput};
pub use protocol::{Effects, Input, PeerVerdict, Protocol, TimerRole, Wire};
pub use rank::Rank;
pub use service::{
    Agreement, Detector, Election, EventConversions, Fence, Mutex, MutexAndElection, Tagged, Term,
};
pub use shared_config::UncomparedConfig;
pub use system_model::{FaultCountLimit, SystemModel, UnmetAssumption};
pub use time::{Delay, LocalTime, TICKS_PER_TIME_UNIT};
pub use timestamped::ExposesLogicalClock;
pub use wrap::MappingEffects;
