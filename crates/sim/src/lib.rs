//! A deterministic discrete-event simulator for the protocols of Tenure: virtual time, a seeded
//! network, faults, monitors and metrics.
//!
//! # Evidence from a simulation
//!
//! With the same settings, one seed gives one schedule. A violation that a simulation finds is
//! real: the algorithm behaved that way, and the trace shows every step. A run without a violation
//! proves nothing about other schedules, however many seeds agree. `tenure check` explores *every*
//! schedule of a small group.
//!
//! Delays and counts are those of the configured network, not of a real one. Means over many seeds
//! have a confidence interval, and a single random run must not be compared with an average.
//!
//! No finite run shows that a process waits forever. A reported deadlock is a run in which no event
//! was possible any more, or no request was served for very long. A reported starvation is a
//! suspicion.
//!
//! # One seed, one run
//!
//! Time is counted in whole ticks ([`TICKS_PER_TIME_UNIT`](tenure_core::TICKS_PER_TIME_UNIT)),
//! random numbers come from a pinned generator ([`Random`]), and logarithms from `libm`. Therefore
//! the same settings yield the same trace, to the byte, on every machine. [`run_parallel`] yields
//! the same reports with any number of threads.
#![doc = include_str!("../README.md")]

mod engine;
mod judging;
mod parallel;
mod results;
pub mod scenario;
mod settings;
mod shrink;
mod sim;
mod steer;
pub mod theory;

pub use engine::controls::{RunControls, RunProgress};
pub use engine::random::Random;
pub use parallel::run_parallel;
pub use results::accumulators::{DurationStats, TimeWeightedGauge};
pub use results::elections::ElectionCost;
pub use results::fault_counts::FaultCount;
pub use results::load::{ProcessLoad, RunLoad};
pub use results::metrics::{MessageKindCounts, RunMetrics};
pub use results::moments::Moments;
pub use results::network_load::{EdgeLoad, NetworkLoad};
pub use results::report::{EndReason, EndlessWaitKind, RunReport};
pub use results::run_statistics::{PropertyViolationCount, RunStatistics};
pub use results::sample::SampleStatistics;
pub use settings::command_line::{
    HotProcess, LinkLatency, ProcessList, RecoveryOption, group_command_line_options,
    parse_drift_to_ppm, parse_process_number, replay_command,
};
pub use settings::configs::ProcessConfigs;
pub use settings::distribution::{Distribution, parse_bounded_time_units};
pub use settings::error::SettingsError;
pub use settings::fault::{AutomaticRecovery, Chance, CrashTrigger, Fault, RecoveredState};
pub use settings::latency::Latency;
pub use settings::network_graph::NetworkGraph;
pub use settings::without_option::inexpressible_settings;
pub use settings::workload::{
    BackgroundTraffic, EntriesPerProcess, Initiators, LockWorkload, RequestPattern, Workload,
};
pub use settings::{
    DetectorSettings, GroupSizeCondition, MonitoringSettings, NetworkSettings, RunLimits, Settings,
    TimeSettings,
};
pub use shrink::{CandidateResult, ShrunkRun, shrink};
pub use sim::{RunError, Simulation};
pub use steer::interactive_run::{
    InFlightMessage, InteractiveRun, InteractiveStepError, Intervention, PlannedRunError,
    steering_command_line_options,
};
pub use steer::next::NextStep;
pub use tenure_core::{Finding, FirstViolation, Judgement};
