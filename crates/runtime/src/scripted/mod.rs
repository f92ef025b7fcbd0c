//! Real nodes under the control of a schedule. Messages travel over TCP and wait at the receiver
//! until the schedule delivers them. Timers fire only when the schedule says so.

mod cluster;
mod node;

pub use cluster::{ScriptedClusterError, run_schedule_on_nodes};
