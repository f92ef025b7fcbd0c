//! Locks and elections at a service: `tenure serve`, or any etcd of 3.4 or later.
//!
#![doc = include_str!("../README.md")]

mod access;
mod admin;
mod admin_calls;
mod calls;
mod certificates;
mod changes;
mod claim;
mod client;
mod clock;
mod connection;
mod endpoint;
mod error;
mod guard;
mod keeper;
mod leader;
mod leading;
mod leaving;
mod line;
#[cfg(test)]
mod member;
mod observer;
mod session;
#[cfg_attr(not(feature = "tls"), path = "tls_none.rs")]
mod tls;
mod txn;
mod txns;
mod user;
mod watching;
mod wire;

pub use access::Access;
pub use admin::{Admin, Snapshot};
pub use admin_calls::{Key, Member, MemberStatus, Page, Query};
pub use certificates::{CertificateError, Certificates};
pub use changes::{Change, Changes};
pub use client::Client;
pub use error::{ClientError, Lost};
pub use guard::Guard;
pub use leading::Leading;
pub use observer::{Observer, Office};
pub use session::{Deadlines, Session};
pub use tonic::Code;
pub use user::User;
