//! A deterministic discrete-event simulator for the protocols of Tenure: virtual time, a
//! seeded network, faults, monitors and metrics.
//!
//! # What a simulation shows, and what it does not
//!
//! One seed is one schedule. A violation that a simulation finds is real: the algorithm did
//! that, step by step, and the trace shows how. A run without a violation proves nothing about
//! the schedules that were not drawn, however many seeds agree; *every* schedule of a small
//! group is what `tenure check` is for. Delays and counts are those of the settings' network,
//! not of yours; means over many seeds come with an interval, and a single random run is never
//! to be held against an average. No finite run shows that somebody waits for ever: what is
//! called a deadlock here is a run in which nothing could happen any more, or nobody had been
//! served for very long; what is called starvation is a suspicion.
//!
//! # One seed, one run
//!
//! Time is counted in whole ticks ([`TICKS_PER_UNIT`](tenure_core::TICKS_PER_UNIT)), random
//! numbers come from a pinned generator ([`Random`]), logarithms from `libm`: the same settings
//! give the same trace, to the byte, on every machine, and [`many`] gives the same reports with
//! any number of threads.
//!
#![doc = include_str!("../README.md")]

mod engine;
mod figures;
mod jury;
mod many;
pub mod scenario;
mod settings;
mod shrink;
mod sim;
mod steer;
pub mod theory;

pub use engine::controls::{Controls, Progress};
pub use engine::random::Random;
pub use figures::elections::ElectionCost;
pub use figures::faults_seen::FaultCount;
pub use figures::metrics::{KindCount, Metrics};
pub use figures::moments::Moments;
pub use figures::report::{Ended, Report, Stuck};
pub use figures::summary::{Summary, Violations};
pub use figures::tally::{Level, Tally};
pub use many::many;
pub use settings::command_line::{
    Comeback, Hot, Link, Processes, group_options, inexpressible, parse_drift, parse_process,
    replay_command,
};
pub use settings::configs::Configs;
pub use settings::fault::{Chance, Fault, Memory, Recovery, When};
pub use settings::latency::Latency;
pub use settings::refusal::SettingsError;
pub use settings::span::{Span, parse_units};
pub use settings::workload::{Chatter, Entries, Initiators, Locking, Pattern, Workload};
pub use settings::{Detector, Limits, Network, Settings, Time, Watch, Watched};
pub use shrink::{Shrunk, shrink};
pub use sim::{RunError, Simulation};
pub use steer::next::Next;
pub use steer::session::{Halt, Session, Steer, SteerError, UnderWay, steering_options};
pub use tenure_core::{Finding, FirstViolation, Judgement};
