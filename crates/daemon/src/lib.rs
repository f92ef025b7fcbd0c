//! Node of a cluster, with the configuration, the trace and the page of the node. The node runs
//! inside another program or as a process of its own.
//!
#![doc = include_str!("../README.md")]

mod boot;
mod builder;
mod clock;
mod config;
mod keys;
#[cfg(feature = "node")]
mod node;
pub mod page;
#[cfg(feature = "node")]
mod progress;
mod protocol;
mod report;
pub mod resource;
#[cfg_attr(
    not(all(feature = "node", feature = "page")),
    allow(dead_code, reason = "only the page serves the status")
)]
pub mod status;
#[cfg(feature = "node")]
mod workload;

pub use boot::{LockError, Node, NodeError};
pub use builder::ConfigBuilder;
pub use clock::format_rfc3339;
pub use config::{
    Channel, Cluster, Config, ConfigError, Detector, MistakeError, Page, Service, Store, Trace,
    VERSION, Workload,
};
pub use keys::KeyFileError;
#[cfg(feature = "keys")]
pub use keys::{make_keys, private_key_file, public_keys_file};
#[cfg(feature = "node")]
pub use node::{ReportOptions, run};
pub use protocol::{AnyProtocol, AnyProtocolVisitor, NodeParts, ProtocolFactory, from_catalogue};
pub use report::{Report, ReportLine};
