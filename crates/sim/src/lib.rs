//! A deterministic discrete-event simulator for the protocols of Tenure: virtual time, a
//! seeded network, faults, monitors and metrics.
//!
//! ```
//! # fn demo<P>(config: P::Config) -> Result<(), tenure_sim::SettingsError>
//! # where P: tenure_core::Mutex {
//! use tenure_sim::{Settings, Simulation, Span, Workload};
//!
//! let mut settings = Settings::new(5);
//! settings.workload = Workload::entries(3);
//! settings.network.latency = Span::between_units(1, 4).into();
//! let report = Simulation::<P>::new(config, settings).run()?;
//! assert!(!report.has_failed(), "{:?}", report.findings);
//! # Ok(()) }
//! ```
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

mod agenda;
mod beliefs;
mod causality;
mod chats;
mod clocks;
mod command_line;
mod configs;
mod controls;
mod core;
mod fault;
mod faults_seen;
mod follow;
mod happenings;
mod json;
mod latency;
mod links;
mod many;
mod metrics;
mod moments;
mod next;
mod post;
mod queue;
mod random;
mod recorder;
mod refusal;
mod report;
mod router;
pub mod scenario;
mod service;
mod session;
mod settings;
mod shrink;
mod sim;
mod span;
mod steered;
mod summary;
mod tally;
pub mod theory;
mod timers;
mod users;
mod watcher;
mod workload;
mod world;

pub use command_line::{
    Comeback, Hot, Link, Processes, group_options, inexpressible, parse_drift, parse_process,
    replay_command,
};
pub use configs::Configs;
pub use controls::{Controls, Progress};
pub use fault::{Chance, Fault, Memory, Recovery, When};
pub use faults_seen::FaultCount;
pub use latency::Latency;
pub use many::many;
pub use metrics::{KindCount, Metrics};
pub use moments::Moments;
pub use next::Next;
pub use random::Random;
pub use refusal::SettingsError;
pub use report::{Ended, Report, Stuck};
pub use service::{Ask, Heard, Playable, UserCommand, UserEvent};
pub use session::{Halt, Session, Steer, SteerError, UnderWay, steering_options};
pub use settings::{Detector, Limits, Network, Settings, Time, Watch, Watched};
pub use shrink::{Shrunk, shrink};
pub use sim::{RunError, Simulation};
pub use span::{Span, parse_units};
pub use summary::{Summary, Violations};
pub use tally::{Level, Tally};
pub use tenure_core::{Finding, FirstViolation, Judgement};
pub use workload::{Chatter, Entries, Initiators, Locking, Pattern, Workload};
