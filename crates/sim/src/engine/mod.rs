//! The engine of a run: virtual time, network, users, and the processes.

pub(crate) mod agreement_users;
pub(crate) mod clocks;
pub(crate) mod controls;
pub(crate) mod delivery;
pub(crate) mod detector;
pub(crate) mod environment;
pub(crate) mod events;
pub(crate) mod fault_injector;
pub(crate) mod link_table;
pub(crate) mod live_processes;
pub(crate) mod lock_users;
pub(crate) mod network_traffic;
pub(crate) mod queue;
pub(crate) mod radix_heap;
pub(crate) mod random;
pub(crate) mod router;
pub(crate) mod run_context;
mod run_end;
pub(crate) mod save_faults;
pub(crate) mod scheduled_event;
mod sending;
pub(crate) mod timers;
pub(crate) mod tracer;
pub(crate) mod user_messages;
pub(crate) mod world;
