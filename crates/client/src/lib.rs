//! Locks and elections at a service: `tenure serve`, or any etcd of 3.4 or later.
//!
#![doc = include_str!("../README.md")]

mod admin;
mod barrier;
#[cfg(feature = "blocking")]
pub mod blocking;
mod byte_stream;
mod client;
mod clock;
mod election;
mod error;
mod fencing;
mod lock;
mod options;
mod requests;
mod session;
mod telemetry;
#[cfg(test)]
mod test_member;
mod tls;
mod transport;
mod user;
mod watch;

pub use admin::calls::{
    KeyValue, Member, MemberStatus, PeerConnectionStatus, RangePage, RangeQuery,
};
pub use admin::{AdminClient, SnapshotStream};
pub use barrier::double::{DoubleBarrier, DoubleBarrierGuard};
pub use barrier::single::Barrier;
pub use client::Client;
pub use election::leadership::Leadership;
pub use election::observer::{ElectionObserver, ElectionState};
pub use election::options::CampaignOptions;
pub use election::records::Candidate;
pub use election::transfer::TransferError;
pub use election::work::TransferSignal;
pub use error::{ClientError, LossReason, WaitForEdge};
pub use fencing::fence_error::FenceError;
pub use fencing::fence_file::{FenceFile, FencedAccessGuard};
#[cfg(feature = "tower")]
pub use fencing::fence_layer::{FENCE_HEADER, FenceLayer, FenceService};
pub use lock::access::{LockMode, LockOptions};
pub use lock::guard::Guard;
pub use lock::multi_guard::MultiGuard;
pub use lock::semaphore::Semaphore;
pub use options::ConnectOptions;
pub use session::{DeadlineChanges, Session};
#[cfg(feature = "metrics")]
pub use telemetry::metrics::describe_metrics;
pub use tls::{CertificateError, Certificates};
pub use tonic::Code;
pub use user::User;
pub use watch::key_changes::{KeyChange, KeyChanges};
pub use watch::queue_changes::{LockQueueChange, LockQueueChanges};
