//! One node of a cluster as a process: configuration, workload, trace and metrics.

mod boot;
mod config;
mod node;
mod report;
pub mod resource;
mod work;

pub use boot::{Node, NodeError};
pub use config::{
    Channel, Cluster, Config, ConfigError, Detector, Service, Store, Trace, VERSION, Work,
};
pub use node::run;
pub use report::Report;
