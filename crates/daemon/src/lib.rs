//! One node of a cluster as a process: configuration, workload, trace, metrics and page.
//!
#![doc = include_str!("../README.md")]

mod boot;
mod builder;
mod clock;
mod config;
mod keys;
#[cfg(feature = "node")]
pub mod log;
#[cfg(feature = "node")]
mod node;
mod office;
pub mod page;
mod report;
pub mod resource;
#[cfg_attr(
    not(all(feature = "node", feature = "page")),
    allow(dead_code, reason = "nobody can ask")
)]
pub mod status;
#[cfg(feature = "node")]
mod watching;
#[cfg(feature = "node")]
mod work;

pub use boot::{LockError, Node, NodeError};
pub use builder::Builder;
pub use config::{
    Channel, Cluster, Config, ConfigError, Detector, Log, Page, Service, Store, Trace, VERSION,
    Work,
};
pub use keys::KeyFileError;
#[cfg(feature = "keys")]
pub use keys::{make_keys, private_key_file, public_keys_file};
#[cfg(feature = "node")]
pub use node::{Telling, run};
pub use office::{AnyOffice, Erase, Materials, Offices, of_house};
pub use report::{Line, Report};
