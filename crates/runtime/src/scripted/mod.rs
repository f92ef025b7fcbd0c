//! Real nodes under the control of a schedule. Messages travel over TCP and wait at the receiver
//! until the schedule delivers them, and timers fire only when the schedule contains this step.

mod cluster;
mod node;

pub use cluster::{ClusterError, follow};
