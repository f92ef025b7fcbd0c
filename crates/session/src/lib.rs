//! Decisions about sessions for both sides of a lock service, as pure state machines without a
//! clock.
//!
//! Each method of a state machine takes an event and returns the actions to perform. The caller
//! runs the timers: it arms them at the moment of the call and reports when they fire.
//!
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

mod admission;
mod claim_name;
mod lessor;
mod session;
mod timers;
mod times;
mod waiter;

pub use admission::{AccessMode, HolderSummary};
pub use claim_name::parse_claim_name;
pub use lessor::{CheckpointPolicy, LeaseProposal, Lessor, RenewalOutcome};
pub use session::{DeadlineTimer, LossReason, Session, SessionAction, Timer};
pub use timers::TimerQueue;
pub use times::SessionDurations;
pub use waiter::{QueueView, Waiter, WaiterAction, WaiterPosition};
