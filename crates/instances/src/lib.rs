//! Maps the name of an algorithm to its type.
//!
//! The engines (simulator, checker, runtime) are generic over the protocol. A command line or a
//! file contains only the name of an algorithm. [`algorithm`] returns an [`AnyAlgorithm`] for a
//! name. With it, the caller can simulate, check, step and replay the algorithm without generics.
//!
//! This crate compiles the engines once per algorithm type, so that its callers need not compile
//! them. Dynamic dispatch happens once per run, and not once per step.
//!
#![doc = include_str!("../README.md")]

mod any_algorithm;
pub mod applications;
pub mod byzantine;
mod catalogue;
mod check;
mod instance;
mod monitors;
mod run;
pub mod shared_memory;

pub use any_algorithm::AnyAlgorithm;
#[cfg(feature = "nodes")]
pub use catalogue::service_protocol;
pub use catalogue::{
    CustomAlgorithms, RegistrableService, agreement_names, algorithm, algorithm_names, card,
    election_names, lock_names, predicted_message_count,
};
pub use monitors::{
    BoxedMonitor, CustomMonitor, CustomMonitors, MonitoredService, custom_monitors,
    custom_properties,
};
pub use run::{InterventionPlan, RunParameters, TraceHeaderFields, TraceOutput};
