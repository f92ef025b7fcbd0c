//! Replicated log of a member: its application, the state that the application maintains, and the
//! timers of leases.

pub(crate) mod application;
pub(crate) mod claim_times;
pub(crate) mod compaction;
pub(crate) mod leader;
pub(crate) mod leader_monitor;
pub(crate) mod leases;
pub(crate) mod proposal;
pub(crate) mod renewals;
pub(crate) mod request;
pub(crate) mod snapshot;
pub(crate) mod state;
