//! Runs members as separate processes, sends requests, and makes the members crash and restart.

mod access;
mod answers;
#[cfg(feature = "tls")]
mod authority;
mod bytes;
mod crash;
mod dashboard;
mod elections;
mod errors;
mod etcdctl;
mod eviction;
mod gateway;
mod grpc;
#[path = "../../../../tests/support/killed.rs"]
mod killed;
mod like_etcd;
mod limits;
mod links;
mod member;
mod membership;
mod metrics;
mod probes;
#[path = "../../../../tests/support/process_state.rs"]
mod process_state;
mod prometheus;
mod quota;
mod sessions;
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;
mod streams;
#[path = "../../../../tests/support/suspended.rs"]
mod suspended;
mod three;
mod timing;
#[cfg(feature = "tls")]
mod tls;
