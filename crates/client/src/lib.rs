//! Locks and elections at a service: `tenure serve`, or any etcd of 3.4 or later.
//!
#![doc = include_str!("../README.md")]

mod admin;
mod byte_stream;
mod client;
mod clock;
mod election;
mod error;
mod lock;
mod options;
mod requests;
mod session;
#[cfg(test)]
mod test_member;
mod tls;
mod transport;
mod user;
mod watch;

pub use admin::calls::{Key, Member, MemberLink, MemberStatus, Page, Query};
pub use admin::{Admin, Snapshot};
pub use client::Client;
pub use election::leadership::Leadership;
pub use election::observer::{ElectionState, Observer};
pub use error::{ClientError, LossReason};
pub use lock::guard::Guard;
pub use options::ConnectOptions;
pub use session::{Deadlines, Session};
pub use tls::{CertificateError, Certificates};
pub use tonic::Code;
pub use user::User;
pub use watch::queue_changes::{QueueChange, QueueChanges};
