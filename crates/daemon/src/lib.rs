//! One node of a cluster as a process: configuration, workload, trace, metrics and page.

mod boot;
mod config;
mod keys;
mod node;
mod office;
pub mod page;
mod report;
pub mod resource;
mod work;

pub use boot::{Node, NodeError};
pub use config::{
    Channel, Cluster, Config, ConfigError, Detector, Page, Service, Store, Trace, VERSION, Work,
};
pub use keys::{KeyFileError, make_keys, private_key_file, public_keys_file};
pub use node::run;
pub use office::{AnyOffice, Erase, Materials, Offices, of_house};
pub use report::Report;
