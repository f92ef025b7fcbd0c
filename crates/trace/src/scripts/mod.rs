//! Scripted runs: scripts, their parser, and the test cluster that performs them.

mod agreements;
mod cluster;
mod diff;
mod golden;
mod parse;
mod perform;
mod process_timers;
mod random;
mod runner;
mod save_fault;
mod schedule;
mod script;
mod service_command;
mod users;

pub use cluster::{Link, ProcessEvent, TestCluster};
pub use golden::run_golden_scripts;
pub use parse::ScriptParseError;
pub use perform::{PerformError, perform_script};
pub use random::SplitMix64;
pub use runner::{ActionError, ScheduleReplayError, ScriptRunner, find_timer};
pub use save_fault::{MuteState, SaveFault, SaveFaults};
pub use schedule::{Schedule, ScheduleError};
pub use script::{MessageSelector, Script, ScriptAction, ScriptBlock, ScriptCommand, ScriptLine};
pub use service_command::{RecordableProtocol, ServiceCommand, ServiceEvent};
