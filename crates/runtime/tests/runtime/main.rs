//! Real sockets and real files: the transport, the store, and nodes and applications on top.

mod absurd;
mod applications;
mod away;
mod bytes;
mod handles;
mod named;
mod node;
mod saving;
mod store;
mod telling;
mod together;
mod transport;

use std::net::TcpListener;

use tenure_core::ProcessId;
use tenure_runtime::transport::{Limits, Listen, Settings, Trust};

/// The transport of a node that is alone in its group, at a port that the system chose.
fn alone(session: u64) -> Settings {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Settings {
        cluster: "test".into(),
        me: ProcessId(0),
        session,
        addresses: vec![listener.local_addr().unwrap().to_string()],
        listen: Listen::Listener(listener),
        trust: Trust::Machine,
        limits: Limits::default(),
    }
}

/// Which seeds to take: those of `cargo xtask attack … --seeds A..B`, or these.
fn seeds(short: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let wanted = std::env::var("TENURE_SEEDS").unwrap_or_default();
    let range = wanted.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(short)
}
