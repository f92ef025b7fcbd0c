//! Tests of the transport, the store and whole nodes with real sockets and files.

mod applications;
mod batching;
mod bytes;
mod formatting;
mod handles;
mod invalid_messages;
mod named;
mod node;
mod rewriting;
mod saving;
mod store;
mod transport;
mod unreachable;

use std::net::TcpListener;
use std::path::Path;

use tenure_core::{ProcessId, Protocol};
use tenure_runtime::store::Owner;
use tenure_runtime::transport::{Limits, Listen, Settings, Trust};
use tenure_runtime::{Injection, Parts, Passthrough, Recorder, RunningNode, Store, start};
use tenure_trace::Recorded;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Returns transport settings of a node that is alone in its group.
fn alone(session: u64) -> Settings {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Settings {
        cluster: "test".into(),
        me: ProcessId(0),
        session,
        addresses: vec![listener.local_addr().unwrap().to_string()],
        names: Default::default(),
        listen: Listen::Listener(listener),
        trust: Trust::LoopbackOnly,
        limits: Limits::default(),
    }
}

/// Opens the store of a node that is alone in its group.
fn store_alone(directory: &Path, schema: &'static str) -> Store {
    let owner = Owner { cluster: "test".into(), process: ProcessId(0), group_size: 1 };
    Store::open(directory, &owner, schema).unwrap()
}

/// Starts a node that is alone in its group. Returns the sender of its commands and the receiver of
/// its events.
fn start_alone<P>(
    store: Store,
    recorder: Recorder,
) -> (UnboundedSender<P::Command>, UnboundedReceiver<P::Event>, RunningNode)
where
    P: Recorded + Protocol<Config = ()>,
{
    let (local, events) = Passthrough::<P>::new();
    let (commands, receiver) = unbounded_channel();
    let running = start::<P, Passthrough<P>>(Parts {
        config: (),
        transport: alone(store.session()),
        store,
        application: local,
        requests: receiver,
        recorder,
        injection: Injection::none(),
        suspected: None,
    });
    (commands, events, running.unwrap())
}

/// Returns the random seeds of a test. `cargo xtask attack … --seeds A..B` chooses them; otherwise
/// they are `short`.
fn seeds(short: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let wanted = std::env::var("TENURE_SEEDS").unwrap_or_default();
    let range = wanted.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(short)
}
