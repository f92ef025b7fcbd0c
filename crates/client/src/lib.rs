//! Locks and elections at a service: `tenure serve`, or any etcd of 3.4 or later.
//!
#![doc = include_str!("../README.md")]

mod changes;
mod claim;
mod client;
mod connection;
mod endpoint;
mod error;
mod guard;
mod keeper;
mod leading;
mod line;
mod observer;
mod session;
mod txn;
mod user;
mod watching;

pub use changes::{Change, Changes};
pub use client::Client;
pub use error::{ClientError, Lost};
pub use guard::Guard;
pub use leading::Leading;
pub use observer::{Observer, Office};
pub use session::Session;
pub use tonic::Code;
pub use user::User;
