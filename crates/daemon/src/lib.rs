//! One node of a cluster as a process: configuration, workload, trace and metrics.

mod config;
mod report;

pub use config::{
    Channel, Cluster, Config, ConfigError, Detector, Service, Store, Trace, VERSION, Work,
};
pub use report::Report;
