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
mod transport;

/// Which seeds to take: those of `cargo xtask attack … --seeds A..B`, or these.
fn seeds(short: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let wanted = std::env::var("TENURE_SEEDS").unwrap_or_default();
    let range = wanted.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(short)
}
