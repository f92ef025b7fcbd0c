//! The vocabulary of Tenure: protocols, effects, nodes, process sets, clocks, quorums,
//! services and monitors.
//!
//! Read [`Protocol`] first. An algorithm is a pure state machine: it is told an [`Input`],
//! and it answers through [`Effects`]. It opens no socket, reads no clock and draws no
//! random number, so the same value can be simulated, checked exhaustively and run over TCP.
//!
//! This crate is `no_std` (with `alloc`) and depends on nothing; the feature `serde` derives
//! serialization for everything that travels or is stored.
//!
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod algorithm;
mod batch;
mod card;
mod clock;
mod cost;
mod erased;
mod fixed;
mod jury;
mod label;
mod lift;
#[cfg(feature = "serde")]
pub mod mark;
mod monitor;
pub mod monitors;
mod name;
mod never;
mod node;
mod process;
mod process_set;
mod property;
mod protocol;
pub mod quorum;
mod rank;
pub mod service;
mod stamped;
mod surroundings;
pub mod theory;
mod time;
pub mod tree;
mod wrap;

pub use algorithm::Algorithm;
pub use batch::{Batch, Environment, Stepping, Still, TimerChange};
pub use card::{
    Card, Crashes, Detection, Faults, Knowledge, Order, Service, Strategy, Timeout, Timing,
    Topology, Variant,
};
pub use clock::{Causality, LamportClock, Stamp, VectorClock};
pub use cost::{Cost, Per, Price};
pub use erased::Erased;
pub use fixed::Fixed;
pub use jury::{
    AgreementJury, Charge, ElectionJury, Finding, FirstViolation, Judgement, Juror, MutexJury,
};
pub use label::{Label, Labelled, Layer};
pub use lift::Lift;
pub use monitor::{Monitor, Observed, OfElection, OfMutex, Violation};
pub use name::{Name, NameError};
pub use never::Never;
pub use node::{Node, Released, Saving, Step};
pub use process::{Group, ProcessId};
pub use process_set::ProcessSet;
pub use property::{Need, Notice, Property};
pub use protocol::{Effects, Input, Protocol, TimerRole, Verdict, Wire};
pub use rank::Rank;
pub use service::{Agreement, Detector, Election, Facts, Fence, Mutex, Of, Office, Term};
pub use stamped::Stamped;
pub use surroundings::{Bound, Surroundings, Weakness};
pub use time::{Delay, LocalTime, TICKS_PER_UNIT};
pub use wrap::Wrap;
