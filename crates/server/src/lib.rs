//! A replicated lock and election server that clients of etcd talk to.
//!
//! The shell around what decides: the log (`relayed-log`, driven by `tenure-runtime`), the store
//! (`tenure-store`), who counts the time of leases (`tenure-session`), and nothing else. It has
//! sockets and clocks, and turns requests into commands and what came of them into answers.
//!
//! ```no_run
//! # async fn run() -> Result<(), tenure_server::ServeError> {
//! let config = tenure_server::Config::default();
//! let server = tenure_server::Server::start(&config).await?;
//! println!("clients are served at {}", server.addresses()[0]);
//! server.run(std::future::pending()).await
//! # }
//! ```

#[cfg(test)]
mod alone;
mod backup;
mod beside;
mod bounds;
mod budget;
mod caller;
mod config;
mod convert;
mod cors;
mod desk;
mod enums;
mod errand;
mod eviction;
pub mod exercise;
mod gateway;
mod hashing;
mod image;
mod intake;
mod json_stream;
mod leader_monitor;
mod leases;
mod led;
mod length;
mod listener;
mod member;
mod metrics;
mod peers;
mod probes;
mod process;
mod proposal;
mod quota;
mod refusal;
mod renewals;
mod router;
mod rpc;
mod secrets;
mod server;
mod state;
mod stopping;
#[cfg_attr(not(feature = "tls"), path = "tls_none.rs")]
mod tls;
mod tokens;
mod url;
mod visits;

pub use backup::{Backup, BackupError, Summary};
pub use bounds::Bounds;
pub use config::{Certificates, ClusterState, Config, ConfigError, Member, Place, Plan};
pub use eviction::Eviction;
pub use member::ServeError;
pub use server::{Server, Standing, Standings};
pub use url::{Url, UrlError};
