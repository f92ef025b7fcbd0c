//! Node that keeps a replicated log of a counter and a register. It survives the failure of a
//! minority.
//!
//! A member proposes the changes of its clients, and all members apply committed entries in the
//! same order. Clients connect on loopback and exchange lines of text:
//!
//! ```text
//! add 3.17        →  counter 42         client 3 increments, as its 17th operation
//! set 3.18        →  written            the register holds 3.18 now
//! get counter     →  counter 42
//! get register    →  register 3.18
//! set 3.19        →  refused 2          had and will have no effect; P2 leads
//! set 3.20        →  unknown            may yet take effect
//! ```
//!
//! A client may repeat an increment until it receives a response: its tag makes it count once. It
//! must not repeat a write after `unknown` or without a response. A rejection without a known
//! leader is delayed until there is one, by at most 100 ms.
//!
//! [`history`] checks the responses to clients, and [`committed_log`] the committed log.

mod application;
mod client;
pub mod committed_log;
pub mod history;
mod node;
mod server;
mod state_machine;
mod wire;

pub use client::{Client, ClientTimeouts, OperationLog};
pub(crate) use node::run;
pub use state_machine::{Change, OperationId, Outcome, StateMachine};
pub use wire::{Part, Request, Response};
