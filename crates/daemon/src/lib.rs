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

pub use boot::{LockLookupError, Node, NodeError};
pub use builder::ConfigBuilder;
pub use clock::format_rfc3339;
pub use config::{
    AlgorithmConfig, CONFIG_FORMAT_VERSION, ChannelConfig, ClusterConfig, Config, ConfigError,
    DataDirectoryConfig, FailureDetectorConfig, PageConfig, TraceConfig, UnsoundVariantError,
    WorkloadConfig,
};
pub use keys::KeyFileError;
#[cfg(feature = "keys")]
pub use keys::{create_key_files, private_key_file, public_keys_file};
#[cfg(feature = "node")]
pub use node::{NodeEventOptions, run_node};
pub use protocol::{
    AnyProtocol, BoxProtocolVisitor, CommonNodeComponents, ProtocolFactory, protocol_from_catalogue,
};
pub use report::{NodeEvent, NodeEventLine};
