//! A node that keeps a log: a counter and a register that outlive any minority, for clients over
//! sockets.
//!
//! What clients ask is proposed to the log, and what the log has committed is applied, by every
//! member in the same order. A line of text each way, on loopback, so that anybody can ask:
//!
//! ```text
//! add 3.17        →  counter 42         client 3 adds one, as its 17th operation
//! set 3.18        →  written            the register holds 3.18 now
//! get counter     →  counter 42
//! get register    →  register 3.18
//! set 3.19        →  refused 2          nothing was done, nor will be; P2 leads
//! set 3.20        →  unknown            nobody can tell yet
//! ```
//!
//! An increment may be repeated until it is answered: it is counted once, by its client and its
//! number. A write that was answered by `unknown`, or not at all, must not be repeated. Who is
//! refused while nobody leads is answered when somebody does, after 100 ms at most.
//!
//! [`history`] judges what clients saw, and [`ledger`] what members were told of.

mod client;
mod desk;
pub mod history;
pub mod ledger;
mod machine;
mod node;
mod server;
mod wire;

pub use client::{Client, Course, Patience};
pub use machine::{Change, Machine, Outcome, Tag};
pub(crate) use node::run;
pub use wire::{Answer, Part, Question};
