//! Replicated log of a member: the application that the log drives, the state that the application
//! maintains, the timers of leases, and the commands that leases need.

pub(crate) mod application;
pub(crate) mod claim_times;
pub(crate) mod compaction;
pub(crate) mod leader;
pub(crate) mod leader_monitor;
pub(crate) mod lease_commands;
pub(crate) mod lease_timers;
pub(crate) mod peer_contacts;
pub(crate) mod proposal;
pub(crate) mod request;
pub(crate) mod snapshot;
pub(crate) mod state;
