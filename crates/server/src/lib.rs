//! Replicated lock and election server for clients of etcd.
//!
//! The crate provides sockets and clocks. Other crates make the decisions: the log (`relayed-log`,
//! driven by `tenure-runtime`), the store (`tenure-store`), and the lease rules (`tenure-session`).
//!
//! ```no_run
//! # async fn run() -> Result<(), tenure_server::ServeError> {
//! let config = tenure_server::Config::default();
//! let server = tenure_server::Server::start(&config).await?;
//! println!("serves clients at {}", server.client_addresses()[0]);
//! server.serve(std::future::pending()).await
//! # }
//! ```

mod auth;
mod backup;
mod blocking;
mod config;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod log;
mod member;
mod metrics;
mod net;
mod rpc;
mod server;
#[cfg(all(test, feature = "tls"))]
#[path = "../../../tests/support/skipped.rs"]
mod skipped;
mod spans;
#[cfg(test)]
mod test_member;

pub use backup::{Backup, BackupError, BackupSummary};
pub use config::{
    Config, ConfigError, ConfiguredLimits, ConfiguredMember, InitialClusterState, ListenAddress,
    TlsFiles, Url, UrlError, ValidatedConfig,
};
pub use member::ServeError;
pub use member::eviction::EvictionReason;
pub use net::peers::PeerKeys;
pub use server::{LeaderStatus, LeaderWatch, Server};
pub use spans::REQUEST_SPAN_TARGET;
