//! Real sockets and real files: the transport, the store, and nodes and applications on top.

mod absurd;
mod applications;
mod away;
mod bytes;
mod handles;
mod named;
mod node;
mod rewriting;
mod saving;
mod store;
mod telling;
mod together;
mod transport;

use std::net::TcpListener;
use std::path::Path;

use tenure_core::{ProcessId, Protocol};
use tenure_runtime::store::Owner;
use tenure_runtime::transport::{Limits, Listen, Settings, Trust};
use tenure_runtime::{Injection, Parts, Raw, Recorder, Running, Store, start};
use tenure_trace::Recorded;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

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

/// The store of a node that is alone in its group.
fn store_alone(directory: &Path, schema: &'static str) -> Store {
    let owner = Owner { cluster: "test".into(), process: ProcessId(0), group_size: 1 };
    Store::open(directory, &owner, schema).unwrap()
}

/// Starts a node that is alone in its group: what its user asks, and is told.
fn start_alone<P>(
    store: Store,
    recorder: Recorder,
) -> (UnboundedSender<P::Command>, UnboundedReceiver<P::Event>, Running)
where
    P: Recorded + Protocol<Config = ()>,
{
    let (local, told) = Raw::<P>::new();
    let (asks, asked) = unbounded_channel();
    let running = start::<P, Raw<P>>(Parts {
        config: (),
        transport: alone(store.session()),
        store,
        local,
        asks: asked,
        recorder,
        injection: Injection::none(),
        suspected: None,
    });
    (asks, told, running.unwrap())
}

/// Which seeds to take: those of `cargo xtask attack … --seeds A..B`, or these.
fn seeds(short: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let wanted = std::env::var("TENURE_SEEDS").unwrap_or_default();
    let range = wanted.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(short)
}
